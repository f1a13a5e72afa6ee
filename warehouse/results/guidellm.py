"""GuideLLM's report: a list of benchmarks, of which one is read; times in ms or epoch seconds.

Its ``inter_token_latency_ms`` is (last - first) / (tokens - 1) of a request, weighted by tokens:
what others call TPOT. Its ``time_per_output_token_ms`` includes the wait for the first token and
has no name of ours. Gaps between chunks are not kept.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from gauntlet.warehouse.results.bench_report import BenchReport, Reader, Value

# Theirs -> ours, and what one of theirs is in ours.
_LATENCIES = {
    "time_to_first_token_ms": ("ttft_ms", 1.0),
    "inter_token_latency_ms": ("tpot_ms", 1.0),
    "request_latency": ("e2e_ms", 1e3),
}
_RATES = {
    "requests_per_second": "requests_per_s",
    "prompt_tokens_per_second": "input_tokens_per_s",
    "output_tokens_per_second": "output_tokens_per_s",
    "tokens_per_second": "total_tokens_per_s",
}
_STATISTICS = {"mean": "mean", "median": "p50", "std_dev": "std", "min": "min", "max": "max"}
_PERCENTILES = ("p01", "p05", "p10", "p25", "p75", "p90", "p95", "p99")


def is_guidellm(data: Mapping[str, Any]) -> bool:
    """Whether a JSON object is GuideLLM's."""
    return isinstance(data.get("benchmarks"), list) and "metadata" in data


def read_guidellm(data: Mapping[str, Any]) -> BenchReport:
    """Read the only benchmark of a report; with another number of them a problem is noted."""
    found = data["benchmarks"]
    problems = [] if len(found) == 1 else [f"benchmarks: {len(found)}, one is read at a time"]
    first = _object(found[0] if found else None)
    metrics = _object(first.get("metrics"))
    totals = Reader(_object(metrics.get("request_totals")))
    config = _object(first.get("config"))
    values = tuple(_values(metrics, problems))
    began = Reader(first).number("start_time")
    return BenchReport(
        client="guidellm",
        client_version=str(_object(data.get("metadata")).get("guidellm_version") or ""),
        model=str(_object(config.get("backend")).get("model") or ""),
        started_at=None if began is None else datetime.fromtimestamp(began, tz=UTC),
        duration_s=Reader(first).number("duration"),
        asked=_asked(config),
        completed=totals.count("successful") or 0,
        # A request that was still open when the run ended is no success either.
        failed=(totals.count("errored") or 0) + (totals.count("incomplete") or 0),
        input_tokens=_sum(metrics, "prompt_token_count"),
        output_tokens=_sum(metrics, "output_token_count"),
        concurrency=Reader(_object(config.get("strategy"))).count("streams"),
        values=values,
        requests=(),
        settings={
            f"strategy.{key}": str(value)
            for key, value in _object(config.get("strategy")).items()
            if isinstance(value, str | int | float)
        },
        problems=(*problems, *totals.problems),
    )


def _object(found: object) -> Mapping[str, Any]:
    return found if isinstance(found, dict) else {}


def _asked(config: Mapping[str, Any]) -> int | None:
    limit = _object(_object(config.get("constraints")).get("max_requests"))
    return Reader(_object(limit.get("args"))).count("count")


def _sum(metrics: Mapping[str, Any], name: str) -> float | None:
    block = _object(_object(metrics.get(name)).get("successful"))
    return Reader(block).number("total_sum") if block.get("count") else None


def _values(metrics: Mapping[str, Any], problems: list[str]) -> Iterator[Value]:
    for name, (metric, scale) in _LATENCIES.items():
        block = _object(_object(metrics.get(name)).get("successful"))
        # Without observations every statistic is written as 0.
        if not block.get("count"):
            continue
        reader = Reader({**block, **_object(block.get("percentiles"))})
        wanted = {**_STATISTICS, **{each: each for each in _PERCENTILES}}
        for key, statistic in wanted.items():
            value = reader.number(key)
            if value is not None:
                field = f"{name}.successful.{key}"
                yield _value(field, metric, statistic.replace("p0", "p"), value * scale)
        problems.extend(f"{name}.{problem}" for problem in reader.problems)
    for name, metric in _RATES.items():
        reader = Reader(_object(_object(metrics.get(name)).get("successful")))
        value = reader.number("mean")
        if value is not None:
            yield _value(f"{name}.successful.mean", metric, "mean", value)
        problems.extend(f"{name}.{problem}" for problem in reader.problems)


def _value(field: str, metric: str, statistic: str, value: float) -> Value:
    return Value(field=field, metric=metric, statistic=statistic, window="full", value=value)
