"""What a recipe is after: limits to keep, a limit to search, two sides to compare, a soak."""

from typing import Annotated, Literal, Self

from pydantic import Field, JsonValue, model_validator

from gauntlet.perf_eval.part import RecipePart
from gauntlet.perf_eval.workloads import Name

Metric = Literal[
    "ttft_ms", "tpot_ms", "itl_ms", "e2e_ms", "output_tokens_per_s", "goodput_per_s", "failed_share"
]
Positive = Annotated[float, Field(gt=0)]
Paths = dict[str, JsonValue]
_MORE_IS_BETTER = ("output_tokens_per_s", "goodput_per_s")
_TOTALS = (*_MORE_IS_BETTER, "failed_share")


class Objective(RecipePart):
    """One limit that a build must keep by itself (a service level)."""

    workload: Name
    """Name of the workload."""
    metric: Metric
    """Which metric."""
    statistic: Literal["mean", "p50", "p90", "p95", "p99", "total"]
    """Which statistic; total for throughput, goodput and the share of failures."""
    at_most: Positive | None = None
    """Largest value that keeps it; failed_share is a share of 1."""
    at_least: Positive | None = None
    """Smallest value that keeps it."""

    @model_validator(mode="after")
    def _fits(self) -> Self:
        side, other = ("at_least", "at_most")
        if self.metric not in _MORE_IS_BETTER:
            side, other = other, side
        if getattr(self, side) is None or getattr(self, other) is not None:
            msg = f"{self.metric} is limited by {side}, and by nothing else"
            raise ValueError(msg)
        if (self.statistic == "total") != (self.metric in _TOTALS):
            right = "total" if self.metric in _TOTALS else "mean or a percentile"
            msg = f"the statistic of {self.metric} is {right}, not {self.statistic}"
            raise ValueError(msg)
        return self


class Search(RecipePart):
    """Find the highest load that keeps every objective of one workload (`gauntlet bench search`).

    By bisection between ``low`` and ``high`` until they lie within ``tolerance``. A probe decides
    only where its confidence interval is clear of the limit; else the answer is "unresolved".
    """

    parameter: Literal["rate", "concurrency"]
    """What is searched: requests a second (open loop) or streams (closed loop)."""
    workload: Name | None = None
    """Which workload; may be left out where there is one."""
    low: Positive
    """A value that should keep the objectives."""
    high: Positive
    """A value that should not."""
    tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    """Width of the answer as a share of it."""
    probe_s: Positive | None = None
    """Length of one probe in seconds."""
    probe_requests: Annotated[int, Field(ge=1)] | None = None
    """Length of one probe in requests."""
    confidence: Annotated[float, Field(gt=0.5, lt=1)] = 0.95
    """Confidence of the interval that decides a probe."""

    @model_validator(mode="after")
    def _bounds(self) -> Self:
        if self.low >= self.high:
            msg = f"low ({self.low:g}) must be less than high ({self.high:g})"
            raise ValueError(msg)
        if (self.probe_s is None) == (self.probe_requests is None):
            msg = "give the length of a probe: probe_s or probe_requests"
            raise ValueError(msg)
        whole = self.low.is_integer() and self.high.is_integer()
        if self.parameter == "concurrency" and not whole:
            msg = f"concurrency is a whole number, got low {self.low:g} and high {self.high:g}"
            raise ValueError(msg)
        return self


class Soak(RecipePart):
    """Run one workload for hours at part of its rate and watch what grows.

    Growth is judged by time and by requests, so that an idle hour hides nothing.
    """

    workload: Name | None = None
    """Which workload; may be left out where there is one."""
    duration_s: Positive
    """How long."""
    rate_share: Annotated[float, Field(gt=0, le=1)] = 0.7
    """Share of the workload's rate, which is then what the engine sustains at most."""
    sample_s: Positive = 10.0
    """Seconds between two samples of memory, file descriptors and GPU memory."""
    settle_s: Annotated[float, Field(ge=0)] | None = None
    """Seconds at the start that do not count; absent: a tenth of the duration, an hour at most."""
    rss_mb_per_h_at_most: Positive | None = None
    """Largest growth of resident memory an hour."""
    rss_mb_per_1k_requests_at_most: Positive | None = None
    """Largest growth of resident memory over 1,000 requests."""

    @property
    def settled_after_s(self) -> float:
        """Seconds at the start that do not count."""
        return min(self.duration_s / 10, 3600.0) if self.settle_s is None else self.settle_s

    @model_validator(mode="after")
    def _long_enough(self) -> Self:
        if self.settled_after_s + 2 * self.sample_s > self.duration_s:
            msg = f"duration_s {self.duration_s:g} leaves no two samples after settling"
            raise ValueError(msg)
        if self.rss_mb_per_h_at_most is None and self.rss_mb_per_1k_requests_at_most is None:
            msg = "give a limit: rss_mb_per_h_at_most or rss_mb_per_1k_requests_at_most"
            raise ValueError(msg)
        return self


class Comparison(RecipePart):
    """Two sides on one host in A B B A blocks, each said by what it changes in the recipe."""

    baseline: Paths = Field(default_factory=dict)
    """Path to value for the side that is known."""
    candidate: Paths = Field(default_factory=dict)
    """Path to value for the side that is judged."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        if self.baseline == self.candidate:
            msg = "baseline and candidate are the same: give at least one path and value"
            raise ValueError(msg)
        return self
