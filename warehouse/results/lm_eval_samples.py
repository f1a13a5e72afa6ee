"""One line of lm-eval's ``samples_TASK_TIME.jsonl``: a question, its answer and its score.

A line has a ``filter`` and a list of ``metrics`` today; before, one of the well-known scores stood
beside the answer.
"""

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

_OLD_SCORES = ("exact_match", "acc_norm", "acc", "f1", "pass@1", "bleu")
_QUESTIONS = ("question", "problem", "prompt", "query", "input")


class UnreadableSampleError(ValueError):
    """A line is no sample; says what is wrong with it, the caller adds file and line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LmEvalSample:
    """What is read of a line.

    ``score`` is None where the line has none of ``metric``. The digests are lm-eval's own, of the
    document and of the whole prompt; empty where its version wrote none.
    """

    doc_id: str
    filter: str
    metric: str
    score: float | None
    status: Literal["scored", "unparsable"]
    answer: str
    expected: str
    question: str
    response: str
    doc_hash: str
    prompt_hash: str


def read_sample(line: bytes) -> LmEvalSample:
    """Parse a line. Raises UnreadableSampleError."""
    try:
        found = json.loads(line)
    except ValueError as error:
        raise UnreadableSampleError(f"JSON: {error}") from error
    if not isinstance(found, dict):
        raise UnreadableSampleError(f"an object is expected, not {type(found).__name__}")
    if "doc_id" not in found:
        raise UnreadableSampleError("missing 'doc_id'")
    metric, score = _score(found)
    filtered = found.get("filtered_resps", found.get("resps"))
    answer = _first(filtered)
    return LmEvalSample(
        doc_id=str(found["doc_id"]),
        filter="" if found.get("filter") == "none" else str(found.get("filter") or ""),
        metric=metric,
        score=score,
        # A line that keeps no answers at all says nothing about how they could be read.
        status="scored" if filtered is None or answer not in {"", "[invalid]"} else "unparsable",
        answer=answer,
        expected=str(found.get("target", "")),
        question=_question(found),
        response=_first(found.get("resps")),
        doc_hash=str(found.get("doc_hash") or ""),
        prompt_hash=str(found.get("prompt_hash") or ""),
    )


def _score(line: Mapping[str, Any]) -> tuple[str, float | None]:
    names: Iterable[str] = line.get("metrics") or [n for n in _OLD_SCORES if n in line]
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UnreadableSampleError(f"metrics: a list of names is expected, not {names!r}")
    for name in names:
        value = line.get(name)
        if isinstance(value, int | float):
            if not math.isfinite(value):
                raise UnreadableSampleError(f"{name}: {value} is no score")
            return name, float(value)
    return "", None


def _first(value: Any) -> str:  # noqa: ANN401
    """The first answer, however deep lm-eval nested it."""
    while isinstance(value, list | tuple) and value:
        value = value[0]
    return "" if value is None or value == [] else str(value)


def _question(line: Mapping[str, Any]) -> str:
    doc = line.get("doc")
    if isinstance(doc, dict):
        for name in _QUESTIONS:
            if isinstance(doc.get(name), str):
                return str(doc[name])
    return ""
