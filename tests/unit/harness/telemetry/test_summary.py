import gzip
import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.harness.telemetry.gpu.nvidia_smi import read_table
from gauntlet.harness.telemetry.rows import telemetry_rows
from gauntlet.harness.telemetry.samples import Sample
from gauntlet.harness.telemetry.summary import summarise
from gauntlet.harness.validity import judge_cache
from gauntlet.warehouse.conditions import is_throttled, throttle_reasons


def engine(at, device="0", **values):
    return Sample(at=at, source="engine", device=device, values=values)


def counted(*values, name="preemptions"):
    return [engine(float(at), **{name: value}) for at, value in enumerate(values)]


def test_of_nothing_nothing_is_known():
    summary = summarise([], 0, 10)
    assert summary.numbers() == {"counter_resets": 0.0}
    assert (summary.gpu_throttle_reasons, summary.spec_acceptance_by_position) == ((), ())
    late = summarise(counted(1, 2, 3), 10, 20)
    assert late.preemptions is None, "seen before, but not in the stretch"


def test_levels_are_taken_from_the_stretch_alone():
    samples = [engine(at, kv_cache_usage=at / 10, requests_waiting=10 - at) for at in range(10)]
    summary = summarise(samples, 3, 5)
    assert (summary.kv_cache_usage_max, summary.kv_cache_usage_mean) == (0.5, pytest.approx(0.4))
    assert summary.requests_waiting_max == 7


def test_engines_behind_one_server_are_added_up_and_the_fullest_cache_counts():
    samples = [
        engine(1, "0", kv_cache_usage=0.9, requests_running=3, prompt_tokens=10),
        engine(1, "1", kv_cache_usage=0.1, requests_running=4, prompt_tokens=20),
        engine(2, "0", kv_cache_usage=0.2, requests_running=1, prompt_tokens=15),
        engine(2, "1", kv_cache_usage=0.2, requests_running=1, prompt_tokens=40),
    ]
    summary = summarise(samples, 0, 9)
    assert (summary.kv_cache_usage_max, summary.requests_running_max) == (0.9, 7)
    assert summary.requests_running_mean == 4.5
    assert summary.prompt_tokens == 25


def test_a_counter_is_compared_with_the_last_look_before_the_stretch():
    samples = counted(5, 7, 7, 12, 40)
    assert summarise(samples, 0.5, 3.5).preemptions == 7
    assert summarise(reversed(samples), 0.5, 3.5).preemptions == 7
    assert summarise(samples, 0, 0).preemptions is None


def test_a_counter_that_starts_anew_counts_from_zero():
    summary = summarise(counted(100, 110, 3, 5), 0, 9)
    assert (summary.preemptions, summary.counter_resets) == (15, 1)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=30), st.integers(1, 28))
def test_growth_over_two_halves_is_the_growth_over_both(steps, cut):
    totals = [sum(steps[: n + 1]) for n in range(len(steps))]
    samples = counted(*totals)
    whole = summarise(samples, 0, 99).preemptions
    assert whole == totals[-1] - totals[0]
    if 1 <= cut < len(steps) - 1:
        first = summarise(samples, 0, cut).preemptions
        assert first + summarise(samples, cut + 0.5, 99).preemptions == whole


def test_rates_come_from_deltas():
    first = engine(
        0, prefix_cache_queries=100, prefix_cache_hits=100, spec_drafts=10, spec_draft_tokens=30,
        spec_accepted_tokens=30, spec_accepted_at_0=10, spec_accepted_at_1=10,
    )  # fmt: skip
    last = engine(
        1, prefix_cache_queries=300, prefix_cache_hits=150, spec_drafts=20, spec_draft_tokens=60,
        spec_accepted_tokens=42, spec_accepted_at_0=18, spec_accepted_at_1=14,
    )  # fmt: skip
    summary = summarise([first, last], 0, 1)
    assert summary.prefix_cache_hit_rate == 0.25
    assert summary.spec_acceptance_rate == pytest.approx(0.4)
    assert summary.spec_acceptance_length == pytest.approx(2.2)
    assert summary.spec_acceptance_by_position == pytest.approx((0.8, 0.4))
    assert summary.numbers()["spec_acceptance_at_1"] == pytest.approx(0.4)


