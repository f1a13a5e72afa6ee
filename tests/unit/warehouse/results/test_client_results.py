"""Result files in the shape that load clients write today, by hand."""

import json
from datetime import UTC, datetime

import pytest

from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_checks import contradictions

NOW = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


def read(data):
    return read_bench(json.dumps(data), file="f")


def figures(report, window="full"):
    return {
        (value.metric, value.statistic): value.value
        for value in report.values
        if value.window == window
    }


def vllm_rs(**changes):
    """``vllm-rs bench serve`` 0.33: an ISO date, percentiles of the steady state as pairs."""
    fields = {
        "date": "2026-11-30T10:57:04Z",
        "backend": "openai",
        "model_id": "m",
        "num_prompts": 20,
        "request_rate": None,
        "max_concurrency": 4,
        "duration": 1.0,
        "completed": 20,
        "failed": 0,
        "total_input_tokens": 640,
        "total_output_tokens": 320,
        "request_throughput": 20.0,
        "input_throughput": 640.0,
        "output_throughput": 320.0,
        "mean_ttft_ms": 50.5,
        "median_ttft_ms": 50.4,
        "p50_ttft_ms": 50.4,
        "p99_ttft_ms": 52.0,
        "mean_e2el_ms": 199.0,
        "steady_state": {
            "window": {"start_s": 0.002, "end_s": 0.9, "warning": "short"},
            "request_throughput": 19.0,
            "mean_ttft_ms": 50.2,
            "percentiles_ttft_ms": [[50.0, 50.1], [99.0, 51.5]],
            "p99_tpot_ms": 10.1,
        },
    }
    return {**fields, **changes}


def test_vllm_rs_writes_its_date_in_iso_8601():
    report = read(vllm_rs())
    assert report.client == "vllm-rs-bench"
    assert report.started_at == datetime(2026, 11, 30, 10, 57, 4, tzinfo=UTC)
    assert contradictions(report, NOW) == ()


def test_percentiles_of_the_steady_state_come_as_pairs():
    steady = figures(read(vllm_rs()), "steady")
    assert steady["ttft_ms", "p50"] == 50.1
    assert steady["ttft_ms", "p99"] == 51.5
    assert steady["tpot_ms", "p99"] == 10.1


@pytest.mark.parametrize("date", ["2026-11-30", "2026-11-30Tnoon"])
def test_a_date_of_no_known_shape_is_a_problem(date):
    (reason,) = contradictions(read(vllm_rs(date=date)), NOW)
    assert reason.startswith(f"date: {date!r} is no")


def block(unit, **values):
    return {"unit": unit, **values}


def aiperf(**changes):
    """AIPerf 0.13: phases in a list; rates over the observation, not ``benchmark_duration``."""
    fields = {
        "aiperf_version": "0.13.0",
        "request_count": block("requests", avg=20.0),
        "request_latency": block("ms", avg=205.0, p50=203.0, p99=215.0),
        "time_to_first_token": block("ms", avg=53.1, p50=51.0, p99=65.0),
        "inter_token_latency": block("ms", avg=10.1),
        "inter_chunk_latency": block("ms", avg=10.1, p99=16.7),
        "request_throughput": block("requests/sec", avg=9.0703),
        "output_token_throughput": block("tokens/sec", avg=145.125),
        "total_isl": block("tokens", avg=640.0),
        "total_output_tokens": block("tokens", avg=320.0),
        "benchmark_duration": block("sec", avg=2.1024),
        "start_time": "2026-11-30T11:08:03.655380",
        "end_time": "2026-11-30T11:08:05.860395",
        "input_config": {
            "models": {"items": [{"name": "m"}]},
            "endpoint": {"urls": ["http://127.0.0.1:1"], "streaming": True},
            "phases": [{"name": "profiling", "requests": 20, "concurrency": 4}],
        },
    }
    return {**fields, **changes}


def test_aiperf_takes_its_rates_over_the_observation():
    report = read(aiperf())
    assert report.duration_s == pytest.approx(2.205015)
    assert contradictions(report, NOW) == ()


