"""bfcl-eval's project folder: results and scores of one model, category by category.

A category without a score is an error, not a zero. Lines that never reached the model (the client
writes its traceback as the answer) are infrastructure, not wrong answers. And where one kind of
decoding error covers every line, the adapter failed, not the model.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.results.identity import (
    Found,
    Identity,
    UnreadableResultError,
    repetition_of,
    timeless,
)
from gauntlet.warehouse.rows.measurement import EvalResultRow, EvalSampleRow

_SOURCE = "bfcl"
_PREFIX = "BFCL_"
_TEXT_LIMIT = 16_000
# A handful of lost requests leaves an accuracy; more leave a sample that somebody else chose.
_MOST_LOST_SHARE = 0.02


class _Head(BaseModel):
    """First line of a score file."""

    model_config = ConfigDict(extra="ignore")

    accuracy: float = Field(ge=0, le=1)
    correct_count: int = Field(ge=0)
    total_count: int = Field(ge=0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Category:
    """The files of one category of one model; ``score`` is None where there is none."""

    model: str
    name: str
    result: Path
    score: Path | None


def find_categories(project: Path) -> list[Category]:
    """Find what was generated below ``result/`` and its scores below ``score/``.

    Raises UnreadableResultError where nothing was generated.
    """
    found = []
    for path in sorted(project.glob("result/*/**/BFCL_*_result.json")):
        relative = path.relative_to(project / "result")
        name = path.name.removesuffix("_result.json")
        score = project / "score" / relative.parent / f"{name}_score.json"
        found.append(
            Category(
                model=relative.parts[0],
                name=name.removeprefix(_PREFIX).partition("_")[2],
                result=path,
                score=score if score.is_file() else None,
            )
        )
    if not found:
        msg = f"{project}: no result/MODEL/**/BFCL_*_result.json"
        raise UnreadableResultError(msg, hint="give the folder that was BFCL_PROJECT_ROOT")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One category as its files have it.

    ``asked`` are the lines of the result by id, ``lost`` those that never reached the model,
    ``failures`` the lines of the score (it lists only what is wrong). ``reasons`` say why there
    is no accuracy.
    """

    asked: Mapping[str, Mapping[str, Any]]
    lost: frozenset[str]
    failures: Mapping[str, Mapping[str, Any]]
    scored: bool
    reasons: tuple[str, ...]

    @property
    def judged(self) -> tuple[str, ...]:
        """Ids whose answer was judged, in the order of the file."""
        return tuple(key for key in self.asked if key not in self.lost)

    @property
    def accuracy(self) -> float | None:
        """Right answers of those judged; None where there is none to give.

        The file's own count takes a lost request for an answer, and where the right thing is to
        call nothing, for a right one.
        """
        if not self.scored or self.reasons or not self.judged:
            return None
        return sum(key not in self.failures for key in self.judged) / len(self.judged)


def read_category(category: Category) -> Reading:
    """Read result and score of one category. Raises UnreadableResultError for damaged files."""
    result = category.result.read_bytes()
    score = category.score.read_bytes() if category.score else b""
    return _reading(category, result, score)


def _reading(category: Category, result: bytes, score: bytes) -> Reading:
    asked = {str(line["id"]): line for line in _lines(result, category.result)}
    lost = {key for key, line in asked.items() if _never_asked(line)}
    head, failures = _score(score, category)
    return Reading(
        asked=asked,
        lost=frozenset(lost),
        failures=failures,
        scored=head is not None,
        reasons=tuple(_reasons(category, asked, lost, head, failures)),
    )


def bfcl_batch(
    category: Category, *, version: str, identity: Identity, expected: int | None, now: datetime
) -> tuple[Batch, tuple[str, ...]]:
    """Read one category into a batch, and say what is wrong with it.

    Raises UnreadableResultError for a damaged file.
    """
    result = category.result.read_bytes()
    score = category.score.read_bytes() if category.score else b""
    reading = _reading(category, result, score)
    asked, lost = reading.asked, reading.lost
    row = repetition_of(
        Found(
            source=_SOURCE,
            content=hashlib.sha256(result + score).hexdigest(),
            file=str(category.result),
            kind="eval",
            workload=category.name,
            point="",
            model=category.model,
            client="bfcl-eval",
            client_version=version,
            started_at=datetime.fromtimestamp(category.result.stat().st_mtime, UTC),
            ended_at=datetime.fromtimestamp(category.result.stat().st_mtime, UTC),
            completed=len(asked) - len(lost),
            failed=len(lost),
            reasons=reading.reasons,
            settings={},
        ),
        identity,
    )
    shared = {"run_id": row.run_id, "repetition_id": row.repetition_id, "series_id": row.series_id}
    rows: list[EvalResultRow | EvalSampleRow] = list(
        _samples(category, reading, scored=reading.accuracy is not None, **shared)
    )
    if reading.accuracy is not None:
        rows.append(
            EvalResultRow(
                **shared,
                task=category.name,
                harness="bfcl-eval",
                harness_version=version,
                metric="accuracy",
                value=reading.accuracy,
                n=len(reading.judged),
                partial=expected is not None and len(asked) < expected,
            )
        )
    batch_id = content_id(_SOURCE, result, score, timeless(row))
    return Batch.of(batch_id, [*rows, row], source=_SOURCE, created_at=now), row.reasons