def test_no_queries_is_no_rate():
    samples = [engine(at, prefix_cache_queries=7, prefix_cache_hits=0) for at in (0, 1)]
    summary = summarise(samples, 0, 1)
    assert (summary.prefix_cache_queries, summary.prefix_cache_hit_rate) == (0, None)


def test_memory_and_files_of_the_server():
    samples = [
        Sample(at=10.0 * n, source="process", device="total",
               values={"rss_mib": 100 + n, "open_files": 20 + 2 * n, "cpu_s": 3.0 * n})
        for n in range(7)
    ]  # fmt: skip
    samples.append(Sample(at=1, source="process", device="7 x", values={"rss_mib": 9, "cpu_s": 1}))
    summary = summarise(samples, 0, 60)
    assert (summary.server_rss_start_mib, summary.server_rss_end_mib) == (100, 106)
    assert summary.server_rss_slope_mib_per_hour == pytest.approx(360)
    assert (summary.server_open_files_growth, summary.server_cpu_s) == (12, 18)
    assert summarise(samples, 0, 10).server_rss_slope_mib_per_hour is None


def test_throttling_is_a_share_with_reasons():
    bits = (0x1, 0x0, 0x4, 0x44)
    samples = [
        Sample(at=n, source="gpu", device="0", values={"throttle_bits": b, "power_w": 100.0 * n})
        for n, b in enumerate(bits)
    ]
    summary = summarise(samples, 0, 9)
    assert summary.gpu_throttled_share == 0.5
    assert summary.gpu_throttle_reasons == ("hw_thermal_slowdown", "sw_power_cap")
    assert summary.gpu_power_mean_w == 150


def test_bits_have_names():
    assert throttle_reasons(0x41) == ("gpu_idle", "hw_thermal_slowdown")
    assert throttle_reasons(0x1000) == ("unknown_0x1000",)
    assert [is_throttled(bits) for bits in (0, 0x1, 0x2, 0x3, 0x4, 0x8, 0x1000)] == [
        False, False, False, False, True, True, True,
    ]  # fmt: skip


def real_samples(path, side):
    """Samples of a record made with nvidia-smi and two servers' pages."""
    with gzip.open(path, "rt") as lines:
        for line in lines:
            record = json.loads(line)
            kept = {
                "vllm:prefix_cache_queries_total": "prefix_cache_queries",
                "vllm:prefix_cache_hits_total": "prefix_cache_hits",
                "vllm:kv_cache_usage_perc": "kv_cache_usage",
                "vllm:num_requests_running": "requests_running",
            }
            values = {name: record[side][key] for key, name in kept.items()}
            yield Sample(at=record["t"], source="engine", device="0", values=values)
            (reading,) = read_table(f"0, {record['gpu']}")
            yield Sample(at=record["t"], source="gpu", device="0", values=reading.values)


@pytest.mark.parametrize("server", ["A", "B"])
def test_the_warm_cache_of_a_real_run_is_invalid_and_the_next_turn_is_not(shared, server):
    """vLLM on an H200, random prompts: the first turn replays prompts, the second has new ones."""
    path = shared / "data" / "h200" / "ab" / "telemetry.jsonl.gz"
    samples = list(real_samples(path, server))
    starts = [s.at for s in samples if s.source == "engine" and s.values["requests_running"]]
    # Turns of one server are apart by the turns of the other.
    gap = max(pairwise(starts), key=lambda pair: pair[1] - pair[0])
    warm = summarise(samples, samples[0].at, gap[0] + 1)
    later = summarise(samples, gap[1] - 1, samples[-1].at)
    assert judge_cache(warm.prefix_cache_hit_rate, ideal=0.0)[0].startswith("warm-cache: ")
    assert judge_cache(later.prefix_cache_hit_rate, ideal=0.0) == ()
    assert warm.gpu_power_mean_w > 100
    assert 0 < warm.kv_cache_usage_max < 1
    assert warm.counter_resets == 0


def test_every_value_becomes_a_row():
    samples = [engine(1_700_000_000.25, kv_cache_usage=0.5, preemptions=1)]
    rows = list(telemetry_rows(samples, "r1", lambda at: "rep" if at > 1 else ""))
    assert [(row.metric, row.value, row.repetition_id) for row in rows] == [
        ("kv_cache_usage", 0.5, "rep"),
        ("preemptions", 1.0, "rep"),
    ]
    assert rows[0].at.isoformat() == "2023-11-14T22:13:20.250000+00:00"