def test_aiperf_before_took_them_over_the_benchmark():
    report = read(aiperf(request_throughput=block("requests/sec", avg=20 / 2.1024)))
    assert report.duration_s == 2.1024


def test_aiperfs_only_phase_and_model_are_those_of_the_run():
    report = read(aiperf())
    assert (report.model, report.concurrency, report.asked) == ("m", 4, 20)
    assert figures(report)["itl_ms", "p99"] == 16.7


def test_failures_that_aiperf_counts_are_failures():
    report = read(
        aiperf(
            request_count=block("requests", avg=15.0),
            error_request_count=block("requests", avg=5.0),
        )
    )
    assert (report.completed, report.failed) == (15, 5)
    assert any("failed: 5 of 20" in reason for reason in contradictions(report, NOW))


def observed(mean, count, **percentiles):
    good = {"mean": mean, "median": mean, "std_dev": 0.0, "min": mean, "max": mean}
    good |= {"count": count, "total_sum": mean * count, "percentiles": percentiles}
    nothing = dict.fromkeys(good, 0.0) | {"count": 0, "percentiles": {}}
    return {"successful": good, "errored": nothing, "incomplete": nothing, "total": good}


def guidellm(successful=20, errored=0, incomplete=0, **changes):
    """GuideLLM 0.8.1."""
    metrics = {
        "request_totals": {
            "successful": successful,
            "errored": errored,
            "incomplete": incomplete,
            "total": successful + errored + incomplete,
        },
        "requests_per_second": observed(float(successful), successful),
        "output_tokens_per_second": observed(16.0 * successful, successful),
        "request_latency": observed(0.204, successful, p50=0.204, p99=0.209),
        "time_to_first_token_ms": observed(52.8, successful, p01=50.0, p99=55.8),
        "inter_token_latency_ms": observed(10.03, 15 * successful, p99=10.2),
        "time_per_output_token_ms": observed(12.7, 16 * successful),
        "prompt_token_count": observed(32.0, successful),
        "output_token_count": observed(16.0, successful),
    }
    one = {
        "config": {
            "strategy": {"type_": "concurrent", "streams": 4},
            "constraints": {"max_requests": {"args": {"count": 20}}},
            "backend": {"model": "m", "api_key": None},
        },
        "start_time": 1796036427.28,
        "duration": 1.0,
        "metrics": metrics,
    }
    data = {"metadata": {"guidellm_version": "0.8.1"}, "benchmarks": [one]}
    return {**data, **changes}


def test_guidellm_is_read_in_our_names():
    report = read(guidellm())
    assert (report.client, report.client_version, report.model) == ("guidellm", "0.8.1", "m")
    assert (report.asked, report.completed, report.failed, report.concurrency) == (20, 20, 0, 4)
    assert (report.input_tokens, report.output_tokens) == (640.0, 320.0)
    found = figures(report)
    assert found["ttft_ms", "p99"] == 55.8
    assert found["ttft_ms", "p1"] == 50.0
    assert found["e2e_ms", "mean"] == pytest.approx(204.0)
    assert contradictions(report, NOW) == ()


def test_guidellms_itl_is_what_others_call_tpot_and_its_tpot_has_no_name_of_ours():
    found = figures(read(guidellm()))
    assert found["tpot_ms", "mean"] == 10.03
    assert not any(metric == "itl_ms" for metric, _ in found)


def test_requests_that_were_still_open_are_no_success():
    report = read(guidellm(successful=15, errored=2, incomplete=3))
    assert (report.completed, report.failed) == (15, 5)


def test_nothing_that_succeeded_leaves_no_latency_of_0():
    report = read(guidellm(successful=0, errored=20))
    assert not any(metric.endswith("_ms") for metric, _ in figures(report))
    assert report.output_tokens is None
    assert contradictions(report, NOW) == ("completed: 20 of 20 requests failed",)


@pytest.mark.parametrize("benchmarks", [[], "two"], ids=["none", "two"])
def test_one_benchmark_is_read_at_a_time(benchmarks):
    one = guidellm()["benchmarks"][0]
    report = read(guidellm(benchmarks=[one, one] if benchmarks == "two" else []))
    assert report.problems[0].startswith("benchmarks: ")
    assert contradictions(report, NOW)
