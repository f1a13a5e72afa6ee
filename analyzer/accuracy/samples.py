"""The answers of one side, wherever they came from: files of a harness, or the warehouse."""

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from gauntlet.core.errors import UsageError

Status = Literal["scored", "unparsable", "error"]

TEXT_LIMIT = 2_000
_REPEAT = re.compile(r"#\d+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One question, once.

    ``score`` is None where nothing could be judged. ``cluster`` is the question (or conversation)
    that repeats share, ``stratum`` its category. ``truncated`` is None where the source does not
    say whether the answer was cut at the token limit. ``error`` is a class of errors, not a whole
    message. ``question_digest`` names the question itself, as ``KIND:DIGEST``: digests of two
    kinds say nothing of each other. ``prompt_digest`` names the whole text that was sent. Both are
    empty where the source has none. Texts are shortened.
    """

    item_id: str
    score: float | None
    status: Status = "scored"
    cluster: str = ""
    stratum: str = ""
    truncated: bool | None = None
    error: str = ""
    question: str = ""
    answer: str = ""
    expected: str = ""
    response: str = ""
    question_digest: str = ""
    prompt_digest: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSet:
    """What one build answered to one task, and everything that could move the score beside it.

    ``refused`` are reasons of the source against the whole measurement, ``notes`` what a reader of
    the verdict should know. What the source does not record is empty, or None; where it does not
    say the task (a file of any name), ``task`` is a name to show, and ``task_known`` False.
    """

    answers: tuple[Answer, ...]
    task: str
    source: str
    metric: str = "accuracy"
    filter: str = ""
    harness: str = ""
    harness_version: str = ""
    task_version: str = ""
    fewshot: int | None = None
    dataset_digest: str = ""
    fingerprint: str = ""
    model: str = ""
    settings: Mapping[str, str] = field(default_factory=dict)
    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    task_known: bool = True

    @property
    def subject(self) -> str:
        """The objective that a verdict on these answers is about."""
        return "/".join(part for part in ("eval", self.task, self.metric, self.filter) if part)


def question_of(item_id: str) -> str:
    """The question that ``ID`` and its repeats ``ID#2``, ``ID#3``… have in common."""
    return _REPEAT.sub("", item_id)


def numbered(answers: Iterable[Answer]) -> tuple[Answer, ...]:
    """Tell repeats of one id apart: the second ``ID`` becomes ``ID#2``; all are one cluster."""
    seen: set[str] = set()
    found = []
    for answer in answers:
        question = question_of(answer.item_id)
        item_id, times = answer.item_id, 1
        while item_id in seen:
            times += 1
            item_id = f"{question}#{times}"
        seen.add(item_id)
        found.append(replace(answer, item_id=item_id, cluster=answer.cluster or question))
    return tuple(found)


def joined(sets: Iterable[AnswerSet], name: str) -> AnswerSet:
    """Several tasks as strata of one; what they were asked with stays told apart by task.

    Raises UsageError where there is none, or where they came from different harnesses.
    """
    parts = list(sets)
    if not parts:
        raise UsageError(f"{name}: no task to join")
    harnesses = sorted({f"{part.harness} {part.harness_version}".strip() for part in parts})
    if len(harnesses) > 1:
        raise UsageError(f"{name}: its tasks come from several harnesses: {', '.join(harnesses)}")
    first = parts[0]
    return replace(
        first,
        answers=tuple(
            replace(
                answer,
                item_id=f"{part.task}/{answer.item_id}",
                cluster=f"{part.task}/{answer.cluster or answer.item_id}",
                stratum=part.task,
            )
            for part in parts
            for answer in part.answers
        ),
        task=name,
        metric=_common(part.metric for part in parts) or "score",
        filter=_common(part.filter for part in parts),
        task_version="",
        fewshot=None,
        dataset_digest="",
        fingerprint="",
        settings={f"{part.task}.{k}": v for part in parts for k, v in _asked_with(part).items()},
        refused=tuple(f"{part.task}: {reason}" for part in parts for reason in part.refused),
        notes=tuple(f"{part.task}: {note}" for part in parts for note in part.notes),
    )


def _common(values: Iterable[str]) -> str:
    found = set(values)
    return found.pop() if len(found) == 1 else ""


def _asked_with(part: AnswerSet) -> dict[str, str]:
    own = {
        "filter": part.filter,
        "task_version": part.task_version,
        "fewshot": "" if part.fewshot is None else str(part.fewshot),
        "dataset_digest": part.dataset_digest,
        "fingerprint": part.fingerprint,
    }
    return {**{key: value for key, value in own.items() if value}, **part.settings}


def text_digest(text: str) -> str:
    """Digest of a question's text; empty for an empty one, which names nothing."""
    return f"text:{hashlib.sha256(text.encode()).hexdigest()[:16]}" if text else ""
