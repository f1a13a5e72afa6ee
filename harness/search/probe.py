"""Whether one probe keeps its limits: intervals that allow for the correlation of neighbours.

Requests that follow each other share a queue, so their latencies are not independent. Intervals
come from a moving-block bootstrap (Künsch 1989, doi:10.1214/aos/1176347265); a server that falls
behind shows as a slope of the means of ten stretches, tested with Student's t.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
from scipy import stats

from gauntlet.harness.load.metrics import Goodput
from gauntlet.harness.load.results import Outcome
from gauntlet.harness.search.bisection import ProbeVerdict

Values = npt.NDArray[np.float64]
_RESAMPLES = 600
# Drawn at once at most, so that gaps between a million tokens still fit in memory.
_MOST_VALUES = 4_000_000
_STRETCHES = 10
_SLOPE_LEVEL = 0.01
# Growth over a probe that is worth the name, as a share of the mean.
_MOST_GROWTH = 0.25
# A server that refuses work is not one that bears the load.
MOST_FAILED_SHARE = 0.01
LEAST_REQUESTS = 30
_BIN_S = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """One limit: ``at_most`` or at least ``value`` for a statistic of a metric."""

    metric: str
    statistic: str
    value: float
    side: Literal["at_most", "at_least"]

    def __str__(self) -> str:
        sign = "<=" if self.side == "at_most" else ">="
        return f"{self.metric} {self.statistic} {sign} {self.value:g}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A statistic with its interval."""

    limit: Limit
    value: float
    low: float
    high: float
    verdict: ProbeVerdict

    def __str__(self) -> str:
        return f"{self.limit}: {self.value:.4g} [{self.low:.4g}, {self.high:.4g}], {self.verdict}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeResult:
    """What one probe came to."""

    verdict: ProbeVerdict
    reasons: tuple[str, ...]
    estimates: tuple[Estimate, ...]


def judge_probe(
    judged: Sequence[Outcome],
    limits: Sequence[Limit],
    *,
    confidence: float,
    seed: int,
    goodput: Goodput | None = None,
    closed: bool = False,
) -> ProbeResult:
    """Judge one probe by its requests in the order in which they were sent.

    ``closed``: streams cannot fall behind, so only limits decide. Deterministic in ``seed``.
    """
    sent = sorted(
        (o for o in judged if not o.detail.never_sent), key=lambda outcome: outcome.result.sent_ms
    )
    good = [outcome for outcome in sent if outcome.result.status == "ok"]
    failed = len(judged) - len(good)
    if failed > MOST_FAILED_SHARE * len(judged):
        reason = f"{failed} of {len(judged)} requests failed"
        return ProbeResult(verdict="misses", reasons=(reason,), estimates=())
    if len(good) < LEAST_REQUESTS:
        reason = f"{len(good)} requests are too few to judge; {LEAST_REQUESTS} at least"
        return ProbeResult(verdict="unclear", reasons=(reason,), estimates=())
    behind = () if closed else over_saturated(good)
    rng = np.random.default_rng(seed)
    estimates = tuple(_estimate(good, limit, confidence, rng, goodput) for limit in limits)
    reasons = (*behind, *(str(estimate) for estimate in estimates))
    verdicts = {estimate.verdict for estimate in estimates}
    if behind or "misses" in verdicts:
        return ProbeResult(verdict="misses", reasons=reasons, estimates=estimates)
    verdict: ProbeVerdict = "unclear" if "unclear" in verdicts else "keeps"
    return ProbeResult(verdict=verdict, reasons=reasons, estimates=estimates)


def over_saturated(good: Sequence[Outcome]) -> tuple[str, ...]:
    """Say whether the server falls behind: TTFT or the number in flight keeps growing."""
    times = np.asarray([o.result.sent_ms / 1e3 for o in good])
    ends = np.sort([float(o.detail.stamps_ms[-1]) / 1e3 for o in good])
    in_flight = np.arange(1, times.size + 1) - np.searchsorted(ends, times, side="right")
    ttft = np.asarray([o.result.ttft_ms for o in good], dtype=float)
    found = []
    for name, values in (("TTFT", ttft), ("the number in flight", in_flight.astype(float))):
        growth, p_value = _growth(times, values)
        if p_value < _SLOPE_LEVEL and growth > _MOST_GROWTH:
            found.append(
                f"over-saturated: {name} grows by {growth:.0%} of its mean (p = {p_value:.2g})"
            )
    return tuple(found)