def _lines(data: bytes, path: Path, *, headed: bool = False) -> Iterator[dict[str, Any]]:
    for number, line in enumerate(data.splitlines(), start=1):
        if not line.strip():
            continue
        try:
            found = json.loads(line)
        except json.JSONDecodeError as error:
            raise UnreadableResultError(f"{path}:{number}: JSON: {error.msg}") from error
        if not isinstance(found, dict) or ("id" not in found and not (headed and number == 1)):
            raise UnreadableResultError(f"{path}:{number}: an object with an id is expected")
        yield found


def _never_asked(line: Mapping[str, Any]) -> bool:
    return "traceback" in line or str(line.get("result", "")).startswith("Error during inference")


def _score(data: bytes, category: Category) -> tuple[_Head | None, dict[str, dict[str, Any]]]:
    if category.score is None:
        return None, {}
    lines = list(_lines(data, category.score, headed=True))
    if not lines:
        raise UnreadableResultError(f"{category.score}: empty")
    try:
        head = _Head.model_validate(lines[0])
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        msg = f"{category.score}:1: {where}: {first['msg']}"
        raise UnreadableResultError(msg) from error
    return head, {str(line["id"]): line for line in lines[1:]}


def _reasons(
    category: Category,
    asked: Mapping[str, object],
    lost: set[str],
    head: _Head | None,
    failures: Mapping[str, Mapping[str, Any]],
) -> Iterator[str]:
    if not asked:
        yield "result: no line"
        return
    if lost and len(lost) > _MOST_LOST_SHARE * len(asked):
        yield f"result: {len(lost)} of {len(asked)} requests never reached the model"
    if head is None:
        yield f"score: none for {category.name}; it was generated, not evaluated"
        return
    if head.total_count != len(asked):
        yield f"score: total_count {head.total_count}, but {len(asked)} results"
    kinds = Counter(map(error_type, failures.values()))
    if len(kinds) == 1 and len(failures) == len(asked):
        kind = next(iter(kinds))
        if is_undecoded(kind):
            yield f"adapter error: every one of {len(asked)} lines has error_type {kind}"


def error_type(failure: Mapping[str, Any]) -> str:
    """Kind of a failure; where a conversation is judged, it stands inside ``error``."""
    error = failure.get("error")
    inner = error.get("error_type", "") if isinstance(error, Mapping) else ""
    return str(failure.get("error_type", inner))


def is_undecoded(kind: str) -> bool:
    """Whether an answer could not be read as calls; to have called at all is no such failure."""
    return ("decod" in kind or "parse" in kind) and not kind.endswith("decoder_success")


def _samples(
    category: Category,
    reading: Reading,
    *,
    scored: bool,
    run_id: str,
    repetition_id: str,
    series_id: str,
) -> Iterator[EvalSampleRow]:
    lost = reading.lost
    for key, line in reading.asked.items():
        failure = reading.failures.get(key, {})
        undecoded = is_undecoded(error_type(failure))
        score = None if key in lost or not scored else 0.0 if failure else 1.0
        yield EvalSampleRow(
            run_id=run_id,
            repetition_id=repetition_id,
            series_id=series_id,
            side="single",
            task=category.name,
            item_id=key,
            pair=0,
            status="error" if key in lost else "unparsable" if undecoded else "scored",
            score=score,
            answer=_text(line.get("result")),
            expected=_text(failure.get("possible_answer", "")),
            error=_text(failure.get("error", "")) if failure else "",
            question=_text(failure.get("prompt", "")),
            response=_text(failure.get("model_result_raw", line.get("result"))),
        )


def _text(value: object) -> str:
    found = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return found[:_TEXT_LIMIT]
