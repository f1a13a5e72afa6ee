"""The recipe as a whole, and what must fit together in it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.errors import nearest
from gauntlet.perf_eval.engine import EngineSpec
from gauntlet.perf_eval.evals import Eval
from gauntlet.perf_eval.facts import dies_per_device
from gauntlet.perf_eval.goals import Comparison, Objective, Search, Soak
from gauntlet.perf_eval.judgement import Blocks, Judgement
from gauntlet.perf_eval.part import RecipePart
from gauntlet.perf_eval.sweep import SweepPart, combination_count
from gauntlet.perf_eval.topology import Hardware, Topology
from gauntlet.perf_eval.workloads import Name, Workload

Minutes = Annotated[float, Field(gt=0)]
MetricName = Annotated[str, Field(pattern=r"^[a-zA-Z_:][a-zA-Z0-9_:]*$")]
MOST_COMBINATIONS = 4096
_OPEN_RATES = ("constant", "poisson", "gamma")


class Recipe(RecipePart):
    """One experiment: what is measured, on what, in which order, and what decides.

    Without ``engine`` it runs against whatever it is given (`--base-url`, `--runtime`).
    """

    name: Name
    """Name of the recipe; recipes that ship are found by it."""
    description: str
    """What it is for, in a sentence."""
    owner: str
    """Who answers for it."""
    nightly: bool = False
    """Whether it is part of the nightly matrix."""
    tags: tuple[Name, ...] = ()
    """Words to select recipes by."""
    expected_minutes: Minutes | None = None
    """How long it takes as a rule, start of the server included; for planning."""
    timeout_minutes: Minutes = 120
    """When it is given up."""
    engine: EngineSpec | None = None
    """The build under test."""
    topology: Topology | None = None
    """One server or several roles; absent: one server, divided as its arguments say."""
    hardware: Hardware | None = None
    """Where it is meant to run."""
    workloads: tuple[Workload, ...] = ()
    """Loads."""
    sweep: tuple[SweepPart, ...] = ()
    """What is varied; the parts multiply."""
    evals: tuple[Eval, ...] = ()
    """Accuracy tasks, run once for each variant of the server."""
    server_metrics: tuple[MetricName, ...] = ()
    """Names of the server's metrics to keep besides the usual ones."""
    objectives: tuple[Objective, ...] = ()
    """Limits that the build must keep."""
    search: Search | None = None
    """Search the highest load that keeps the objectives."""
    soak: Soak | None = None
    """Run for hours and watch what grows."""
    normalise: Literal["none", "gpu", "die"] = "none"
    """What throughput is divided by in reports; the raw figure is kept as well."""
    comparison: Comparison | None = None
    """Two sides measured in A B B A blocks."""
    blocks: Blocks = Blocks(min=2, max=2)
    """How many A B B A blocks a comparison has."""
    repetitions: Annotated[int, Field(ge=1, le=1000)] = 1
    """How often each point is measured where nothing is compared."""
    between_repetitions: Literal["new_seed", "reset_cache", "restart"] = "new_seed"
    """How a repetition is kept from finding the prompts of the last one in the prefix cache."""
    judge: Judgement = Judgement()
    """What decides when two builds are compared."""

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        loads = [workload.name for workload in self.workloads]
        evals = [task.name for task in self.evals]
        if not loads + evals:
            msg = "give at least one workload or eval"
            raise ValueError(msg)
        for name in {name for name in loads + evals if (loads + evals).count(name) > 1}:
            msg = f"the name {name!r} is used twice"
            raise ValueError(msg)
        named = [("judge.load", each.workload) for each in self.judge.load]
        named += [("objectives", each.workload) for each in self.objectives]
        for where, goal in (("search", self.search), ("soak", self.soak)):
            if goal is not None and goal.workload is not None:
                named.append((where, goal.workload))
        for where, name in named:
            _resolve(where, "workload", name, loads)
        for accuracy in self.judge.evals:
            _resolve("judge.evals", "task", accuracy.task, evals)
        return self

    @model_validator(mode="after")
    def _goals_fit(self) -> Self:
        if self.search is not None and self.soak is not None:
            msg = "search and soak exclude each other: a soak needs a rate that is known"
            raise ValueError(msg)
        if self.search is not None:
            self._search_fits(self.search)
        if self.soak is not None:
            arrivals = self.goal_workload(self.soak).arrivals.kind
            if arrivals not in _OPEN_RATES:
                msg = (
                    f"a soak needs arrivals with a rate ({', '.join(_OPEN_RATES)}), not {arrivals}"
                )
                raise ValueError(msg)
        good = {workload.name for workload in self.workloads if workload.goodput is not None}
        for objective in self.objectives:
            if objective.metric == "goodput_per_s" and objective.workload not in good:
                msg = f"goodput_per_s needs workloads.{objective.workload}.goodput"
                raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _measurement_fits(self) -> Self:
        if self.comparison is not None and self.repetitions > 1:
            msg = "a comparison repeats in blocks: take repetitions out and say blocks"
            raise ValueError(msg)
        if self.expected_minutes is not None and self.expected_minutes > self.timeout_minutes:
            msg = f"expected_minutes {self.expected_minutes:g} is more than "
            msg += f"timeout_minutes {self.timeout_minutes:g}"
            raise ValueError(msg)
        if self.normalise != "none" and self.hardware is None:
            msg = f"normalise: {self.normalise} needs hardware"
            raise ValueError(msg)
        if self.normalise == "die" and self.hardware and dies_per_device(self.hardware) is None:
            msg = f"the dies of {self.hardware.accelerator} are not known: "
            msg += "say hardware.dies_per_device"
            raise ValueError(msg)
        count = combination_count(self.sweep)
        if count > MOST_COMBINATIONS:
            msg = f"the sweep has {count} combinations, at most {MOST_COMBINATIONS} are run"
            raise ValueError(msg)
        return self

    def goal_workload(self, goal: Search | Soak) -> Workload:
        """The workload that a search or a soak is about. Raises ValueError where none is."""
        if goal.workload is None and len(self.workloads) == 1:
            return self.workloads[0]
        for workload in self.workloads:
            if workload.name == goal.workload:
                return workload
        msg = f"a {type(goal).__name__.lower()} needs to name one workload"
        raise ValueError(msg)

    def _search_fits(self, search: Search) -> None:
        workload = self.goal_workload(search)
        kinds = ("closed",) if search.parameter == "concurrency" else _OPEN_RATES
        if workload.arrivals.kind not in kinds:
            msg = f"a search for {search.parameter} needs arrivals of kind {' or '.join(kinds)}, "
            msg += f"{workload.name} has {workload.arrivals.kind}"
            raise ValueError(msg)
        if not any(each.workload == workload.name for each in self.objectives):
            msg = f"a search needs objectives for {workload.name}: they say when it is too much"
            raise ValueError(msg)


def _resolve(where: str, kind: str, name: str, known: list[str]) -> None:
    if name not in known:
        close = nearest(name, known)
        msg = f"{where} names the {kind} {name!r}; known: {known}"
        msg += f"; did you mean {close!r}?" if close else ""
        raise ValueError(msg)