def _growth(times: Values, values: Values) -> tuple[float, float]:
    """Growth over the probe as a share of the mean, and the one-sided p of its slope.

    The first stretch is left out: a server that was empty fills in it whatever the rate.
    """
    stretches = np.array_split(np.arange(times.size), _STRETCHES)[1:]
    at = np.asarray([times[part].mean() for part in stretches])
    means = np.asarray([values[part].mean() for part in stretches])
    if np.ptp(at) == 0 or np.ptp(means) == 0:
        return 0.0, 1.0
    line = stats.linregress(at, means, alternative="greater")
    return float(line.slope * np.ptp(at) / means.mean()), float(line.pvalue)


def _estimate(
    good: Sequence[Outcome],
    limit: Limit,
    confidence: float,
    rng: np.random.Generator,
    goodput: Goodput | None,
) -> Estimate:
    values, statistic = _observations(good, limit, goodput)
    value = float(statistic(values[np.newaxis, :])[0])
    samples = _resampled(values, statistic, rng)
    tail = 100 * (1 - confidence) / 2
    low, high = (float(each) for each in np.percentile(samples, [tail, 100 - tail]))
    below, above = high <= limit.value, low > limit.value
    if limit.side == "at_least":
        below, above = low >= limit.value, high < limit.value
    verdict: ProbeVerdict = "keeps" if below else "misses" if above else "unclear"
    return Estimate(limit=limit, value=value, low=low, high=high, verdict=verdict)


def _observations(
    good: Sequence[Outcome], limit: Limit, goodput: Goodput | None
) -> tuple[Values, Callable[[Values], Values]]:
    """Observations in time order and the statistic over their last axis.

    Rates are means over bins of a second. Raises ValueError for a metric that is neither.
    """
    if limit.metric in {"ttft_ms", "tpot_ms", "e2e_ms"}:
        kept = [getattr(o.result, limit.metric) for o in good]
        values = np.asarray([each for each in kept if each is not None], dtype=float)
        return values, _statistic(limit.statistic)
    if limit.metric == "itl_ms":
        gaps = [np.diff(o.detail.stamps_ms) for o in good if o.detail.stamps_ms.size > 1]
        return np.concatenate(gaps), _statistic(limit.statistic)
    if limit.metric == "output_tokens_per_s":
        stamps = np.concatenate([o.detail.stamps_ms for o in good]) / 1e3
        weights = np.concatenate([_weights(o) for o in good])
        return _binned(stamps, weights), _statistic("mean")
    if limit.metric == "goodput_per_s" and goodput is not None:
        at = np.asarray([o.result.sent_ms / 1e3 for o in good])
        kept_flags = np.asarray([float(goodput.keeps(o.result)) for o in good])
        return _binned(at, kept_flags), _statistic("mean")
    msg = f"a probe cannot be judged by {limit.metric}"
    raise ValueError(msg)


def _weights(outcome: Outcome) -> Values:
    if outcome.detail.tokens is not None:
        return outcome.detail.tokens
    events = outcome.detail.stamps_ms.size
    return np.full(events, (outcome.result.output_tokens or 0) / events)


def _binned(at_s: Values, weights: Values) -> Values:
    """Sums per whole second between the first and the last event; the ragged ends are left out."""
    bins = max(1, int((at_s.max() - at_s.min()) / _BIN_S))
    edges = at_s.min() + np.arange(bins + 1) * _BIN_S
    counts, _ = np.histogram(at_s, bins=edges, weights=weights)
    inner = counts[1:-1] if counts.size > 4 else counts
    return np.asarray(inner / _BIN_S, dtype=float)


def _statistic(name: str) -> Callable[[Values], Values]:
    if name in {"mean", "total"}:
        return lambda values: values.mean(axis=-1)
    quantile = float(name.removeprefix("p"))
    return lambda values: np.asarray(np.percentile(values, quantile, axis=-1), dtype=float)


def _resampled(
    values: Values, statistic: Callable[[Values], Values], rng: np.random.Generator
) -> Values:
    """The statistic of moving-block resamples; a block is about the root of the sample long."""
    size = values.size
    length = max(1, round(size**0.5))
    blocks = -(-size // length)
    at_once = max(1, _MOST_VALUES // size)
    found = []
    for done in range(0, _RESAMPLES, at_once):
        count = min(at_once, _RESAMPLES - done)
        starts = rng.integers(0, size - length + 1, (count, blocks))
        indices = (starts[:, :, np.newaxis] + np.arange(length)).reshape(count, -1)
        found.append(statistic(values[indices[:, :size]]))
    return np.concatenate(found)
