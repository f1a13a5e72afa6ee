"""Decisions in words, for people at a terminal."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from gauntlet.pipelines.decide import DecisionResult
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.rules import by_key
from gauntlet.pipelines.selection import Decision
from gauntlet.pipelines.sources import Progress


def summary_lines(result: DecisionResult) -> Iterator[str]:
    """Say how many jobs run, and by which rules."""
    counts = result.counts
    yield (
        f"{counts.selected} of {counts.jobs} jobs in {counts.selected_groups} of "
        f"{counts.groups} groups, for {counts.changed_files} changed file(s)"
    )
    for reason in result.summary_reasons():
        yield f"  {reason.jobs:>4}  {reason.rule:<20} {reason.evidence}"


def selection_lines(result: DecisionResult) -> Iterator[str]:
    """One line for each job that runs: key, rule, evidence."""
    chosen = [decision for decision in result.selection.decisions if decision.runs]
    width = max((len(decision.key) for decision in chosen), default=0)
    rule_width = max((len(decision.rule) for decision in chosen), default=0)
    for decision in chosen:
        yield f"{decision.key:<{width}}  {decision.rule:<{rule_width}}  {decision.evidence}"


def explain_lines(decision: Decision) -> Iterator[str]:
    """Say what becomes of one job, with every reason and its path."""
    yield f"{decision.key}: {decision.decision} ({decision.label}, group {decision.group})"
    for reason in decision.reasons:
        yield f"  {reason.rule}: {reason.text}"
        if len(reason.path) > 1:
            yield f"    {' -> '.join(reason.path)}"


def why_not_lines(result: DecisionResult, decision: Decision) -> Iterator[str]:
    """Say why one job does not run, and what would start it."""
    if decision.runs:
        yield f"{decision.key} does run:"
    yield from explain_lines(decision)
    job = by_key(result.definitions)[decision.key]
    if decision.runs or not isinstance(job, Job):
        return
    if job.optional:
        yield "  it would run with --nightly, or where a selected job depends on it"
        return
    yield f"  it would run if {job.file} changed, or any file below:"
    for entry in job.source_dependencies or ("(it declares none)",):
        yield f"    {entry}"


def problem_lines(result: DecisionResult) -> Iterator[str]:
    """Say what is wrong in the definitions; each job concerned becomes a failing step."""
    for problem in result.problems:
        yield f"warning: {problem}"


@contextmanager
def progress(title: str) -> Iterator[Progress | None]:
    """Show a progress bar on a terminal; nothing elsewhere."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(title, total=None, visible=False)

        def update(done: int, total: int) -> None:
            bar.update(task, completed=done, total=total or None, visible=True)

        yield update
