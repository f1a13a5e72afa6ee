"""Load generators' results: what is read, what is refused, and by which name."""

import gzip
import json
import math
from datetime import UTC, datetime, timedelta, timezone

import pytest

from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_checks import contradictions
from gauntlet.warehouse.results.bench_rows import bench_batch
from gauntlet.warehouse.results.identity import Identity, UnreadableResultError

NOW = datetime(2026, 12, 1, tzinfo=UTC)
WHO = Identity(recipe="smoke", accelerator="H200")


def vllm_result(**changes):
    """A result that is right in itself: 8 requests of 100 tokens in 4 s, two at a time."""
    fields = {
        "date": "20261130-120000",
        "backend": "openai",
        "model_id": "m",
        "num_prompts": 8,
        "request_rate": "inf",
        "max_concurrency": 2,
        "duration": 4.0,
        "completed": 8,
        "failed": 0,
        "total_input_tokens": 8000,
        "total_output_tokens": 800,
        "request_throughput": 2.0,
        "request_goodput": None,
        "output_throughput": 200.0,
        "mean_ttft_ms": 50.0,
        "median_ttft_ms": 48.0,
        "p99_ttft_ms": 80.0,
        "mean_tpot_ms": 9.0,
        "mean_e2el_ms": 941.0,
    }
    return {**fields, **changes}


def judged(**changes):
    return contradictions(read_bench(json.dumps(vllm_result(**changes)), file="f"), NOW)


def rows_of(batch, table):
    return [
        json.loads(line)
        for section in batch.sections
        if section.table == table
        for line in section.payload.splitlines()
    ]


def ingested(result=None, who=WHO, **changes):
    data = json.dumps(result or vllm_result(**changes)).encode()
    return bench_batch(data, file="f.json", identity=who, zone=UTC, now=NOW)


def test_a_sound_result_has_no_reason_against_it():
    assert judged() == ()


def test_all_requests_failed_is_no_fast_run():
    zeros = {key: 0.0 for key in vllm_result() if key.endswith(("_ms", "_throughput"))}
    batch, row = ingested(completed=0, failed=8, total_output_tokens=0, **zeros)
    assert row.status == "failed"
    assert row.reasons == ("completed: 8 of 8 requests failed",)
    assert dict(batch.table_rows()) == {"repetitions": 1}


