"""Metrics of one repetition: a pure function of its outcomes.

Each is defined, with its formula, in docs/reference/metrics.md. Quantiles interpolate linearly
between order statistics. A metric without observations has the value None. Two windows: ``full``,
everything; ``steady``, without ramp-up and drain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from gauntlet.harness.load.event_reader import LoadLog
from gauntlet.harness.load.results import Outcome, RequestResult, outcomes

Window = Literal["full", "steady"]
Direction = Literal["lower", "higher"]
Values = npt.NDArray[np.float64]
_STATISTICS = (("mean", None), ("p50", 50), ("p90", 90), ("p95", 95), ("p99", 99))
# In flight at least this share of the most that were: steady.
_STEADY_SHARE = 0.95
# A quantile of fewer requests is that of the transients.
LEAST_STEADY_REQUESTS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number; ``n`` is the count of observations behind it."""

    name: str
    statistic: str
    value: float | None
    unit: str
    direction: Direction
    n: int
    window: Window = "full"


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Limits in ms that a request has to keep to count as good; None: no limit.

    A request without the figure (TPOT of a single token) keeps the limit.
    """

    ttft_ms: float | None = None
    tpot_ms: float | None = None
    e2e_ms: float | None = None

    def keeps(self, result: RequestResult) -> bool:
        """Whether a successful request kept every limit."""
        return all(
            limit is None or value is None or value <= limit
            for limit, value in (
                (self.ttft_ms, result.ttft_ms),
                (self.tpot_ms, result.tpot_ms),
                (self.e2e_ms, result.e2e_ms),
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """A stretch of a load in ms from its start."""

    start_ms: float
    end_ms: float

    @property
    def seconds(self) -> float:
        """Its length."""
        return (self.end_ms - self.start_ms) / 1e3

    def holds(self, at_ms: float) -> bool:
        """Whether an instant lies in it."""
        return self.start_ms <= at_ms <= self.end_ms


def load_metrics(
    log: LoadLog, judged: Sequence[Outcome] | None = None, *, goodput: Goodput | None = None
) -> list[Metric]:
    """Compute every metric of one load repetition, over both windows."""
    all_outcomes = outcomes(log) if judged is None else judged
    metrics = window_metrics(all_outcomes, full_span(all_outcomes), "full", goodput)
    steady = steady_span(all_outcomes, log)
    if steady is not None:
        metrics += window_metrics(all_outcomes, steady, "steady", goodput)
    return metrics + _client_metrics(all_outcomes, log)


def full_span(judged: Sequence[Outcome]) -> Span | None:
    """From the first write to the last token of any successful request."""
    good = _good(judged)
    if not good:
        return None
    return Span(
        start_ms=min(outcome.result.sent_ms for outcome in good),
        end_ms=max(float(outcome.detail.stamps_ms[-1]) for outcome in good),
    )


def steady_span(judged: Sequence[Outcome], log: LoadLog) -> Span | None:
    """The stretch without ramp-up and drain, None where there is none to speak of.

    Closed loop: from the first moment with 95 % of the streams in flight to the last one before
    the streams run dry. Open loop: from the first completion to the last arrival, since before it
    the server was emptier, and after it becomes emptier, than the rate makes it.
    """
    good = _good(judged)
    if len(good) < LEAST_STEADY_REQUESTS:
        return None
    sent = np.asarray([outcome.result.sent_ms for outcome in good])
    ends = np.asarray([float(outcome.detail.stamps_ms[-1]) for outcome in good])
    if log.schedule.due_s is None:
        wanted = int(np.ceil(_STEADY_SHARE * log.schedule.streams))
        span = _crossings(sent, ends, wanted)
    else:
        span = Span(start_ms=float(ends.min()), end_ms=float(sent.max()))
    if span is None or span.end_ms <= span.start_ms:
        return None
    inside = sum(span.holds(float(at)) for at in sent)
    return span if inside >= LEAST_STEADY_REQUESTS else None


def _crossings(sent: Values, ends: Values, wanted: int) -> Span | None:
    times = np.concatenate([sent, ends])
    steps = np.concatenate([np.ones(sent.size), -np.ones(ends.size)])
    # At one instant a request that ends makes room for the one that starts.
    order = np.lexsort((steps, times))
    in_flight = np.cumsum(steps[order])
    above = np.flatnonzero(in_flight >= wanted)
    if not above.size:
        return None
    last = min(above[-1] + 1, times.size - 1)
    return Span(start_ms=float(times[order][above[0]]), end_ms=float(times[order][last]))


def window_metrics(
    judged: Sequence[Outcome], span: Span | None, window: Window, goodput: Goodput | None = None
) -> list[Metric]:
    """Metrics over one window.

    Latencies are those of requests sent in it; tokens count where they arrive, whichever request
    they belong to.
    """
    good = [o for o in _good(judged) if span is None or span.holds(o.result.sent_ms)]
    metrics: list[Metric] = []
    for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
        values = [value for o in good if (value := getattr(o.result, name)) is not None]
        metrics += _distribution(name, values, window)
    metrics += _distribution("first_visible_ms", _visible(good), window)
    metrics += _distribution("itl_chunk_ms", _chunk_gaps(good), window)
    metrics += _distribution("itl_ms", _token_gaps(good), window)
    metrics += _throughput(judged, span, window)
    if goodput is not None:
        kept = sum(goodput.keeps(o.result) for o in good)
        seconds = span.seconds if span else 0.0
        metrics.append(_rate("goodput_per_s", kept, seconds, "requests/s", len(good), window))
        sent = [o for o in judged if span is None or span.holds(o.result.sent_ms)]
        metrics.append(_share("goodput_share", kept, len(sent), "higher", window))
    if window == "full":
        metrics.append(_share("failed_share", len(judged) - len(good), len(judged), "lower"))
        metrics.append(_hit_share(good))
    return metrics


def _good(judged: Sequence[Outcome]) -> list[Outcome]:
    return [outcome for outcome in judged if outcome.result.status == "ok"]


def _visible(good: Sequence[Outcome]) -> list[float]:
    return [o.detail.first_visible_ms for o in good if o.detail.first_visible_ms is not None]


def _chunk_gaps(good: Sequence[Outcome]) -> Values:
    """Pooled gaps between events with tokens, however many tokens each brought."""
    gaps = [np.diff(o.detail.stamps_ms) for o in good if o.detail.stamps_ms.size > 1]
    return np.concatenate(gaps) if gaps else np.empty(0)


def _token_gaps(good: Sequence[Outcome]) -> Values:
    """Pooled gaps per token: the gap before an event is shared by its tokens.

    Requests whose tokens per event are unknown are left out.
    """
    shares = []
    for outcome in good:
        stamps, tokens = outcome.detail.stamps_ms, outcome.detail.tokens
        if tokens is None or stamps.size < 2:
            continue
        later = tokens[1:]
        some = later > 0
        shares.append(np.repeat(np.diff(stamps)[some] / later[some], later[some].astype(int)))
    return np.concatenate(shares) if shares else np.empty(0)


def _throughput(judged: Sequence[Outcome], span: Span | None, window: Window) -> list[Metric]:
    good = _good(judged)
    seconds = span.seconds if span else 0.0
    output = sum(_tokens_inside(outcome, span) for outcome in good)
    started = [o for o in good if span is not None and span.holds(o.result.sent_ms)]
    ended = [o for o in good if span is not None and span.holds(float(o.detail.stamps_ms[-1]))]
    prompt = sum(o.result.prompt_tokens or 0 for o in started)
    return [
        _rate("output_tokens_per_s", output, seconds, "tokens/s", len(good), window),
        _rate("input_tokens_per_s", prompt, seconds, "tokens/s", len(started), window),
        _rate("total_tokens_per_s", prompt + output, seconds, "tokens/s", len(good), window),
        _rate("requests_per_s", len(ended), seconds, "requests/s", len(ended), window),
    ]


def _tokens_inside(outcome: Outcome, span: Span | None) -> float:
    """Output tokens that arrived in the window; unknown weights are spread evenly over events."""
    stamps, total = outcome.detail.stamps_ms, outcome.result.output_tokens or 0
    if span is None or not stamps.size:
        return 0.0
    inside = (stamps >= span.start_ms) & (stamps <= span.end_ms)
    if inside.all():
        return float(total)
    if outcome.detail.tokens is not None:
        return float(outcome.detail.tokens[inside].sum())
    return total * float(inside.mean())


def _hit_share(good: Sequence[Outcome]) -> Metric:
    known = [o.result for o in good if o.result.cached_tokens is not None]
    known = [result for result in known if result.prompt_tokens]
    cached = sum(result.cached_tokens or 0 for result in known)
    return _share(
        "prefix_cache_hit_share", cached, sum(r.prompt_tokens or 0 for r in known), "higher"
    )


def _client_metrics(judged: Sequence[Outcome], log: LoadLog) -> list[Metric]:
    """How the client itself did: what would otherwise be taken for the server's doing."""
    late = [
        max(0.0, o.result.sent_ms - o.result.scheduled_ms)
        for o in judged
        if o.result.scheduled_ms is not None and not o.detail.never_sent
    ]
    good = _good(judged)
    events = sum(o.detail.stamps_ms.size for o in good)
    cpu_s = sum(summary.cpu_s for summary in log.summaries)
    peak = sum(summary.peak_rss_kib for summary in log.summaries) / 1024
    return [
        *_distribution("client_lag_ms", log.lag_s * 1e3, "full"),
        *_distribution("dispatch_lag_ms", late, "full"),
        _share("coalesced_share", sum(o.detail.coalesced for o in good), events, "lower"),
        _share("resent_share", sum(o.detail.resent for o in judged), len(judged), "lower"),
        Metric(
            name="client_cpu_us_per_event",
            statistic="mean",
            value=cpu_s * 1e6 / events if events else None,
            unit="us",
            direction="lower",
            n=events,
        ),
        Metric(
            name="client_rss_mib",
            statistic="max",
            value=peak,
            unit="MiB",
            direction="lower",
            n=len(log.summaries),
        ),
        Metric(
            name="in_flight",
            statistic="max",
            value=float(peak_in_flight(judged)) if good else None,
            unit="requests",
            direction="higher",
            n=len(good),
        ),
    ]


