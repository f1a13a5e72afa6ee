"""Growth during a soak: pure functions of one point a segment.

A soak is cut into segments, each a repetition of its own, so that days of load need no more memory
than minutes, and a soak that was broken off goes on. Slopes are Theil and Sen's, which a few
outliers do not move, with their confidence interval (Sen 1968, doi:10.2307/2285891).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from gauntlet.perf_eval.goals import Soak
from gauntlet.perf_eval.workloads import Workload

_LONGEST_SEGMENT_S = 600.0
_SEGMENTS = 12
_SHORTEST_SEGMENT_S = 2.0
# Fewer points than these have no slope to speak of.
LEAST_POINTS = 5
_CONFIDENCE = 0.95
_S_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentPoint:
    """One segment: when it ended (s from the start), resident memory (MB), requests until then."""

    at_s: float
    rss_mb: float
    requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Slope:
    """A slope with its interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Growth:
    """Growth of resident memory by time and by requests; None where there are too few points."""

    per_hour_mb: Slope | None
    per_1k_requests_mb: Slope | None
    points: int
    reasons: tuple[str, ...]

    @property
    def grows(self) -> bool:
        """Whether every limit that was given is surely exceeded."""
        return bool(self.reasons)


def segments_of(workload: Workload, soak: Soak) -> list[Workload]:
    """The workload of each segment: at its share of the rate, as long as the segment."""
    count = max(_SEGMENTS, round(soak.duration_s / _LONGEST_SEGMENT_S))
    count = max(1, min(count, int(soak.duration_s / _SHORTEST_SEGMENT_S)))
    rate = getattr(workload.arrivals, "rate") * soak.rate_share  # noqa: B009 - kinds with a rate
    requests = max(1, round(rate * soak.duration_s / count))
    arrivals = workload.arrivals.model_copy(update={"rate": rate})
    segment = workload.model_copy(update={"arrivals": arrivals, "requests": requests})
    later = segment.model_copy(update={"warmup_requests": 0})
    return [segment, *([later] * (count - 1))]


def growth_of(points: Sequence[SegmentPoint], soak: Soak) -> Growth:
    """Judge growth; what comes before the soak has settled does not count.

    It grows where the lower end of each slope that has a limit lies above it: by time and by
    requests, so that neither an idle hour nor a busy one decides alone.
    """
    settled = [point for point in points if point.at_s >= soak.settled_after_s]
    if len(settled) < LEAST_POINTS:
        return Growth(per_hour_mb=None, per_1k_requests_mb=None, points=len(settled), reasons=())
    memory = [point.rss_mb for point in settled]
    by_time = _slope([point.at_s / _S_PER_HOUR for point in settled], memory)
    by_requests = _slope([point.requests / 1000 for point in settled], memory)
    checks = (
        ("MB/h", by_time, soak.rss_mb_per_h_at_most),
        ("MB per 1,000 requests", by_requests, soak.rss_mb_per_1k_requests_at_most),
    )
    limited = [(unit, slope, limit) for unit, slope, limit in checks if limit is not None]
    over = [
        f"memory grows by {slope.value:.3g} {unit} [{slope.low:.3g}, {slope.high:.3g}], "
        f"at most {limit:g} allowed"
        for unit, slope, limit in limited
        if slope.low > limit
    ]
    return Growth(
        per_hour_mb=by_time,
        per_1k_requests_mb=by_requests,
        points=len(settled),
        reasons=tuple(over) if len(over) == len(limited) else (),
    )


def _slope(x: Sequence[float], y: Sequence[float]) -> Slope:
    if np.ptp(x) == 0:
        return Slope(value=0.0, low=0.0, high=0.0)
    found = stats.theilslopes(y, x, alpha=_CONFIDENCE)
    return Slope(value=float(found.slope), low=float(found.low_slope), high=float(found.high_slope))