def test_the_zero_of_a_metric_that_was_never_seen_is_missing():
    batch, _ = ingested(mean_itl_ms=0.0, median_itl_ms=0.0)
    values = {(r["metric"], r["statistic"]): r["value"] for r in rows_of(batch, "metrics")}
    assert values["itl_ms", "mean"] is None
    assert values["ttft_ms", "p50"] == 48.0
    assert ("goodput_requests_per_s", "mean") not in values


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"mean_ttft_ms": -1715507074412.0}, "mean_ttft_ms: -1.71551e+12 is not finite"),
        ({"mean_ttft_ms": 1715507074412.0}, "mean_ttft_ms: 1.71551e+12 ms, but the whole run"),
        ({"p99_ttft_ms": math.nan}, "p99_ttft_ms: nan is not finite"),
        ({"mean_tpot_ms": math.inf}, "mean_tpot_ms: inf is not finite"),
        ({"output_throughput": 400.0}, "output_tokens_per_s: 400 a second over 4 s contradicts"),
        ({"request_throughput": 20.0}, "requests_per_s: 20 a second over 4 s contradicts"),
        ({"mean_e2el_ms": 3900.0}, "7.8 requests in flight, but max_concurrency is 2"),
        ({"mean_ttft_ms": 960.0}, "ttft_ms: mean 960 is longer than the mean request of 941"),
        ({"median_ttft_ms": 90.0}, "ttft_ms: p50 90 is above p99 80"),
        ({"num_prompts": 10}, "completed + failed: 8, but 10 requests were asked for"),
        ({"completed": 6, "failed": 2}, "failed: 2 of 8 requests failed"),
        ({"date": "20271130-120000"}, "date: 2027-11-30T12:00:00+00:00 lies in the future"),
        ({"date": "yesterday"}, "date: 'yesterday' is not YYYYmmdd-HHMMSS"),
        ({"duration": 0.0}, "duration: 0.0 s"),
        ({"mean_ttft_ms": True}, "mean_ttft_ms: True is no number"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_what_cannot_be_is_told_by_field_and_value(changes, said):
    reasons = judged(**changes)
    assert any(said in reason for reason in reasons), reasons


def test_a_count_that_is_no_number_counts_as_none():
    assert judged(completed="8") == ("completed: '8' is no number", "completed: none")


def test_a_result_that_contradicts_itself_is_kept_without_numbers():
    batch, row = ingested(mean_ttft_ms=-5.0)
    assert row.status == "invalid"
    assert dict(batch.table_rows()) == {"repetitions": 1}
    assert rows_of(batch, "repetitions")[0]["reasons"] == list(row.reasons)


ONE_SILENT = {
    "ttfts": [0.05, 0.0],
    "itls": [[0.01] * 99, []],
    "start_times": [10.0, 11.0],
    "errors": ["", ""],
    "input_lens": [1000, 1000],
    "output_lens": [100, 0],
}


def test_a_request_without_a_token_failed_and_the_rest_goes_on():
    five_times = {"num_prompts": 40, "completed": 40, "duration": 20.0}
    tokens = {"total_input_tokens": 40_000, "total_output_tokens": 4_000}
    batch, row = ingested(**ONE_SILENT, **five_times, **tokens)
    assert (row.status, row.completed, row.failed) == ("valid", 39, 1)
    first, second = rows_of(batch, "requests")
    assert (first["status"], first["ttft_ms"], first["sent_ms"]) == ("ok", 50.0, 0.0)
    assert first["tpot_ms"] == pytest.approx(10.0)
    assert (first["itl_p50_ms"], first["itl_max_ms"]) == (10.0, 10.0)
    assert (second["status"], second["error"]) == ("failed", "no token came back")
    assert (second["ttft_ms"], second["e2e_ms"], second["sent_ms"]) == (None, None, 1000.0)


def test_requests_without_a_token_count_among_the_failed_ones():
    _, row = ingested(**ONE_SILENT)
    assert (row.status, row.reasons) == ("invalid", ("failed: 1 of 8 requests failed",))


def test_a_sweep_of_rates_under_one_limit_has_a_point_each():
    points = [ingested(request_rate=rate)[1].point for rate in ("inf", 2.5)]
    assert points == ["concurrency=2", "request_rate=2.5,concurrency=2"]


def test_the_client_s_zone_does_not_move_the_instant():
    data = json.dumps(vllm_result(date="20261130-080000")).encode()
    shanghai = timezone(timedelta(hours=8))
    _, row = bench_batch(data, file="f", identity=WHO, zone=shanghai, now=NOW)
    assert row.ended_at == datetime(2026, 11, 30, tzinfo=UTC)


def test_the_same_file_is_the_same_repetition():
    one, two = ingested()[0], ingested()[0]
    assert one.batch_id == two.batch_id
    other = ingested(who=Identity(recipe="other"))
    assert other[0].batch_id != one.batch_id
    assert other[1].series_id != ingested()[1].series_id


def test_the_configuration_is_told_apart_by_what_could_change_the_number():
    base = ingested()[1]
    threads = Identity(recipe="smoke", accelerator="H200", settings={"OMP_NUM_THREADS": "1"})
    assert ingested(who=threads)[1].config_fp != base.config_fp
    assert ingested(who=threads)[1].series_id == base.series_id
    assert ingested(mean_ttft_ms=60.0)[1].config_fp == base.config_fp
    build = Identity(recipe="smoke", accelerator="H200", engine_commit="abc")
    assert ingested(who=build)[1].config_fp == base.config_fp


def test_aiperf_is_read_with_its_units():
    block = {"unit": "sec", "avg": 0.05, "p50": 0.048, "p99": 0.08}
    result = {
        "aiperf_version": "0.13.0",
        "input_config": {
            "endpoint": {"model_names": ["m"], "api_key": "x"}, "loadgen": {"concurrency": 2},
        },
        "request_count": {"unit": "requests", "avg": 8.0},
        "benchmark_duration": {"unit": "sec", "avg": 4.0},
        "time_to_first_token": block,
        "request_latency": {"unit": "ms", "avg": 941.0},
        "request_throughput": {"unit": "requests/sec", "avg": 2.0},
        "start_time": "2026-11-30T12:00:00",
    }  # fmt: skip
    batch, row = ingested(result)
    assert (row.client, row.client_version, row.status, row.model) == (
        "aiperf",
        "0.13.0",
        "valid",
        "m",
    )
    assert row.point == "concurrency=2"
    assert "endpoint.api_key" not in row.settings
    values = {(r["metric"], r["statistic"]): r["value"] for r in rows_of(batch, "metrics")}
    assert values["ttft_ms", "p99"] == 80.0
    assert values["e2e_ms", "mean"] == 941.0


def test_an_unknown_unit_is_refused_by_name():
    result = {
        "request_count": {"unit": "requests", "avg": 8.0},
        "request_latency": {"unit": "fortnights", "avg": 1.0},
    }
    _, row = ingested(result)
    assert row.status == "invalid"
    assert any("request_latency.unit: 'fortnights' is none of ms" in r for r in row.reasons)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "f:1: JSON"),
        ("[]", "none of the known result formats"),
        ('{"metric": 1}', "none of the known"),
    ],
)
def test_what_is_no_result_is_told(text, said):
    with pytest.raises(UnreadableResultError, match=said):
        read_bench(text, file="f")


