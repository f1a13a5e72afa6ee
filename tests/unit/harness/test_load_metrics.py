"""Metrics from made-up logs, where every figure is known beforehand."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from loads import exchange, log_of

from gauntlet.harness.load.event_reader import WorkerSummary, kernel_times
from gauntlet.harness.load.metrics import Goodput, load_metrics, steady_span
from gauntlet.harness.load.results import outcomes
from gauntlet.harness.load.wire import FIELDS, Kind
from gauntlet.harness.validity import judge_cache, judge_dispatch, judge_reads


def event(payload):
    return f"data: {payload if isinstance(payload, str) else json.dumps(payload)}\n\n".encode()


def stream(times, *, per_event=1, output=None, counted=False):
    """Reads of an answer with one event at each time, the last with everything that ends it."""
    reads = []
    for n, at in enumerate(times, start=1):
        last = n == len(times)
        choice = {"text": "x", "finish_reason": "length" if last else None}
        usage = {"usage": {"completion_tokens": n * per_event}} if counted else {}
        reads.append((at, event({"choices": [choice], **usage})))
    total = output or per_event * len(times)
    tail = event({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": total}})
    reads.append((times[-1], tail + event("[DONE]")))
    return reads


def found(log, window="full", **fields):
    metrics = load_metrics(log, **fields)
    return {(m.name, m.statistic): m.value for m in metrics if m.window == window}


def whole(times, index=0, **fields):
    output = fields.pop("output", len(times))
    per_event, counted = fields.pop("per_event", 1), fields.pop("counted", False)
    reads = stream(times, per_event=per_event, output=output, counted=counted)
    return exchange(reads, index, asked=output, **fields)


def test_gaps_of_chunks_and_of_tokens_are_two_things():
    """Four tokens in every chunk, 40 ms apart: 40 ms between chunks, 10 ms between tokens."""
    times = [1.1, 1.14, 1.18, 1.22]
    log = log_of(whole(times, output=16, per_event=4, counted=True))
    values = found(log)
    assert values["itl_chunk_ms", "p50"] == pytest.approx(40)
    assert values["itl_ms", "p50"] == pytest.approx(10)
    assert values["tpot_ms", "p50"] == pytest.approx(120 / 15)


def test_tokens_of_a_chunk_are_not_guessed():
    log = log_of(whole([1.1, 1.14, 1.18], output=12))
    assert found(log)["itl_ms", "p50"] is None
    assert found(log)["itl_chunk_ms", "p50"] == pytest.approx(40)


def test_goodput_counts_what_keeps_every_limit():
    log = log_of(whole([1.1, 1.2], 0), whole([1.5, 1.6], 1), whole([1.1, 1.9], 2))
    values = found(log, goodput=Goodput(ttft_ms=200, tpot_ms=150))
    assert values["goodput_share", "total"] == pytest.approx(1 / 3)
    assert values["goodput_per_s", "total"] == pytest.approx(1 / 0.9)


def test_a_failed_request_is_never_good():
    bad = exchange([], 1, status=503)
    log = log_of(whole([1.1, 1.2], 0), bad)
    assert found(log, goodput=Goodput(ttft_ms=1e6))["goodput_share", "total"] == 0.5


def ramped(streams=8, each=6, length=0.5):
    """Streams that start 100 ms apart, each with ``each`` requests of ``length`` seconds."""
    made = []
    for s in range(streams):
        for n in range(each):
            sent = 1.0 + 0.1 * s + n * length
            made.append(
                whole([sent + 0.1, sent + length], len(made), sent=sent, ended=sent + length)
            )
    return log_of(*made, streams=streams)


def test_the_steady_window_leaves_ramp_and_drain_out():
    log = ramped()
    span = steady_span(outcomes(log), log)
    assert span.start_ms == pytest.approx(700)
    assert span.end_ms == pytest.approx(3000)
    full, steady = found(log), found(log, "steady")
    # All eight streams, two tokens each half second.
    assert steady["output_tokens_per_s", "total"] == pytest.approx(32, rel=0.05)
    assert full["output_tokens_per_s", "total"] < steady["output_tokens_per_s", "total"]


def test_a_load_too_short_to_be_steady_has_no_steady_window():
    assert found(log_of(whole([1.1, 1.2])), "steady") == {}


def test_an_open_loop_is_steady_from_its_first_answer_to_its_last_arrival():
    made = [
        whole([1.1 + n / 10, 1.3 + n / 10], n, sent=1 + n / 10, scheduled=1 + n / 10)
        for n in range(30)
    ]
    log = log_of(*made, due_s=tuple(n / 10 for n in range(30)))
    span = steady_span(outcomes(log), log)
    assert (span.start_ms, span.end_ms) == (pytest.approx(300), pytest.approx(2900))


@given(st.lists(st.lists(st.floats(0.001, 0.2), min_size=1, max_size=8), min_size=1, max_size=12))
def test_what_must_hold_of_any_log(gaps):
    made = [
        whole(list(1.0 + np.cumsum(each)), n, sent=1.0, ended=9.0) for n, each in enumerate(gaps)
    ]
    log = log_of(*made)
    values = found(log)
    tokens = sum(map(len, gaps))
    span_s = max(sum(each) for each in gaps)
    assert values["output_tokens_per_s", "total"] == pytest.approx(tokens / span_s, rel=1e-6)
    for metric in ("ttft_ms", "e2e_ms", "itl_chunk_ms"):
        ordered = [values[metric, statistic] for statistic in ("p50", "p90", "p99")]
        if None not in ordered:
            assert ordered == sorted(ordered)
    assert values["e2e_ms", "mean"] >= values["ttft_ms", "mean"] - 1e-9
    assert values["in_flight", "max"] == len(gaps)


def stamped(rows):
    events = np.zeros(len(rows), dtype=np.dtype(list(FIELDS)))
    for n, (user_ns, wall_ns) in enumerate(rows):
        events[n]["kind"] = Kind.READ
        events[n]["user_ns"] = user_ns
        events[n]["kernel_s"], events[n]["kernel_ns"] = divmod(wall_ns, 1_000_000_000)
    return events


def summary(before, after, seconds=10):
    return WorkerSummary(
        started_ns=0,
        ended_ns=seconds * 1_000_000_000,
        realtime_offset_ns=(before, after),
        cpu_s=0,
        peak_rss_kib=0,
        failure="",
    )


WALL = 1_700_000_000_000_000_000


def test_the_kernels_stamp_counts_and_the_difference_is_the_clients_lag():
    rows = [(5_000_000_000, WALL + 4_990_000_000)]
    times, lag = kernel_times(stamped(rows), summary(WALL, WALL))
    assert times.tolist() == [4_990_000_000]
    assert lag == pytest.approx([0.010])


def test_a_clock_that_drifts_is_followed():
    """One millisecond in ten seconds; in the middle, half of it."""
    rows = [(5_000_000_000, WALL + 500_000 + 5_000_000_000)]
    times, lag = kernel_times(stamped(rows), summary(WALL, WALL + 1_000_000))
    assert times.tolist() == pytest.approx([5_000_000_000], abs=1000)
    assert lag == pytest.approx([0.0], abs=1e-6)


@pytest.mark.parametrize(
    ("rows", "offsets"),
    [
        pytest.param([(5, 0)], (WALL, WALL), id="not-stamped"),
        pytest.param([(5_000, WALL + 4_000)], (WALL, WALL + 10_000_000_000), id="clock-stepped"),
        pytest.param([(90_000_000_000, WALL)], (WALL, WALL), id="absurd"),
    ],
)
def test_a_stamp_that_cannot_be_trusted_is_not_used(rows, offsets):
    times, lag = kernel_times(stamped(rows), summary(*offsets))
    assert times.tolist() == [rows[0][0]]
    assert lag.size == 0


@pytest.mark.parametrize(
    ("hit", "ideal", "at_most", "dirty"),
    [
        (0.0, 0.0, None, False),
        (0.04, 0.0, None, False),
        (0.9, 0.0, None, True),
        (0.36, 0.37, None, False),
        (0.64, 0.37, None, True),
        (None, 0.0, None, False),
        (0.9, None, None, False),
        (0.9, 0.0, 0.95, False),
        (0.2, 0.5, 0.1, True),
    ],
)
def test_more_hits_than_the_prompts_allow_is_a_warm_cache(hit, ideal, at_most, dirty):
    reasons = judge_cache(hit, ideal=ideal, at_most=at_most)
    assert bool(reasons) == dirty
    assert all(reason.startswith("warm-cache: ") for reason in reasons)


def test_a_late_client_is_not_a_slow_server():
    assert judge_reads(3.0, 10.0) == ()
    assert "client-bound" in judge_reads(12.0, 10.0)[0]
    assert judge_dispatch(4.0, 50.0) == ()
    assert "behind schedule" in judge_dispatch(40.0, 50.0)[0]
    assert judge_reads(None, 10.0) == judge_dispatch(None, 1.0) == ()
