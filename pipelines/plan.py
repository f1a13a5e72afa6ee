"""From decisions to steps: who runs what, where, after whom. Plain data, nothing rendered."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gauntlet.core.errors import Problem
from gauntlet.pipelines.decisions import Selection
from gauntlet.pipelines.definitions.job import Definitions, Job
from gauntlet.pipelines.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class JobStep:
    """A job that runs, its queue, and its dependencies among the steps of this plan."""

    job: Job
    queue: str
    depends_on: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FailingStep:
    """A job that cannot run: its step prints what is wrong and fails."""

    key: str
    label: str
    queue: str
    problems: tuple[Problem, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanGroup:
    """Steps that are shown together, sorted by key."""

    name: str
    steps: tuple[JobStep | FailingStep, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All steps of one build, by group. ``notice`` says why, where there is no step at all."""

    groups: tuple[PlanGroup, ...]
    plain_queue: str
    notice: str | None = None


def make_plan(definitions: Definitions, selection: Selection, fleet: Fleet) -> Plan:
    """Lay out the selected jobs. Pure."""
    chosen = set(selection.selected)
    grouped: dict[str, list[tuple[str, JobStep | FailingStep]]] = defaultdict(list)
    for broken in definitions.broken:
        if broken.key in chosen:
            failing = _failing(broken.key, broken.label, fleet, broken.problems)
            grouped[broken.group].append((broken.key, failing))
    for job in definitions.jobs:
        if job.key in chosen:
            grouped[job.group].append((job.key, _step(job, chosen, fleet)))
    groups = tuple(
        PlanGroup(name=name, steps=tuple(step for _, step in sorted(members, key=lambda m: m[0])))
        for name, members in sorted(grouped.items())
    )
    notice = None if groups else _notice(selection)
    return Plan(groups=groups, plain_queue=fleet.plain_queue, notice=notice)


def fleet_problems(definitions: Definitions, fleet: Fleet) -> tuple[Problem, ...]:
    """Everything that keeps a job, selected or not, from finding its device."""
    found = (fleet.problem(job) for job in definitions.jobs)
    return tuple(problem for problem in found if problem is not None)


def _step(job: Job, chosen: set[str], fleet: Fleet) -> JobStep | FailingStep:
    problem = fleet.problem(job)
    if problem is not None:
        return _failing(job.key, job.label, fleet, (problem,))
    device = fleet.devices[fleet.device_name(job)]
    # A dependency that is not selected cannot be waited for.
    depends_on = tuple(key for key in dict.fromkeys(job.depends_on) if key in chosen)
    return JobStep(job=job, queue=device.queue_for(job.num_devices or 1), depends_on=depends_on)


def fail_steps(plan: Plan, problems: Mapping[str, Problem]) -> Plan:
    """Turn the steps that have a problem into failing ones, by key."""

    def failed(step: JobStep | FailingStep) -> JobStep | FailingStep:
        if isinstance(step, FailingStep) or step.job.key not in problems:
            return step
        return FailingStep(
            key=step.job.key,
            label=step.job.label,
            queue=plan.plain_queue,
            problems=(problems[step.job.key],),
        )

    if not problems:
        return plan
    groups = [replace(g, steps=tuple(failed(step) for step in g.steps)) for g in plan.groups]
    return replace(plan, groups=tuple(groups))


def _failing(key: str, label: str, fleet: Fleet, problems: tuple[Problem, ...]) -> FailingStep:
    return FailingStep(key=key, label=label, queue=fleet.plain_queue, problems=problems)


def _notice(selection: Selection) -> str:
    if not selection.decisions:
        return "nothing to run: there are no job definitions"
    first = selection.decisions[0]
    if all(decision.rule == first.rule for decision in selection.decisions):
        return f"nothing to run: {first.reasons[0].text}"
    return "nothing to run: no job that runs by itself depends on what changed"