def _real(shared):
    for path in sorted((shared / "data" / "h200").glob("*.json")):
        yield path.name, path.read_bytes()
    for path in sorted((shared / "data" / "h200" / "ab").glob("block*.gz")):
        yield path.name, gzip.decompress(path.read_bytes())


def test_every_real_result_of_an_h200_is_sound(shared):
    found = {
        name: bench_batch(d, file=name, identity=WHO, zone=UTC, now=NOW)
        for name, d in _real(shared)
    }
    assert len(found) == 35
    assert [name for name, (_, row) in found.items() if row.status != "valid"] == []
    batch, row = found["vllm-0.24.0_h200_isl1024_osl128_r1-c128.json"]
    assert (row.completed, row.point, row.client) == (384, "concurrency=128", "vllm-bench")
    assert batch.table_rows()["requests"] == 384


@pytest.mark.parametrize("concurrency", [4, 16])
def test_inferencex_writes_seconds(shared, concurrency):
    path = (
        shared
        / "data"
        / "samples"
        / "inferencex"
        / f"inferencex_glm5_isl10240_osl128_conc{concurrency}.json"
    )
    batch, row = bench_batch(path.read_bytes(), file="f", identity=WHO, zone=UTC, now=NOW)
    assert (row.client, row.status) == ("inferencex", "valid")
    raw = json.loads(path.read_text())
    values = {(r["metric"], r["statistic"]): r["value"] for r in rows_of(batch, "metrics")}
    assert values["ttft_ms", "p50"] == pytest.approx(raw["median_ttft"] * 1000)
    assert values["tpot_ms", "p99"] == pytest.approx(raw["p99_tpot"] * 1000)


def test_inference_perf_is_read(shared):
    folder = shared / "data" / "samples" / "inference_perf"
    batch, row = bench_batch(
        (folder / "stage_0_lifecycle_metrics.json").read_bytes(),
        file="f", identity=WHO, zone=UTC, now=NOW,
    )  # fmt: skip
    assert (row.client, row.status, row.completed) == ("inference-perf", "valid", 60)
    values = {(r["metric"], r["statistic"]): r["value"] for r in rows_of(batch, "metrics")}
    assert values["ttft_ms", "mean"] == pytest.approx(33.319, abs=0.001)


def test_a_summary_whose_counts_disagree_is_refused(shared):
    path = shared / "data" / "samples" / "inference_perf" / "summary_prometheus_metrics.json"
    _, row = bench_batch(path.read_bytes(), file="f", identity=WHO, zone=UTC, now=NOW)
    assert row.reasons == ("completed + failed: 98004, but 0 requests were asked for",)


@pytest.mark.parametrize("name", ["add_loop_eager", "json-each-row"])
def test_results_of_a_format_that_is_not_read_are_refused_by_name(shared, name):
    path = shared / "data" / "samples" / "inferencex" / f"oss_benchmark_v3_{name}.json"
    with pytest.raises(UnreadableResultError, match=path.name):
        read_bench(path.read_text(), file=str(path))


@pytest.mark.parametrize("name", ["stage_5", "summary"])
def test_the_other_stages_of_inference_perf_are_sound(shared, name):
    path = shared / "data" / "samples" / "inference_perf" / f"{name}_lifecycle_metrics.json"
    _, row = bench_batch(path.read_bytes(), file="f", identity=WHO, zone=UTC, now=NOW)
    assert (row.client, row.status, row.reasons) == ("inference-perf", "valid", ())
