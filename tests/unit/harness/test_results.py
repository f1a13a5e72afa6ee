import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from loads import exchange, log_of

from gauntlet.harness.load.metrics import load_metrics
from gauntlet.harness.load.results import request_results
from gauntlet.harness.load.streams import read_stream
from gauntlet.harness.measure_load import judge_results


def event(payload):
    text = payload if isinstance(payload, str) else json.dumps(payload)
    return f"data: {text}\n\n".encode()


def token(text="a", finish=None):
    return event({"choices": [{"text": text, "finish_reason": finish}]})


def usage(prompt=10, output=3, cached=None):
    details = {} if cached is None else {"prompt_tokens_details": {"cached_tokens": cached}}
    counts = {"prompt_tokens": prompt, "completion_tokens": output, **details}
    return event({"choices": [], "usage": counts})


DONE = event("[DONE]")
WHOLE = [
    (1.05, token()),
    (1.06, token()),
    (1.07, token("", "length")),
    (1.07, usage()),
    (1.07, DONE),
]


def results(*exchanges):
    return request_results(log_of(*exchanges))


def test_latencies_of_a_whole_stream():
    reads = [
        (1.05, token()),
        (1.06, token()),
        (1.08, token()),
        (1.08, usage(cached=4)),
        (1.09, DONE),
    ]
    reads[2] = (1.08, token("c", "length"))
    (result,) = results(exchange(reads, scheduled=0.99))
    assert result.status == "ok"
    assert result.ttft_ms == pytest.approx(50)
    assert result.e2e_ms == pytest.approx(80)
    assert result.tpot_ms == pytest.approx((80 - 50) / 2)
    assert (result.prompt_tokens, result.cached_tokens, result.output_tokens) == (10, 4, 3)
    assert (result.scheduled_ms, result.sent_ms) == (0.0, 0.0)


def test_a_role_only_chunk_is_no_token():
    role = event({"choices": [{"delta": {"role": "assistant", "content": ""}}]})
    word = event({"choices": [{"delta": {"content": "x"}, "finish_reason": "length"}]})
    (result,) = results(
        exchange([(1.005, role), (1.2, word), (1.2, usage(output=1)), (1.2, DONE)], asked=1)
    )
    assert result.ttft_ms == pytest.approx(200)
    assert result.tpot_ms is None


@pytest.mark.parametrize(
    ("broken", "status"),
    [
        pytest.param(exchange([(1.1, b"busy")], status=503), "http-503", id="503"),
        pytest.param(exchange([], status=None, failure="refused"), "refused", id="refused"),
        pytest.param(
            exchange(WHOLE[:2], failure="connection-reset"), "connection-reset", id="reset"
        ),
        pytest.param(exchange(WHOLE[:2], failure="stalled"), "stalled", id="stalled"),
        pytest.param(exchange([(1.1, DONE)]), "empty", id="empty"),
        pytest.param(exchange(WHOLE[:2]), "truncated", id="cut"),
        pytest.param(exchange(WHOLE[:4]), "truncated", id="no-done"),
        pytest.param(exchange([*WHOLE[:3], (1.1, DONE)]), "no-usage", id="no-usage"),
        pytest.param(exchange(WHOLE, asked=9), "wrong-length", id="short"),
        pytest.param(exchange(WHOLE, prompt=11), "wrong-prompt", id="wrong-tokenizer"),
        pytest.param(
            exchange([*WHOLE[:2], (1.1, token("", "abort")), (1.1, usage()), (1.1, DONE)]),
            "wrong-finish",
            id="aborted",
        ),
        pytest.param(exchange(WHOLE, ended=None), "cancelled", id="unfinished"),
        pytest.param(exchange([], sent=None), "not-sent", id="never-sent"),
        pytest.param(exchange([(1.1, event("[1, 2]"))]), "protocol-error", id="no-object"),
        pytest.param(
            exchange([*WHOLE[:2], (1.1, event({"error": {"message": "oom"}})), (1.1, DONE)]),
            "error-event",
            id="error",
        ),
        pytest.param(exchange([(1.1, event("{broken"))]), "protocol-error", id="not-json"),
    ],
)
def test_every_failure_has_a_class_and_no_latency(broken, status):
    (result,) = results(broken)
    assert result.status == status
    assert (result.ttft_ms, result.tpot_ms, result.e2e_ms) == (None, None, None)


@given(st.lists(st.integers(1, 40), max_size=60))
def test_reads_cut_anywhere_give_the_same_events(cuts):
    raw = b"".join(data for _, data in WHOLE)
    pieces, start = [], 0
    for size in cuts:
        pieces.append(raw[start : start + size])
        start += size
    pieces.append(raw[start:])
    stream = read_stream([(float(n), piece) for n, piece in enumerate(pieces) if piece])
    whole = read_stream([(0.0, raw)])
    assert (stream.done, stream.finish, stream.usage) == (True, "length", whole.usage)
    assert stream.stamps
    assert stream.stamps == sorted(stream.stamps)


def test_an_event_has_the_time_of_the_read_that_completed_it():
    raw = token()
    stream = read_stream([(1.0, raw[:10]), (2.0, raw[10:])])
    assert stream.stamps == [2.0]


def test_windows_line_ends_are_read():
    assert read_stream([(1.0, token().replace(b"\n", b"\r\n"))]).stamps == [1.0]


def test_all_failed_is_a_failed_repetition_without_a_single_latency():
    log = log_of(*[exchange([], n, status=503) for n in range(8)])
    assert judge_results(request_results(log)) == (
        "failed",
        ("8 of 8 requests failed (8 http-503)",),
    )
    values = {(m.name, m.statistic): (m.value, m.n) for m in load_metrics(log)}
    assert values["ttft_ms", "p50"] == (None, 0)
    assert values["output_tokens_per_s", "total"] == (None, 0)
    assert values["failed_share", "total"] == (1.0, 8)


@pytest.mark.parametrize(
    ("failed", "status"), [(0, "valid"), (1, "valid"), (2, "valid"), (3, "invalid")]
)
def test_few_failures_are_noted_and_many_make_it_invalid(failed, status):
    broken = [exchange([], n, status=None, failure="refused") for n in range(failed)]
    good = [exchange(WHOLE, 100 + n) for n in range(40 - failed)]
    found, reasons = judge_results(results(*broken, *good))
    assert found == status
    assert bool(reasons) == bool(failed)
