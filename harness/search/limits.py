"""From a recipe's objectives and search to limits, bounds and the workload of a probe. Pure."""

from collections.abc import Sequence

from gauntlet.core.errors import UsageError
from gauntlet.harness.search.bisection import Bounds
from gauntlet.harness.search.probe import LEAST_REQUESTS, Limit
from gauntlet.perf_eval.goals import Objective, Search
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.perf_eval.workloads import Workload

# A closed loop that fills its streams fewer times has not settled.
_LEAST_WAVES = 10
_WARMUP_SHARE = 0.1


def search_of(recipe: Recipe) -> Search:
    """The search of a recipe. Raises UsageError where it has none."""
    if recipe.search is None:
        msg = f"the recipe {recipe.name} has no search"
        raise UsageError(msg, hint="add search: {parameter, low, high, ...} and objectives")
    return recipe.search


def bounds_of(search: Search) -> Bounds:
    """Where a search looks."""
    return Bounds(
        low=search.low,
        high=search.high,
        tolerance=search.tolerance,
        whole_numbers=search.parameter == "concurrency",
    )


def limits_of(objectives: Sequence[Objective], workload: str) -> tuple[Limit, ...]:
    """Limits that a probe of a workload has to keep; failures are judged anyway."""
    return tuple(
        Limit(
            metric=each.metric,
            statistic=each.statistic,
            value=each.at_most if each.at_most is not None else each.at_least or 0.0,
            side="at_most" if each.at_most is not None else "at_least",
        )
        for each in objectives
        if each.workload == workload and each.metric != "failed_share"
    )


def probe_workload(
    workload: Workload, search: Search, value: float, *, requests_per_s: float | None = None
) -> Workload:
    """The workload at one value of what is searched.

    ``requests_per_s`` is what a probe before this one reached: how many requests a closed loop
    needs to last as long as it should.
    """
    field = "rate" if search.parameter == "rate" else "concurrency"
    number: float | int = value if field == "rate" else round(value)
    arrivals = workload.arrivals.model_copy(update={field: number})
    least = _LEAST_WAVES * round(value) if field == "concurrency" else LEAST_REQUESTS
    if search.probe_requests is not None:
        wanted = search.probe_requests
    else:
        rate = value if field == "rate" else requests_per_s
        wanted = round((search.probe_s or 0.0) * rate) if rate else least
    requests = max(least, wanted)
    update = {"arrivals": arrivals, "requests": requests}
    if workload.warmup_requests == 0:
        update["warmup_requests"] = max(1, round(_WARMUP_SHARE * requests))
    return workload.model_copy(update=update)


def label_of(search: Search, value: float, number: int) -> str:
    """What a probe is called: its value, and which probe it was."""
    return f"{search.parameter}={value:g},probe={number}"
