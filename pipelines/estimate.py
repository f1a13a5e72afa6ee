"""What a plan will take: minutes, the longest path, money. Pure; unknown is said, not counted as 0.

A job takes the median of its measured durations. One that was never measured counts with its time
limit, so that a sum that holds any is an upper bound.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import median

from gauntlet.pipelines.plan import JobStep, Plan
from gauntlet.pipelines.timings import Timings


@dataclass(frozen=True, slots=True, kw_only=True)
class JobEstimate:
    """One job: minutes of one copy, copies, US dollars for all copies (None: unknown)."""

    minutes: float
    copies: int
    measured: bool
    cost: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A whole plan. Blocked jobs are in ``jobs``, and in no sum.

    ``job_minutes`` adds up all copies; ``path_minutes`` is the longest way through the
    dependencies if no job ever waits for a machine; ``cost`` is of the jobs whose cost is known.
    """

    jobs: Mapping[str, JobEstimate]
    running: int
    measured: int
    job_minutes: float
    path: tuple[str, ...]
    path_minutes: float
    cost: float
    without_cost: int


def estimate(plan: Plan, timings: Timings | None = None) -> Estimate:
    """Estimate a plan from measured durations, where there are any."""
    measured = timings.jobs if timings else {}
    steps = {
        step.job.key: step
        for group in plan.groups
        for step in group.steps
        if isinstance(step, JobStep)
    }
    jobs = {key: _job(step, measured.get(key, ())) for key, step in steps.items()}
    running = {key: jobs[key] for key, step in steps.items() if step.block is None}
    path, minutes = _longest({key: steps[key].depends_on for key in running}, running)
    costs = [job.cost for job in running.values()]
    return Estimate(
        jobs=jobs,
        running=len(running),
        measured=sum(job.measured for job in running.values()),
        job_minutes=sum(job.minutes * job.copies for job in running.values()),
        path=path,
        path_minutes=minutes,
        cost=sum(cost for cost in costs if cost is not None),
        without_cost=costs.count(None),
    )


def _job(step: JobStep, seconds: tuple[float, ...]) -> JobEstimate:
    limit = step.job.timeout_in_minutes or step.placement.device.timeout_in_minutes
    minutes = median(seconds) / 60 if seconds else float(limit)
    copies = step.job.parallelism or 1
    each = step.placement.cost_per_hour
    cost = None if each is None else each * minutes / 60 * copies * (step.job.num_nodes or 1)
    return JobEstimate(minutes=minutes, copies=copies, measured=bool(seconds), cost=cost)


def _longest(
    needs: Mapping[str, tuple[str, ...]], jobs: Mapping[str, JobEstimate]
) -> tuple[tuple[str, ...], float]:
    """The longest chain of jobs and its minutes. The graph has no circles: plans are checked."""
    best: dict[str, tuple[float, tuple[str, ...]]] = {}
    for root in sorted(needs):
        stack = [root]
        while stack:
            key = stack[-1]
            waiting = [need for need in needs[key] if need in needs and need not in best]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            before = max((best[need] for need in needs[key] if need in best), default=(0.0, ()))
            best[key] = (before[0] + jobs[key].minutes, (*before[1], key))
    minutes, path = max(best.values(), default=(0.0, ()))
    return path, minutes