def peak_in_flight(judged: Sequence[Outcome]) -> int:
    """Most successful requests in flight at once, by the client's own log."""
    good = _good(judged)
    changes = [(o.result.sent_ms, 1) for o in good]
    changes += [(float(o.detail.stamps_ms[-1]), -1) for o in good]
    most = now = 0
    for _, step in sorted(changes):
        now += step
        most = max(most, now)
    return most


def _distribution(name: str, values: Sequence[float] | Values, window: Window) -> list[Metric]:
    array = np.asarray(values, dtype=float)
    return [
        Metric(
            name=name,
            statistic=statistic,
            value=_statistic(array, quantile) if array.size else None,
            unit="ms",
            direction="lower",
            n=int(array.size),
            window=window,
        )
        for statistic, quantile in _STATISTICS
    ]


def _statistic(values: Values, quantile: int | None) -> float:
    return float(values.mean()) if quantile is None else float(np.percentile(values, quantile))


def _rate(
    name: str, count: float, seconds: float, unit: str, observations: int, window: Window
) -> Metric:
    return Metric(
        name=name,
        statistic="total",
        value=count / seconds if seconds > 0 and observations else None,
        unit=unit,
        direction="higher",
        n=observations,
        window=window,
    )


def _share(
    name: str, part: int, whole: int, direction: Direction, window: Window = "full"
) -> Metric:
    return Metric(
        name=name,
        statistic="total",
        value=part / whole if whole else None,
        unit="share",
        direction=direction,
        n=whole,
        window=window,
    )
