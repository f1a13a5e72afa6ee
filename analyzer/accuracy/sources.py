"""What ``--baseline SAMPLES`` may mean: files of lm-eval or bfcl-eval, or the warehouse."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from gauntlet.analyzer.accuracy.bfcl_folder import from_bfcl_folder, is_bfcl_project
from gauntlet.analyzer.accuracy.comparability import differences
from gauntlet.analyzer.accuracy.lm_eval_files import from_lm_eval_file, samples_files
from gauntlet.analyzer.accuracy.samples import AnswerSet, joined, numbered
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.warehouse.store import Store

_SIDES = ("baseline", "candidate", "single")
Tasks = Literal["one", "joined"]


def read_repeats(
    said: Sequence[str],
    *,
    store: Callable[[], Store],
    task: str | None = None,
    answer_filter: str | None = None,
    tasks: Tasks = "one",
) -> AnswerSet:
    """Read one side that was measured once or several times; repeats of a question are a cluster.

    Raises what ``read_answers`` does, and UsageError where the repeats were asked otherwise.
    """
    first, *others = (
        read_answers(each, store=store, task=task, answer_filter=answer_filter, tasks=tasks)
        for each in said
    )
    for other in others:
        if changed := differences(first, other):
            found = ", ".join(map(str, changed))
            raise UsageError(f"{other.source} does not repeat {first.source}: {found}")
    if not others:
        return first
    sets = (first, *others)
    return replace(
        first,
        answers=numbered(answer for each in sets for answer in each.answers),
        source=", ".join(each.source for each in sets),
        refused=tuple(reason for each in sets for reason in each.refused),
        notes=tuple(note for each in sets for note in each.notes),
    )


def read_answers(
    said: str,
    *,
    store: Callable[[], Store],
    task: str | None = None,
    answer_filter: str | None = None,
    tasks: Tasks = "one",
) -> AnswerSet:
    """Read one side's answers from what was said of it.

    ``repetition:ID`` and ``run:ID[:SIDE]`` are in the warehouse that ``store`` opens; anything
    else is a path. ``joined`` makes one set of several tasks, each a category.

    Raises UsageError where nothing is there, or where there are several tasks and one is needed;
    ConfigError and UnreadableResultError for damaged files.
    """
    sets = _sets(said, store, task, answer_filter)
    names = [each.task for each in sets]
    if task is not None:
        sets = [each for each in sets if each.task == task]
        if not sets:
            raise unknown_name(f"task of {said}", task, names)
    if len(sets) == 1:
        return sets[0]
    if tasks == "one":
        raise UsageError(
            f"{said}: {len(sets)} tasks: {', '.join(names)}",
            hint="choose one with --task, or weigh them as categories with --strata",
        )
    return joined(sets, _name_of(names))


def _sets(
    said: str, store: Callable[[], Store], task: str | None, answer_filter: str | None
) -> list[AnswerSet]:
    kind, _, name = said.partition(":")
    if kind in {"repetition", "run"} and name:
        # The warehouse is opened for these alone: files need none.
        from gauntlet.analyzer.accuracy.stored import stored_repetition, stored_run

        with store() as opened:
            if kind == "repetition":
                return stored_repetition(opened, name, answer_filter=answer_filter)
            run_id, _, side = name.rpartition(":")
            if side not in _SIDES or not run_id:
                run_id, side = name, ""
            return stored_run(opened, run_id, side, answer_filter=answer_filter)
    path = Path(said)
    if not path.exists():
        raise UsageError(
            f"{said}: no such file or folder",
            hint="a samples file or folder, repetition:ID, or run:ID[:SIDE]",
        )
    if path.is_dir() and is_bfcl_project(path):
        return from_bfcl_folder(path)
    files = samples_files(path)
    found = [from_lm_eval_file(each, answer_filter=answer_filter) for each in files]
    return [each for each in found if task is None or each.task == task] or found


def _name_of(names: list[str]) -> str:
    """A name for several tasks: what their names begin with, such as ``mmlu``."""
    words = [name.split("_") for name in names]
    common: list[str] = []
    for column in zip(*words, strict=False):
        if len(set(column)) > 1:
            break
        common.append(column[0])
    return "_".join(common) or "all"
