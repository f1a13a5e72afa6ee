"""Sound result files of `vllm bench serve`; a test names what it is about."""

import gzip
import json


def bench_result(*, tpot_ms=9.0, concurrency=2, **changes):
    """8 requests of 1,000 tokens in and 100 out; the rates follow from the latencies."""
    latency_ms = 50.0 + 99 * tpot_ms
    duration_s = 8 / concurrency * latency_ms / 1000
    fields = {
        "date": "20261130-004900",
        "backend": "openai",
        "model_id": "m",
        "num_prompts": 8,
        "request_rate": "inf",
        "max_concurrency": concurrency,
        "duration": duration_s,
        "completed": 8,
        "failed": 0,
        "total_input_tokens": 8000,
        "total_output_tokens": 800,
        "request_throughput": 8 / duration_s,
        "output_throughput": 800 / duration_s,
        "total_token_throughput": 8800 / duration_s,
        "mean_ttft_ms": 50.0,
        "median_ttft_ms": 50.0,
        "mean_tpot_ms": tpot_ms,
        "median_tpot_ms": tpot_ms,
        "mean_e2el_ms": latency_ms,
    }
    return {**fields, **changes}


def write_result(path, **changes):
    """Write a result file, compressed where its name says so."""
    data = json.dumps(bench_result(**changes)).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path
