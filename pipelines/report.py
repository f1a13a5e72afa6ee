"""Decisions in words, for people at a terminal."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from gauntlet.pipelines.decide import DecisionResult
from gauntlet.pipelines.decisions import Decision
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.differences import Comparison
from gauntlet.pipelines.rules import by_key
from gauntlet.pipelines.sources import Progress

Lines = Iterable[str]


def summary_lines(result: DecisionResult) -> Iterator[str]:
    """Say how many jobs run, and by which rules."""
    counts = result.counts
    waiting = f", {counts.blocked} wait for a person" if counts.blocked else ""
    yield (
        f"{counts.selected} of {counts.jobs} jobs{waiting}, in {counts.selected_groups} of "
        f"{counts.groups} groups, for {counts.changed_files} changed file(s)"
    )
    for reason in result.summary_reasons():
        yield f"  {reason.jobs:>4}  {reason.rule:<20} {reason.evidence}"


def selection_lines(result: DecisionResult) -> Iterator[str]:
    """One line for each job in the pipeline: what becomes of it, key, rule, evidence."""
    chosen = [decision for decision in result.selection.decisions if decision.in_pipeline]
    width = max((len(decision.key) for decision in chosen), default=0)
    rule_width = max((len(decision.rule) for decision in chosen), default=0)
    for decision in chosen:
        verb, rule = f"{decision.decision:<5}", f"{decision.rule:<{rule_width}}"
        yield f"{verb}  {decision.key:<{width}}  {rule}  {decision.evidence}"


def difference_lines(compared: Comparison) -> Iterator[str]:
    """Say where the selection departs from vLLM's own rule: first how often, then each job."""
    found = compared.differences
    if not found:
        yield "vLLM's own rule selects the same jobs"
        return
    yield f"{len(found)} job(s) differ from vLLM's own rule:"
    kinds = Counter((difference.added, difference.kind) for difference in found)
    for (added, kind), count in sorted(kinds.items(), key=lambda item: (-item[1], item[0])):
        yield f"  {count:>4} {'added' if added else 'dropped':<8} {kind}"
    for difference in found:
        yield f"{'+' if difference.added else '-'} {difference.key}: {difference.text}"


def explain_lines(result: DecisionResult, decision: Decision) -> Iterator[str]:
    """Say what becomes of one job, with every reason and its path."""
    del result
    yield f"{decision.key}: {decision.decision} ({decision.label}, group {decision.group})"
    for reason in decision.reasons:
        yield f"  {reason.rule}: {reason.text}"
        if len(reason.path) > 1:
            yield f"    {' -> '.join(reason.path)}"


def why_not_lines(result: DecisionResult, decision: Decision) -> Iterator[str]:
    """Say why one job does not run, and what would start it."""
    if decision.runs:
        yield f"{decision.key} does run:"
    yield from explain_lines(result, decision)
    job = by_key(result.definitions)[decision.key]
    if decision.runs or not isinstance(job, Job):
        return
    if decision.rule == "above-tier":
        yield f"  it would run with --tier {job.tier.title}, or where a selected job needs it"
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
