"""AIPerf's profile export: a block with its unit for each metric."""

from collections.abc import Mapping
from datetime import tzinfo
from typing import Any

from gauntlet.warehouse.results.bench_report import BenchReport, Reader, Value

_METRICS = {
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "tpot_ms",
    "inter_chunk_latency": "itl_ms",
    "request_latency": "e2e_ms",
    "request_throughput": "requests_per_s",
    "goodput": "goodput_requests_per_s",
    "output_token_throughput": "output_tokens_per_s",
    "total_token_throughput": "total_tokens_per_s",
}
# What one of theirs is in ours.
_UNITS = {
    "ms": 1.0, "s": 1e3, "sec": 1e3, "us": 1e-3, "ns": 1e-6, "requests/sec": 1.0, "requests/s": 1.0,
    "tokens/sec": 1.0, "tokens/s": 1.0,
}  # fmt: skip


def is_aiperf(data: Mapping[str, Any]) -> bool:
    """Whether a JSON object is AIPerf's. Without a single success it writes none at all."""
    return isinstance(data.get("request_latency"), dict)


def read_aiperf(data: Mapping[str, Any], zone: tzinfo) -> BenchReport:
    """AIPerf: its inter_token_latency is (E2E - TTFT) / (tokens - 1), which others call TPOT."""
    reader = Reader(data)
    values: list[Value] = []
    for name, metric in _METRICS.items():
        block = data.get(name)
        if not isinstance(block, dict):
            continue
        scale = _UNITS.get(str(block.get("unit")))
        if scale is None:
            reader.problems.append(
                f"{name}.unit: {block.get('unit')!r} is none of {', '.join(_UNITS)}"
            )
            continue
        inner = Reader(block)
        for key in block:
            if key not in {"avg", "min", "max", "std"} and not key.removeprefix("p").isdigit():
                continue
            value = inner.number(key)
            if value is not None:
                statistic = "mean" if key == "avg" else key
                values.append(
                    Value(
                        field=f"{name}.{key}",
                        metric=metric,
                        statistic=statistic,
                        window="full",
                        value=value * scale,
                    )
                )
        reader.problems.extend(f"{name}.{problem}" for problem in inner.problems)

    def average(name: str) -> float | None:
        block = data.get(name)
        return Reader(block).number("avg") if isinstance(block, dict) else None

    completed, failed = average("request_count") or 0, average("error_request_count") or 0
    config = data.get("input_config")
    settings = _flat(config) if isinstance(config, dict) else {}
    started = reader.instant("start_time", zone)
    ended = reader.instant("end_time", zone)
    observed = (ended - started).total_seconds() if started and ended else None
    rate = average("request_throughput")
    duration = _duration(
        average("benchmark_duration"), observed, completed / rate if rate else None
    )
    return BenchReport(
        client="aiperf",
        client_version=str(data.get("aiperf_version") or data.get("version") or ""),
        model=settings.get("endpoint.model_names") or settings.get("models.items.name", ""),
        started_at=started,
        duration_s=duration,
        asked=_whole(settings.get("loadgen.request_count") or settings.get("phases.requests")),
        completed=int(completed),
        failed=int(failed),
        input_tokens=average("total_isl") or average("total_input_tokens"),
        output_tokens=average("total_output_tokens") or average("total_osl"),
        concurrency=_whole(
            settings.get("loadgen.concurrency") or settings.get("phases.concurrency")
        ),
        values=tuple(values),
        requests=(),
        settings=settings,
        problems=tuple(reader.problems),
    )


def _duration(
    first_to_last: float | None, observed: float | None, implied: float | None
) -> float | None:
    """The seconds that the rates were taken over, which ``implied`` tells.

    Since 0.13 that is the observation, from ``start_time`` to ``end_time``: in an open loop it
    begins one gap before the first request, where ``benchmark_duration`` begins.
    """
    if first_to_last is None or observed is None or implied is None:
        return first_to_last
    return min(first_to_last, observed, key=lambda each: abs(each - implied))


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as dotted names; the only entry of a list (a model, a phase) is itself."""
    found: dict[str, str] = {}
    for key, value in config.items():
        one = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(one, dict):
            found |= _flat(one, f"{prefix}{key}.")
        elif one is not None and not any(w in key.lower() for w in ("key", "token_", "secret")):
            found[f"{prefix}{key}"] = str(one)
    return found


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None
