"""``gauntlet bench search``: probes on one engine, each of them a repetition on record."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.harness.bench.report import RepetitionReport
from gauntlet.harness.bench.stage import Probe, StageContext, goodput_of, make_servers, run_probe
from gauntlet.harness.bench.steps import Stage, Step
from gauntlet.harness.load.results import Outcome
from gauntlet.harness.schedule import Slot
from gauntlet.harness.search.bisection import Answer, Probed, next_step
from gauntlet.harness.search.limits import (
    bounds_of,
    label_of,
    limits_of,
    probe_workload,
    search_of,
)
from gauntlet.harness.search.probe import ProbeResult, judge_probe
from gauntlet.perf_eval.recipe import Recipe

ANSWER = "answer.json"
# A search that has not ended by then is not converging.
_MOST_PROBES = 60


@dataclass(slots=True)
class SearchResult:
    """How a search ended, and every probe on the way."""

    answer: Answer
    parameter: str
    probes: list[Probed] = field(default_factory=list)

    def as_data(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            **asdict(self.answer),
            "parameter": self.parameter,
            "probes": [asdict(probe) for probe in self.probes],
        }


def run_search(
    context: StageContext,
    recipe: Recipe,
    stage: Stage,
    *,
    show: Callable[[RepetitionReport], object],
) -> SearchResult:
    """Search on one variant. Raises EngineError where the engine does not last.

    Probes of a broken search are not used again: an engine that was started anew is another.
    """
    search = search_of(recipe)
    workload = recipe.goal_workload(search)
    limits = limits_of(recipe.objectives, workload.name)
    bounds = bounds_of(search)
    side = next(iter(stage.sides))
    probes: list[Probed] = []
    reached: float | None = None
    step = next_step(bounds, probes)
    with make_servers(context, stage) as servers:
        while not isinstance(step, Answer):
            if len(probes) >= _MOST_PROBES:
                step = Answer(
                    status="unresolved", best=None, above=None, reason="the probes do not converge"
                )
                break
            number = len(probes)
            load = probe_workload(workload, search, step, requests_per_s=reached)
            slot = Slot(block=number, pair=number, position=number, side=side)
            label = label_of(search, step, number + 1)
            probe = Step(variant=stage.variant, label=label, task=load, slot=slot)
            made = run_probe(context, servers, probe)
            verdict = _judge(
                made,
                partial(
                    judge_probe,
                    limits=limits,
                    confidence=search.confidence,
                    seed=context.request.seed,
                    goodput=goodput_of(load),
                    closed=search.parameter == "concurrency",
                ),
            )
            show(made.report)
            context.say(f"{label}: {verdict.verdict}" + "".join(f"; {r}" for r in verdict.reasons))
            probes.append(Probed(value=step, verdict=verdict.verdict, reasons=verdict.reasons))
            reached = made.report.metrics.get("requests_per_s", {}).get("total") or reached
            step = next_step(bounds, probes)
    result = SearchResult(answer=step, parameter=search.parameter, probes=probes)
    _keep(context.folder.path, result)
    return result


def _judge(probe: Probe, judge: Callable[[Sequence[Outcome]], ProbeResult]) -> ProbeResult:
    """A probe that measured the client or the cache decides nothing."""
    spoiled = [r for r in probe.report.reasons if r.startswith(("client", "warm-cache"))]
    if spoiled:
        return ProbeResult(verdict="unclear", reasons=tuple(spoiled), estimates=())
    return judge(probe.outcomes)


def _keep(folder: Path, result: SearchResult) -> None:
    write_atomic(folder / ANSWER, json.dumps(result.as_data(), indent=1))
