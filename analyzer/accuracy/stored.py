"""Answers from the warehouse: one repetition, or one side of a run."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gauntlet.analyzer.accuracy.bfcl_folder import category_of
from gauntlet.analyzer.accuracy.samples import (
    TEXT_LIMIT,
    Answer,
    AnswerSet,
    numbered,
    text_digest,
)
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.warehouse.store import Store

Rows = Sequence[Mapping[str, Any]]
_ERROR_CLASS_LIMIT = 80


def stored_repetition(
    store: Store, repetition_id: str, *, answer_filter: str | None = None
) -> list[AnswerSet]:
    """Read the answers of a repetition, a set for each task in it.

    One that is not valid keeps its reasons, and is refused by the judge. Raises UsageError where
    there is no such repetition of an eval.
    """
    asked = store.query("asked_with", repetition_id=repetition_id)
    if not asked:
        raise UsageError(
            f"no eval repetition {repetition_id!r} in {store.location}",
            hint="`gauntlet warehouse query eval_history --param task=TASK` lists them",
        )
    rows = store.query("answers", repetition_id=repetition_id)
    return sets_of(asked, rows, source=f"repetition:{repetition_id}", answer_filter=answer_filter)


def stored_run(
    store: Store, run_id: str, side: str, *, answer_filter: str | None = None
) -> list[AnswerSet]:
    """Read the answers of one side of a run (of its only one where ``side`` is empty).

    Answers of valid repetitions alone; a question that several pairs asked is one cluster. Raises
    UsageError where there is no such run, or where it has two sides and none is named.
    """
    asked = store.query("asked_with", run_id=run_id, side=side)
    name = ":".join(part for part in ("run", run_id, side) if part)
    if not asked:
        raise UsageError(
            f"no evals of {name} in {store.location}",
            hint="`gauntlet warehouse query runs --param limit=20` lists runs",
        )
    sides = sorted({row["side"] for row in asked})
    if len(sides) > 1:
        raise UsageError(f"{name} has two sides", hint=f"{name}:baseline or {name}:candidate")
    rows = store.query("answers", run_id=run_id, side=side)
    return sets_of(asked, rows, source=name, answer_filter=answer_filter)


def sets_of(
    asked: Rows, rows: Rows, *, source: str, answer_filter: str | None = None
) -> list[AnswerSet]:
    """Make a set for each task from the rows of the queries ``asked_with`` and ``answers``.

    A task without an answer keeps the reasons why there is none. Raises UsageError for a filter
    that a task does not have.
    """
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    sets = []
    for task in tasks:
        of_task = [row for row in rows if row["task"] == task]
        ids = {row["repetition_id"] for row in of_task}
        with_what = [row for row in asked if row["repetition_id"] in ids]
        sets.append(_set_of(task, with_what, of_task, source, answer_filter))
    answered = {row["repetition_id"] for row in rows}
    for workload in dict.fromkeys(row["workload"] for row in asked):
        of_workload = [row for row in asked if row["workload"] == workload]
        if not any(row["repetition_id"] in answered for row in of_workload):
            sets.append(_set_of(workload, of_workload, [], source, None))
    return sets


def _set_of(
    task: str, asked: Rows, rows: Rows, source: str, answer_filter: str | None
) -> AnswerSet:
    filters = list(dict.fromkeys(str(row["filter"]) for row in rows))
    if answer_filter is not None and filters and answer_filter not in filters:
        raise unknown_name(f"filter of {source}, {task}", answer_filter, filters)
    chosen = answer_filter if answer_filter is not None else next(iter(filters), "")
    client, version = _one(asked, "client"), _one(asked, "client_version")
    answers = (_answer(row, client) for row in rows if row["filter"] == chosen)
    fewshot = {row["fewshot"] for row in asked}
    return AnswerSet(
        answers=numbered(answers),
        task=task,
        source=source,
        metric=_one(asked, "metric") or "accuracy",
        filter=chosen,
        harness=_one(asked, "harness") or client,
        harness_version=_one(asked, "harness_version") or version,
        task_version=_one(asked, "task_version"),
        fewshot=fewshot.pop() if len(fewshot) == 1 else None,
        dataset_digest=_one(asked, "dataset_digest"),
        fingerprint=_one(asked, "config_fp"),
        model=_one(asked, "model"),
        settings={**asked[0]["settings"], "client version": version},
        refused=tuple(_refused(asked, whole=not rows)),
    )


def _one(rows: Rows, column: str) -> str:
    """The value of a column; all of them where repetitions differ, so that it shows."""
    return ", ".join(sorted({str(row[column]) for row in rows if row[column]}))


def _refused(asked: Rows, *, whole: bool) -> Iterator[str]:
    """Reasons of repetitions that are not valid; of a run's, only where none is left."""
    if whole or all(row["status"] != "valid" for row in asked):
        for row in asked:
            if row["status"] != "valid":
                yield f"{row['status']}: {'; '.join(row['reasons'])}"


def _answer(row: Mapping[str, Any], client: str) -> Answer:
    item_id, reason = str(row["item_id"]), row["finish_reason"]
    of_task, slash, _ = item_id.rpartition("/")
    return Answer(
        item_id=item_id,
        score=row["score"],
        status=row["status"],
        stratum=of_task if slash else category_of(item_id) if client == "bfcl-eval" else "",
        truncated=None if reason is None else reason == "length",
        error=str(row["error"]).partition(":")[0][:_ERROR_CLASS_LIMIT],
        question=row["question"][:TEXT_LIMIT],
        answer=row["answer"][:TEXT_LIMIT],
        expected=row["expected"][:TEXT_LIMIT],
        response=row["response"][:TEXT_LIMIT],
        question_digest=text_digest(row["question"]),
    )
