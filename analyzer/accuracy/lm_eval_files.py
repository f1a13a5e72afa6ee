"""Answers straight from lm-eval's ``samples_TASK_TIME.jsonl``, with the results beside them."""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from gauntlet.analyzer.accuracy.samples import (
    TEXT_LIMIT,
    Answer,
    AnswerSet,
    numbered,
    text_digest,
)
from gauntlet.core.errors import ConfigError, Problem, UsageError, unknown_name
from gauntlet.warehouse.results.identity import UnreadableResultError
from gauntlet.warehouse.results.lm_eval import LmEvalResults, read_results, task_settings
from gauntlet.warehouse.results.lm_eval_samples import (
    LmEvalSample,
    UnreadableSampleError,
    read_sample,
)

_NAME = re.compile(r"^(.*?)samples_(.+)_(\d{4}-\d\d-\d\dT[\d.:-]+)$")
_PROBLEMS_SHOWN = 10
# These are compared elsewhere: as columns, or as the questions themselves.
_NOT_SETTINGS = {"fewshot", "task_version", "limit"}


def samples_files(path: Path) -> list[Path]:
    """The samples files that a path means: itself, those of a results file, those of a folder.

    Raises UsageError where there is none, or where a folder has two of one task.
    """
    if path.is_dir():
        found = sorted(path.rglob("*samples_*.jsonl"))
        tasks = [task_of(each) for each in found]
        for task in tasks:
            if tasks.count(task) > 1:
                same = ", ".join(str(p) for p in found if task_of(p) == task)
                raise UsageError(f"{path}: several runs of {task}: {same}", hint="name one file")
    elif path.suffix == ".jsonl" and path.is_file():
        found = [path]
    elif path.suffix == ".json" and path.is_file():
        prefix, _, stamp = path.stem.partition("results_")
        found = sorted(path.parent.glob(f"{prefix}samples_*_{stamp}.jsonl"))
    else:
        raise UsageError(
            f"{path}: no samples of lm-eval here",
            hint="give samples_*.jsonl, which lm-eval writes with --log_samples, or its folder",
        )
    if not found:
        raise UsageError(
            f"{path}: no samples_*.jsonl", hint="run lm-eval with --log_samples to keep answers"
        )
    return found


def task_of(path: Path) -> str:
    """The task in a samples file's name; the whole name where it has another form."""
    match = _NAME.match(path.stem)
    return match[2] if match else path.stem


def from_lm_eval_file(
    path: Path, *, results: Path | None = None, answer_filter: str | None = None
) -> AnswerSet:
    """Read one task's answers; of several answer filters the first, unless one is named.

    ``results`` defaults to the results file beside it, of which version and settings are read.
    Raises ConfigError with every damaged line, UsageError for a filter that is not there.
    """
    task = task_of(path)
    samples = list(_read(path))
    filters = list(dict.fromkeys(sample.filter for sample in samples))
    if answer_filter is not None and filters and answer_filter not in filters:
        raise unknown_name(f"filter of {path}", answer_filter, [name or "none" for name in filters])
    chosen = answer_filter if answer_filter is not None else next(iter(filters), "")
    kept = [sample for sample in samples if sample.filter == chosen]
    metric = next((sample.metric for sample in kept if sample.metric), "accuracy")
    answers = numbered(_answer(sample) for sample in kept)
    blank = AnswerSet(
        answers=answers,
        task=task,
        source=str(path),
        metric=metric,
        filter=chosen,
        harness="lm-eval",
        task_known=_NAME.match(path.stem) is not None or results is not None,
    )
    beside = results or _results_beside(path)
    if beside is None:
        note = "no results file beside the samples: the harness's version is unknown"
        return replace(blank, notes=(note,))
    return _with_results(blank, read_results(beside.read_bytes(), str(beside)), beside)


def _read(path: Path) -> Iterator[LmEvalSample]:
    problems = []
    for number, line in enumerate(path.read_bytes().splitlines(), start=1):
        if not line.strip():
            continue
        try:
            yield read_sample(line)
        except UnreadableSampleError as error:
            problems.append(Problem(file=str(path), line=number, message=str(error)))
    if problems:
        hidden = len(problems) - _PROBLEMS_SHOWN
        hint = f"{hidden} more lines are damaged" if hidden > 0 else "is the file complete?"
        raise ConfigError(problems[:_PROBLEMS_SHOWN], hint=hint)


def _answer(sample: LmEvalSample) -> Answer:
    return Answer(
        item_id=sample.doc_id,
        score=sample.score,
        status=sample.status,
        question=sample.question[:TEXT_LIMIT],
        answer=sample.answer[:TEXT_LIMIT],
        expected=sample.expected[:TEXT_LIMIT],
        response=sample.response[:TEXT_LIMIT],
        question_digest=(
            f"document:{sample.doc_hash}" if sample.doc_hash else text_digest(sample.question)
        ),
        prompt_digest=sample.prompt_hash,
    )


def _results_beside(path: Path) -> Path | None:
    match = _NAME.match(path.stem)
    if match is None:
        return None
    found = path.with_name(f"{match[1]}results_{match[3]}.json")
    return found if found.is_file() else None


def _with_results(blank: AnswerSet, results: LmEvalResults, file: Path) -> AnswerSet:
    if blank.task not in results.results:
        raise UnreadableResultError(
            f"{file}: results: no task {blank.task}; it has {', '.join(sorted(results.results))}"
        )
    settings = task_settings(results, blank.task)
    counted = results.samples.get(blank.task, {}).get("effective")
    asked = len({answer.cluster for answer in blank.answers})
    notes = []
    if counted and counted != asked:
        notes.append(f"the samples hold {asked} of {counted} questions that were asked")
    return replace(
        blank,
        harness_version=results.lm_eval_version,
        task_version=str(results.versions.get(blank.task, "")),
        fewshot=results.fewshot.get(blank.task),
        model=results.model_name or str(results.config.get("model", "")),
        settings={key: value for key, value in settings.items() if key not in _NOT_SETTINGS},
        notes=tuple(notes),
    )
