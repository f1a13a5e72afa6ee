"""Step 1: which jobs of the engine's own pipeline does a change need?"""

from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.demo.request import DemoRequest
from gauntlet.demo.screen import Screen
from gauntlet.pipelines.base import BaseRequest, range_changes
from gauntlet.pipelines.changes import ChangeSet, load_example
from gauntlet.pipelines.decide import DecideRequest, DecisionResult, decide
from gauntlet.pipelines.outputs import write_artifacts
from gauntlet.pipelines.sources import (
    EngineSource,
    default_cache,
    fetch_source,
    open_source,
)


@dataclass(frozen=True, slots=True)
class Decided:
    """The decision and where its artifacts are; ``skipped`` says why there is none."""

    result: DecisionResult | None
    out: Path
    skipped: str = ""


def decide_step(request: DemoRequest, screen: Screen) -> Decided:
    """Decide on a real source tree and a real change.

    Without a network and without a cached source the step is skipped, with the reason. Raises
    UsageError for a bad version, folder, range or example.
    """
    out = request.workdir / "pipeline"
    with screen.step(1) as step:
        try:
            source = _source(request, screen)
        except ExternalServiceError as error:
            step.summary = "[yellow]skipped[/]: the engine's source cannot be had"
            return Decided(None, out, skipped=f"{error.message} ({error.hint})")
        if request.diff_from:
            checkout = BaseRequest(repository=request.engine_source or Path())
            changes = range_changes(checkout, request.diff_from)
            what = request.diff_from
        else:
            changes = ChangeSet(files=load_example(request.example))
            what = f"the example change {request.example!r}"
        result = decide(DecideRequest.from_source(source, changes))
        write_artifacts(result, out)
        counts = result.counts
        label = f"{source.name} {source.version or source.root}"
        step.summary = (
            f"[bold]{counts.selected} of {counts.jobs}[/] jobs for {what} "
            f"({counts.changed_files} files) on {label}"
        )
    return Decided(result, out)


def show_decision(decided: Decided, screen: Screen) -> None:
    """Print why, what is broken, and where the pipeline is."""
    if decided.result is None:
        screen.detail(decided.skipped, style="yellow")
        return
    for reason in decided.result.summary_reasons()[:4]:
        screen.detail(f"{reason.jobs:4} by {reason.rule}: {reason.evidence}")
    for problem in decided.result.problems[:3]:
        screen.detail(f"broken, now a failing step: {problem}", style="yellow")
    screen.detail(f"pipeline.yaml, selection.json, parameters.json in {decided.out}", style="dim")


def _source(request: DemoRequest, screen: Screen) -> EngineSource:
    if request.engine_source is not None:
        return open_source(request.engine_source)
    if request.diff_from:
        msg = "--diff-from needs --engine-source, the checkout that the range is in"
        raise UsageError(msg)
    with screen.bar() as bar:
        return fetch_source(
            version=request.engine_version,
            cache_dir=request.cache or default_cache(),
            progress=lambda done, total: bar.update(
                done / 1e6, total / 1e6, f"MB of vllm {request.engine_version}"
            ),
        )
