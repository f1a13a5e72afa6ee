"""Metrics of one repetition from the results of its requests.

``output_tokens_per_s``: tokens of successful requests over the time from the first write to the
last token of any of them. Quantiles interpolate linearly between order statistics. A metric
without observations has the value None.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from gauntlet.harness.load.client import LoadLog
from gauntlet.harness.load.results import RequestResult

_STATISTICS = (("mean", None), ("p50", 50), ("p90", 90), ("p99", 99))


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number; ``n`` is the count of observations behind it."""

    name: str
    statistic: str
    value: float | None
    unit: str
    direction: Literal["lower", "higher"]
    n: int


def load_metrics(results: Sequence[RequestResult], log: LoadLog) -> list[Metric]:
    """Compute every metric of one load repetition."""
    good = [result for result in results if result.status == "ok"]
    metrics = []
    for name in ("ttft_ms", "tpot_ms", "e2e_ms"):
        values = [value for result in good if (value := getattr(result, name)) is not None]
        metrics += _distribution(name, values, "ms")
    metrics.append(_throughput(good))
    metrics.append(_share("failed_share", len(results) - len(good), len(results), "lower"))
    known = [r for r in good if r.cached_tokens is not None and r.prompt_tokens]
    cached = sum(result.cached_tokens or 0 for result in known)
    prompts = sum(result.prompt_tokens or 0 for result in known)
    metrics.append(_share("prefix_cache_hit_share", cached, prompts, "higher"))
    metrics += _distribution("client_lag_ms", [lag * 1e3 for lag in log.lag_s], "ms")
    return metrics


def _distribution(name: str, values: Sequence[float], unit: str) -> list[Metric]:
    array = np.asarray(values, dtype=float)
    return [
        Metric(
            name=name,
            statistic=statistic,
            value=_statistic(array, quantile) if array.size else None,
            unit=unit,
            direction="lower",
            n=int(array.size),
        )
        for statistic, quantile in _STATISTICS
    ]


def _statistic(
    values: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]", quantile: int | None
) -> float:
    return float(values.mean()) if quantile is None else float(np.percentile(values, quantile))


def _throughput(good: Sequence[RequestResult]) -> Metric:
    tokens = sum(result.output_tokens or 0 for result in good)
    ends = [result.sent_ms + result.e2e_ms for result in good if result.e2e_ms is not None]
    span_ms = max(ends) - min(result.sent_ms for result in good) if ends else 0.0
    return Metric(
        name="output_tokens_per_s",
        statistic="total",
        value=tokens / span_ms * 1e3 if span_ms > 0 else None,
        unit="tokens/s",
        direction="higher",
        n=len(good),
    )


def _share(name: str, part: int, whole: int, direction: Literal["lower", "higher"]) -> Metric:
    value = part / whole if whole else None
    return Metric(
        name=name, statistic="total", value=value, unit="share", direction=direction, n=whole
    )
