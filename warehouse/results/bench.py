"""Load generators' result files as one plain report: what it says, in our names and units.

Known: ``vllm bench serve`` and ``vllm-rs bench serve`` (milliseconds), InferenceX (the same keys in
seconds), AIPerf (a block with its unit for each metric) and inference-perf (seconds). Which one it
is is told by its own keys, never by its name.
"""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from typing import Any

from gauntlet.warehouse.results.identity import UnreadableResultError
from gauntlet.warehouse.rows.measurement import Direction

# Ours: name -> unit, direction.
METRICS: dict[str, tuple[str, Direction]] = {
    "ttft_ms": ("ms", "lower"),
    "tpot_ms": ("ms", "lower"),
    "itl_ms": ("ms", "lower"),
    "e2e_ms": ("ms", "lower"),
    "requests_per_s": ("requests/s", "higher"),
    "goodput_requests_per_s": ("requests/s", "higher"),
    "input_tokens_per_s": ("tokens/s", "higher"),
    "output_tokens_per_s": ("tokens/s", "higher"),
    "total_tokens_per_s": ("tokens/s", "higher"),
}
_LATENCIES = {"ttft": "ttft_ms", "tpot": "tpot_ms", "itl": "itl_ms", "e2el": "e2e_ms"}
_RATES = {
    "request_throughput": "requests_per_s",
    "request_goodput": "goodput_requests_per_s",
    "input_throughput": "input_tokens_per_s",
    "output_throughput": "output_tokens_per_s",
    "total_token_throughput": "total_tokens_per_s",
}
_VLLM_SETTINGS = (
    "endpoint_type", "backend", "label", "tokenizer_id", "num_prompts", "request_rate",
    "burstiness", "max_concurrency", "max_model_len",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One number as the file gave it, in our unit; ``field`` is its key in the file."""

    field: str
    metric: str
    statistic: str
    window: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One request; times in ms, None where it failed before."""

    index: int
    error: str
    prompt_tokens: int | None
    output_tokens: int | None
    sent_ms: float
    ttft_ms: float | None
    itls_ms: Sequence[float]
    e2e_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A result file in plain words. ``problems`` are fields that could not be read at all."""

    client: str
    client_version: str
    model: str
    started_at: datetime | None
    duration_s: float | None
    asked: int | None
    completed: int
    failed: int
    input_tokens: float | None
    output_tokens: float | None
    concurrency: int | None
    values: tuple[Value, ...]
    requests: tuple[Observed, ...]
    settings: Mapping[str, str]
    problems: tuple[str, ...]


def read_bench(text: str, *, file: str, zone: tzinfo = UTC) -> BenchReport:
    """Read one result file; ``zone`` is that of the host, for formats that write local time.

    Raises UnreadableResultError where it is JSON of none of the known programs, or no JSON.
    """
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        msg = f"{file}:{error.lineno}: JSON: {error.msg}"
        raise UnreadableResultError(msg, hint="was the file cut off?") from error
    if isinstance(data, dict):
        if "duration" in data and "completed" in data:
            return _read_vllm(data, zone)
        if isinstance(data.get("request_latency"), dict):
            return _read_aiperf(data, zone)
        if "load_summary" in data and "successes" in data:
            return _read_inference_perf(data)
    msg = f"{file}: none of the known result formats"
    raise UnreadableResultError(
        msg, hint="known: vllm bench serve, vllm-rs bench serve, InferenceX, AIPerf, inference-perf"
    )


class _Reader:
    """Takes numbers out of a foreign object and notes what is no number."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.problems: list[str] = []

    def number(self, key: str) -> float | None:
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problems.append(f"{key}: {value!r} is no number")
            return None
        return float(value)

    def count(self, key: str) -> int | None:
        value = self.number(key)
        if value is None:
            return None
        if not math.isfinite(value) or value < 0 or value != int(value):
            self.problems.append(f"{key}: {value} is no count")
            return None
        return int(value)


def _read_vllm(data: Mapping[str, Any], zone: tzinfo) -> BenchReport:
    reader = _Reader(data)
    in_ms = any(key.endswith("_ms") for key in data)
    values = list(_vllm_values(reader, in_ms=in_ms, window="full"))
    steady = data.get("steady_state")
    if isinstance(steady, dict):
        inner = _Reader(steady)
        values.extend(_vllm_values(inner, in_ms=True, window="steady"))
        reader.problems.extend(f"steady_state.{problem}" for problem in inner.problems)
    completed = reader.count("completed") or 0
    asked = reader.count("num_prompts")
    failed = reader.count("failed")
    if failed is None:
        failed = max(0, (asked or completed) - completed)
    rust = "steady_state" in data or "input_throughput" in data
    return BenchReport(
        client=("vllm-rs-bench" if rust else "vllm-bench") if in_ms else "inferencex",
        client_version=str(data.get("client_version", "")),
        model=str(data.get("model_id", "")),
        started_at=_vllm_date(reader, zone),
        duration_s=reader.number("duration"),
        asked=asked,
        completed=completed,
        failed=failed,
        input_tokens=reader.number("total_input_tokens"),
        output_tokens=reader.number("total_output_tokens"),
        concurrency=reader.count("max_concurrency"),
        values=tuple(values),
        requests=tuple(_vllm_requests(data)),
        settings={key: str(data[key]) for key in _VLLM_SETTINGS if data.get(key) not in (None, "")},
        problems=tuple(reader.problems),
    )


def _vllm_values(reader: _Reader, *, in_ms: bool, window: str) -> Iterator[Value]:
    for key in reader.data:
        bare = key.removesuffix("_ms")
        statistic, _, name = bare.partition("_")
        metric = _LATENCIES.get(name)
        if metric is None or (in_ms and bare == key):
            continue
        value = reader.number(key)
        if value is not None:
            statistic = {"median": "p50"}.get(statistic, statistic)
            scaled = value if in_ms else value * 1000
            yield Value(field=key, metric=metric, statistic=statistic, window=window, value=scaled)
    for key, metric in _RATES.items():
        value = reader.number(key)
        if value is not None:
            yield Value(field=key, metric=metric, statistic="mean", window=window, value=value)


def _vllm_date(reader: _Reader, zone: tzinfo) -> datetime | None:
    text = reader.data.get("date")
    if text is None:
        return None
    try:
        return datetime.strptime(str(text), "%Y%m%d-%H%M%S").replace(tzinfo=zone)
    except ValueError:
        reader.problems.append(f"date: {text!r} is not YYYYmmdd-HHMMSS")
        return None


def _vllm_requests(data: Mapping[str, Any]) -> Iterator[Observed]:
    ttfts, starts = data.get("ttfts"), data.get("start_times")
    if not isinstance(ttfts, list) or not isinstance(starts, list) or len(starts) != len(ttfts):
        return
    first = min(starts, default=0.0)

    def of(key: str, index: int) -> Any:  # noqa: ANN401
        found = data.get(key)
        return found[index] if isinstance(found, list) and index < len(found) else None

    for index, (ttft, start) in enumerate(zip(ttfts, starts, strict=True)):
        error = str(of("errors", index) or "")
        tokens = of("output_lens", index)
        itls = [float(gap) * 1000 for gap in of("itls", index) or []]
        latency = of("latencies", index)
        answered = not error and tokens != 0
        whole = float(latency) * 1000 if latency is not None else float(ttft) * 1000 + sum(itls)
        yield Observed(
            index=index,
            error=error or ("" if answered else "no token came back"),
            prompt_tokens=of("input_lens", index),
            output_tokens=tokens,
            sent_ms=(float(start) - first) * 1000,
            ttft_ms=float(ttft) * 1000 if answered else None,
            itls_ms=itls,
            e2e_ms=whole if answered else None,
        )


_AIPERF = {
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


def _read_aiperf(data: Mapping[str, Any], zone: tzinfo) -> BenchReport:
    """AIPerf: its inter_token_latency is (E2E - TTFT) / (tokens - 1), which others call TPOT."""
    reader = _Reader(data)
    values: list[Value] = []
    for name, metric in _AIPERF.items():
        block = data.get(name)
        if not isinstance(block, dict):
            continue
        scale = _UNITS.get(str(block.get("unit")))
        if scale is None:
            reader.problems.append(
                f"{name}.unit: {block.get('unit')!r} is none of {', '.join(_UNITS)}"
            )
            continue
        inner = _Reader(block)
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
        return _Reader(block).number("avg") if isinstance(block, dict) else None

    completed, failed = average("request_count") or 0, average("error_request_count") or 0
    config = data.get("input_config")
    settings = _flat(config) if isinstance(config, dict) else {}
    duration = average("benchmark_duration")
    return BenchReport(
        client="aiperf",
        client_version=str(data.get("aiperf_version") or data.get("version") or ""),
        model=settings.get("endpoint.model_names", ""),
        started_at=_iso(reader, "start_time", zone),
        duration_s=duration,
        asked=None,
        completed=int(completed),
        failed=int(failed),
        input_tokens=average("total_isl") or average("total_input_tokens"),
        output_tokens=average("total_output_tokens") or average("total_osl"),
        concurrency=_whole(settings.get("loadgen.concurrency")),
        values=tuple(values),
        requests=(),
        settings=settings,
        problems=tuple(reader.problems),
    )


def _flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Nested settings as dotted names; one model out of a list is itself."""
    found: dict[str, str] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{key}.")
        elif value is not None and not any(w in key.lower() for w in ("key", "token_", "secret")):
            one = value[0] if isinstance(value, list) and len(value) == 1 else value
            found[f"{prefix}{key}"] = str(one)
    return found


def _whole(text: str | None) -> int | None:
    return int(text) if text is not None and text.isdigit() else None


def _iso(reader: _Reader, key: str, zone: tzinfo) -> datetime | None:
    text = reader.data.get(key)
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(str(text))
    except ValueError:
        reader.problems.append(f"{key}: {text!r} is no ISO 8601 time")
        return None
    return found if found.tzinfo else found.replace(tzinfo=zone)


_INFERENCE_PERF = {
    "request_latency": "e2e_ms",
    "time_per_output_token": "tpot_ms",
    "time_to_first_token": "ttft_ms",
    "inter_token_latency": "itl_ms",
}
_INFERENCE_PERF_RATES = {
    "input_tokens_per_sec": "input_tokens_per_s",
    "output_tokens_per_sec": "output_tokens_per_s",
    "total_tokens_per_sec": "total_tokens_per_s",
    "requests_per_sec": "requests_per_s",
}


def _read_inference_perf(data: Mapping[str, Any]) -> BenchReport:
    good, bad, load = data["successes"], data.get("failures") or {}, data["load_summary"]
    values: list[Value] = []
    problems: list[str] = []
    for name, metric in _INFERENCE_PERF.items():
        block = (good.get("latency") or {}).get(name)
        reader = _Reader(block if isinstance(block, dict) else {})
        for key in reader.data:
            value = reader.number(key)
            if value is not None:
                statistic = {"median": "p50"}.get(key, key)
                field = f"successes.latency.{name}.{key}"
                values.append(
                    Value(
                        field=field,
                        metric=metric,
                        statistic=statistic,
                        window="full",
                        value=value * 1000,
                    )
                )
        problems.extend(f"successes.latency.{name}.{problem}" for problem in reader.problems)
    rates = _Reader(good.get("throughput") or {})
    for name, metric in _INFERENCE_PERF_RATES.items():
        value = rates.number(name)
        if value is not None:
            field = f"successes.throughput.{name}"
            values.append(
                Value(field=field, metric=metric, statistic="mean", window="full", value=value)
            )
    return BenchReport(
        client="inference-perf",
        client_version="",
        model="",
        started_at=None,
        duration_s=None,
        asked=int(load.get("count") or 0),
        completed=int(good.get("count") or 0),
        failed=int(bad.get("count") or 0),
        input_tokens=None,
        output_tokens=None,
        concurrency=None,
        values=tuple(values),
        requests=(),
        settings={key: str(load[key]) for key in ("requested_rate",) if load.get(key) is not None},
        problems=(*problems, *rates.problems),
    )
