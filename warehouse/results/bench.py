"""Load generators' result files as one plain report: what it says, in our names and units.

Known: ``vllm bench serve`` and ``vllm-rs bench serve`` (milliseconds), InferenceX (the same keys in
seconds), AIPerf (a block with its unit for each metric), GuideLLM (benchmarks in a list) and
inference-perf (seconds). Which one it is is told by its own keys, never by its name.
"""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, tzinfo
from typing import Any

from gauntlet.warehouse.results.aiperf import is_aiperf, read_aiperf
from gauntlet.warehouse.results.bench_report import BenchReport, Observed, Reader, TurnMark, Value
from gauntlet.warehouse.results.guidellm import is_guidellm, read_guidellm
from gauntlet.warehouse.results.identity import UnreadableResultError

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
        if is_aiperf(data):
            return read_aiperf(data, zone)
        if is_guidellm(data):
            return read_guidellm(data)
        if "load_summary" in data and "successes" in data:
            return _read_inference_perf(data)
    msg = f"{file}: none of the known result formats"
    raise UnreadableResultError(
        msg,
        hint="known: vllm bench serve, vllm-rs bench serve, InferenceX, AIPerf, GuideLLM, "
        "inference-perf",
    )


def _read_vllm(data: Mapping[str, Any], zone: tzinfo) -> BenchReport:
    reader = Reader(data)
    in_ms = any(key.endswith("_ms") for key in data)
    values = list(_vllm_values(reader, in_ms=in_ms, window="full"))
    steady = data.get("steady_state")
    if isinstance(steady, dict):
        inner = Reader(_spread(steady))
        values.extend(_vllm_values(inner, in_ms=True, window="steady"))
        reader.problems.extend(f"steady_state.{problem}" for problem in inner.problems)
    completed = reader.count("completed") or 0
    asked = reader.count("num_prompts")
    failed = reader.count("failed")
    if failed is None:
        failed = max(0, (asked or completed) - completed)
    turn = _turn(reader)
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
        turn=turn,
    )


def _turn(reader: Reader) -> TurnMark | None:
    """Keys that vLLM does not write, but who alternates two servers may add."""
    variant = str(reader.data.get("variant") or "")
    block, order = reader.count("block"), reader.count("order")
    if not variant or block is None or order is None:
        return None
    return TurnMark(variant=variant, block=block, order=order)


def _spread(block: Mapping[str, Any]) -> dict[str, Any]:
    """vllm-rs's steady state with each ``percentiles_X: [[99.0, V], ...]`` as ``p99_X: V``."""
    found: dict[str, Any] = {}
    for key, value in block.items():
        name = key.removeprefix("percentiles_")
        if name == key or not isinstance(value, list):
            found[key] = value
            continue
        pairs = (each for each in value if isinstance(each, list) and len(each) == 2)
        found |= {f"p{percentile:g}_{name}": figure for percentile, figure in pairs}
    return found


def _vllm_values(reader: Reader, *, in_ms: bool, window: str) -> Iterator[Value]:
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


def _vllm_date(reader: Reader, zone: tzinfo) -> datetime | None:
    """Local time in vLLM's own shape; vllm-rs writes ISO 8601, since 0.33 at the latest."""
    text = str(reader.data.get("date") or "")
    if not text:
        return None
    if "T" in text:
        return reader.instant("date", zone)
    try:
        return datetime.strptime(text, "%Y%m%d-%H%M%S").replace(tzinfo=zone)
    except ValueError:
        reader.problems.append(f"date: {text!r} is not YYYYmmdd-HHMMSS, nor ISO 8601")
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
        reader = Reader(block if isinstance(block, dict) else {})
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
    rates = Reader(good.get("throughput") or {})
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
