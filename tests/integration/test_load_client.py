"""The load client against a real server in another process, healthy and broken."""

import sys
import time
from collections import Counter

import pytest
import yaml
from loads import closed, load, planned

from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.simulator import simulator_launch
from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.client import Target
from gauntlet.harness.load.metrics import load_metrics
from gauntlet.harness.load.prompts import plan_requests
from gauntlet.harness.load.results import request_results
from gauntlet.harness.load.streams import body_reads, read_stream
from gauntlet.perf_eval.workloads import Workload

pytestmark = pytest.mark.alone


def serve(tmp_path, **settings):
    config = tmp_path / "engine.yaml"
    timing = {"decode_step_ms": 5.0, "request_overhead_ms": 0.0, "startup_s": 0.0}
    config.write_text(yaml.safe_dump({"name": "x", "model": "m", "timing": timing, **settings}))
    launch = simulator_launch(config, workdir=tmp_path, side="baseline", seed=1)
    return Engine(launch, side="baseline", log=tmp_path / "log")


def target(engine):
    return Target.of(engine.endpoint.base_url, "/v1/completions")


def test_a_closed_loop_keeps_its_streams_and_measures_the_server(tmp_path):
    with serve(tmp_path) as engine:
        engine.start()
        log = load(target(engine), planned(24, output=20), closed(4))
    results = request_results(log)
    assert [result.status for result in results] == ["ok"] * 24
    assert {result.output_tokens for result in results} == {20}
    # A token cannot come sooner than the step that makes it.
    assert min(result.tpot_ms for result in results) >= 4.5
    assert min(result.ttft_ms for result in results) >= 4.5
    starts = sorted(exchange.sent for exchange in log.exchanges)
    ends = sorted(exchange.ended for exchange in log.exchanges)
    assert all(starts[n + 4] >= ends[n] for n in range(20)), "never more than four at once"
    metrics = {(m.name, m.statistic): m.value for m in load_metrics(log)}
    assert metrics["failed_share", "total"] == 0.0
    assert metrics["client_lag_ms", "p50"] is not None


def test_an_open_loop_sends_on_time_whatever_the_server_does(tmp_path):
    with serve(tmp_path, timing={"decode_step_ms": 60.0, "startup_s": 0.0}) as engine:
        engine.start()
        log = load(target(engine), planned(20), Schedule(due_s=tuple(n / 100 for n in range(20))))
    results = request_results(log)
    assert [result.status for result in results] == ["ok"] * 20
    assert [round(result.scheduled_ms) for result in results] == [10 * n for n in range(20)]
    # All were sent long before the first could have been answered in full.
    assert max(exchange.sent for exchange in log.exchanges) < min(e.ended for e in log.exchanges)


@pytest.mark.parametrize(
    ("faults", "status"),
    [
        ({"http_503_every": 4}, "http-503"),
        ({"reset_mid_stream_every": 4}, "connection-reset"),
        ({"stall_mid_stream_every": 4}, "stalled"),
        ({"error_event_every": 4}, "error-event"),
        ({"empty_stream_every": 4}, "empty"),
        ({"truncate_every": 4}, "wrong-length"),
    ],
)
def test_every_fault_has_its_class_and_the_others_are_measured(tmp_path, faults, status):
    with serve(tmp_path, faults=faults) as engine:
        engine.start()
        log = load(target(engine), planned(16), closed(4))
    counted = Counter(result.status for result in request_results(log))
    assert counted == {"ok": 12, status: 4}


def test_a_connection_closed_without_an_answer(tmp_path):
    with serve(tmp_path, faults={"refuse_every": 4}) as engine:
        engine.start()
        log = load(target(engine), planned(16), closed(4))
    counted = Counter(result.status for result in request_results(log))
    assert counted["ok"] == 12
    assert set(counted) - {"ok"} <= {"connection-closed", "connection-reset"}


def test_a_server_that_dies_fails_what_is_left_quickly(tmp_path):
    with serve(tmp_path, faults={"die_after_requests": 6}) as engine:
        engine.start()
        log = load(target(engine), planned(40), closed(4))
    counted = Counter(result.status for result in request_results(log))
    assert sum(counted.values()) == 40
    assert counted["ok"] <= 6
    assert counted["refused"] >= 20
    assert log.ended - log.started < 20


def test_nobody_listens():
    log = load(Target(host="127.0.0.1", port=1), planned(3), closed(2))
    assert [result.status for result in request_results(log)] == ["refused"] * 3


def test_the_known_timing_server_is_measured_as_it_is(shared, tmp_path):
    """A server of somebody else, with a true time to first token of 50 ms and 10 ms a token."""
    from gauntlet.core.proc import Service
    from gauntlet.harness.engines.ports import free_port

    port = free_port()
    command = [sys.executable, str(shared / "bench" / "mock_server.py"), "--port", str(port)]
    command += ["--ttft-ms", "50", "--itl-ms", "10", "--tokens", "16"]
    address = Target(host="127.0.0.1", port=port)
    with Service(command, log=tmp_path / "log"):
        for _ in range(100):
            log = load(address, planned(1, output=16), closed(1))
            if request_results(log)[0].status != "refused":
                break
            time.sleep(0.05)
        log = load(address, planned(8, output=16), closed(4))
    # It ends its streams without a finish reason, so none of them counts as whole.
    assert {result.status for result in request_results(log)} == {"truncated"}
    for exchange in log.exchanges:
        stamps = read_stream(body_reads(exchange)).stamps
        assert stamps[0] - exchange.sent >= 0.0495
        assert (stamps[-1] - stamps[0]) / 15 >= 0.0095


def test_turns_of_a_conversation_follow_each_other_with_time_to_think(tmp_path):
    workload = Workload.model_validate(
        {
            "name": "chat",
            "arrivals": {"kind": "closed", "concurrency": 3, "stagger_s": 0},
            "prompts": {
                "kind": "conversation",
                "turns": {"min": 3, "max": 3},
                "turn_tokens": 16,
                "output_tokens": 4,
                "think_s": [0.05, 0.1],
            },
            "requests": 18,
        }
    )
    requests = plan_requests(workload, model="m", seed=3)
    with serve(tmp_path) as engine:
        engine.start()
        log = load(target(engine), requests, closed(3))
    assert {result.status for result in request_results(log)} == {"ok"}
    turns = {(e.request.conversation, e.request.turn): e for e in log.exchanges}
    for (conversation, turn), exchange in turns.items():
        if turn:
            before = turns[conversation, turn - 1]
            assert exchange.sent - before.ended >= exchange.request.think_s - 0.001
    open_at = [
        sum(turns[c, 0].sent <= exchange.sent <= turns[c, 2].ended for c in range(6))
        for exchange in log.exchanges
    ]
    assert max(open_at) <= 3, "concurrency counts conversations, thinking ones too"


def test_a_conversation_ends_with_the_turn_that_failed(tmp_path):
    workload = Workload.model_validate(
        {
            "name": "chat",
            "arrivals": {"kind": "closed", "concurrency": 1},
            "prompts": {
                "kind": "conversation",
                "turns": {"min": 4, "max": 4},
                "turn_tokens": 8,
                "output_tokens": 4,
            },
            "requests": 4,
        }
    )
    requests = plan_requests(workload, model="m", seed=3)
    with serve(tmp_path, faults={"reset_mid_stream_every": 3}) as engine:
        engine.start()
        log = load(target(engine), requests, closed(1))
    # The engine counts its readiness request as the first.
    statuses = [result.status for result in request_results(log)]
    assert statuses == ["ok", "connection-reset", "not-sent", "not-sent"]
