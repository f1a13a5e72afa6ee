"""From decisions to steps: who runs what, where, after whom. Plain data, nothing rendered."""

import hashlib
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gauntlet.core.errors import Problem
from gauntlet.pipelines.decisions import BLOCK, Decision, Selection
from gauntlet.pipelines.definitions.job import Definitions, Job
from gauntlet.pipelines.definitions.keys import MAX_KEY
from gauntlet.pipelines.fleet import Fleet, Placement

_BLOCK_PREFIX = "block-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What holds a job back until a person lets it run; ``reason`` says why it is held."""

    key: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStep:
    """A job, where it runs, its dependencies among the steps of this plan, and what holds it."""

    job: Job
    placement: Placement
    depends_on: tuple[str, ...]
    block: Block | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingStep:
    """A job that cannot run: its step prints what is wrong and fails."""

    key: str
    label: str
    problems: tuple[Problem, ...]
    block: Block | None = None


Step = JobStep | FailingStep


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGroup:
    """Steps that are shown together, sorted by key."""

    name: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All steps of one build, by group. ``notice`` says why, where there is no step at all."""

    fleet: Fleet
    groups: tuple[PlanGroup, ...]
    notice: str | None = None


def make_plan(definitions: Definitions, selection: Selection, fleet: Fleet) -> Plan:
    """Lay out the jobs that run, or wait for a person. Pure."""
    chosen = {d.key: d for d in selection.decisions if d.in_pipeline}
    grouped: dict[str, list[tuple[str, Step]]] = defaultdict(list)
    for broken in definitions.broken:
        if broken.key in chosen:
            failing = FailingStep(key=broken.key, label=broken.label, problems=broken.problems)
            grouped[broken.group].append((broken.key, failing))
    for job in definitions.jobs:
        if job.key in chosen:
            grouped[job.group].append((job.key, _step(job, chosen, fleet)))
    groups = tuple(
        PlanGroup(name=name, steps=tuple(step for _, step in sorted(members, key=lambda m: m[0])))
        for name, members in sorted(grouped.items())
    )
    return Plan(fleet=fleet, groups=groups, notice=None if groups else _notice(selection))


def fleet_problems(definitions: Definitions, fleet: Fleet) -> tuple[Problem, ...]:
    """Everything that keeps a job, selected or not, from finding its device."""
    found = (fleet.problem(job) for job in definitions.jobs)
    return tuple(problem for problem in found if problem is not None)


def fail_steps(plan: Plan, problems: Mapping[str, Problem]) -> Plan:
    """Turn the steps that have a problem into failing ones, by key."""

    def failed(step: Step) -> Step:
        if isinstance(step, FailingStep) or step.job.key not in problems:
            return step
        return _failing(step.job, problems[step.job.key], step.block)

    if not problems:
        return plan
    groups = [replace(g, steps=tuple(failed(step) for step in g.steps)) for g in plan.groups]
    return replace(plan, groups=tuple(groups))


def _step(job: Job, chosen: Mapping[str, Decision], fleet: Fleet) -> Step:
    decision = chosen[job.key]
    block = None
    if decision.decision == BLOCK and not _waits_anyway(job, decision, chosen):
        block = Block(key=_block_key(job.key, chosen), reason=decision.reasons[0].text)
    placement = fleet.place(job)
    if isinstance(placement, Problem):
        return _failing(job, placement, block)
    # A dependency that is not in the pipeline cannot be waited for.
    depends_on = tuple(key for key in dict.fromkeys(job.depends_on) if key in chosen)
    return JobStep(job=job, placement=placement, depends_on=depends_on, block=block)


def _waits_anyway(job: Job, decision: Decision, chosen: Mapping[str, Decision]) -> bool:
    """Whether a job that only blocked jobs need comes after another one that a person starts.

    Otherwise an image that is built in three stages would have to be started three times.
    """
    needs = (chosen[key] for key in job.depends_on if key in chosen)
    return decision.rule == "needed-by" and any(need.decision == BLOCK for need in needs)


def _block_key(key: str, taken: Mapping[str, Decision]) -> str:
    """Name the block of a job: ``block-KEY``, or something like it where that is no free key."""
    plain = f"{_BLOCK_PREFIX}{key}"
    if len(plain) <= MAX_KEY and plain not in taken:
        return plain
    mark = hashlib.sha256(key.encode()).hexdigest()[:12]
    return f"{plain[: MAX_KEY - len(mark) - 1]}-{mark}"


def _failing(job: Job, problem: Problem, block: Block | None) -> FailingStep:
    return FailingStep(key=job.key, label=job.label, problems=(problem,), block=block)


def _notice(selection: Selection) -> str:
    if not selection.decisions:
        return "nothing to run: there are no job definitions"
    first = selection.decisions[0]
    if all(decision.rule == first.rule for decision in selection.decisions):
        return f"nothing to run: {first.reasons[0].text}"
    return "nothing to run: no job that runs by itself depends on what changed"
