"""Answers from a project folder of bfcl-eval: one task for each category."""

import re
from collections.abc import Iterator
from pathlib import Path

from gauntlet.analyzer.accuracy.samples import TEXT_LIMIT, Answer, AnswerSet
from gauntlet.core.errors import UsageError
from gauntlet.core.ids import canonical_json
from gauntlet.warehouse.results.bfcl import (
    Reading,
    error_type,
    find_categories,
    is_undecoded,
    read_category,
)

_CATEGORY = re.compile(r"^(.+?)_\d")


def category_of(item_id: str) -> str:
    """The category in an id of BFCL: ``live_simple_3-2-0`` is of ``live_simple``."""
    match = _CATEGORY.match(item_id)
    return match[1] if match else ""


def is_bfcl_project(path: Path) -> bool:
    """Whether a folder is what was BFCL_PROJECT_ROOT."""
    return (path / "result").is_dir()


def from_bfcl_folder(project: Path) -> list[AnswerSet]:
    """Read every category of the one model in a project folder.

    Raises UsageError where there are several models, UnreadableResultError for damaged files.
    """
    categories = find_categories(project)
    models = sorted({category.model for category in categories})
    if len(models) > 1:
        raise UsageError(
            f"{project}: several models: {', '.join(models)}", hint="keep one model to a folder"
        )
    sets = []
    for category in categories:
        reading = read_category(category)
        sets.append(
            AnswerSet(
                answers=tuple(_answers(reading)),
                task=category.name,
                source=str(category.result),
                harness="bfcl-eval",
                model=category.model,
                refused=reading.reasons,
            )
        )
    return sets


def _answers(reading: Reading) -> Iterator[Answer]:
    for key, line in reading.asked.items():
        failure = reading.failures.get(key)
        kind = error_type(failure) if failure is not None else ""
        lost = key in reading.lost
        undecoded = is_undecoded(kind)
        yield Answer(
            item_id=key,
            score=None if lost or not reading.scored else float(failure is None),
            status="error" if lost else "unparsable" if undecoded else "scored",
            cluster=key,
            error="never reached the model" if lost else kind if undecoded else "",
            answer=_text(line.get("result")),
            expected=_text(failure.get("possible_answer")) if failure else "",
        )


def _text(value: object) -> str:
    if value is None:
        return ""
    return (value if isinstance(value, str) else canonical_json(value))[:TEXT_LIMIT]
