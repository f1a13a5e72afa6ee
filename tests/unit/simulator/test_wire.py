"""Bytes on the wire, requests and metrics, without a server."""

import asyncio
import json

import pytest

from gauntlet.harness.simulator.answers import EOS, CallToken, Reply
from gauntlet.harness.simulator.config import (
    FaultsConfig,
    SchedulerConfig,
    SimulatorConfig,
    TimingConfig,
)
from gauntlet.harness.simulator.engine import Engine
from gauntlet.harness.simulator.faults import Fault, FaultPlan
from gauntlet.harness.simulator.kv_cache import KvCache
from gauntlet.harness.simulator.metrics import EngineMetrics
from gauntlet.harness.simulator.protocol import ApiError, Served, parse_chat, parse_completion
from gauntlet.harness.simulator.responses import StreamedResponse
from gauntlet.harness.simulator.scheduler import Generation, Scheduler
from gauntlet.harness.simulator.timer import DeadlineTimer

SERVED = Served(model="m", max_model_len=100)


class FakeTransport:
    def __init__(self, unsent=0):
        self.written = b""
        self.unsent = unsent
        self.aborted = False

    def is_closing(self):
        return self.aborted

    def get_write_buffer_size(self):
        return self.unsent

    def get_extra_info(self, _name):
        return None

    def write(self, data):
        self.written += data

    def abort(self):
        self.aborted = True


def streamed(tokens, *, chat=False, finish="stop", fault=None, unsent=0):
    """Emit all tokens; return the transport, events, and whether the response is complete."""

    async def go():
        transport, aborted = FakeTransport(unsent), []
        response = StreamedResponse(
            chat=chat, model="m", transport=transport, abort=aborted.append, fault=fault
        )
        response.include_usage = True
        response.add(Reply(tokens=tokens, finish=finish), [1, 2, 3], [0] * len(tokens), 0.0)
        for number in range(len(tokens)):
            if not aborted:
                response.choices[0].generation.emitted += 1
                response.choices[0].generation.emit(number, 0.0)
        return transport, response.done.done(), response.failed

    transport, done, failed = asyncio.run(go())
    raw, body = transport.written, b""
    while raw:
        size, raw = raw.split(b"\r\n", 1)
        body, raw = body + raw[: int(size, 16)], raw[int(size, 16) + 2 :]
    events = [event.removeprefix("data: ") for event in body.decode().split("\n\n") if event]
    return transport, [e if e == "[DONE]" else json.loads(e) for e in events], (done, failed)


def test_a_completion_is_one_event_per_token_then_usage_then_done():
    _, events, state = streamed((" a", ' "b\n', EOS))
    *chunks, usage, end = events
    assert [c["choices"][0]["text"] for c in chunks] == [" a", ' "b\n', ""]
    assert [c["choices"][0]["finish_reason"] for c in chunks] == [None, None, "stop"]
    assert {c["object"] for c in chunks} == {"text_completion"}
    assert usage["choices"] == []
    assert usage["usage"]["completion_tokens"] == 3
    assert usage["usage"]["prompt_tokens"] == 3
    assert end == "[DONE]"
    assert state == (True, False)


def test_a_chat_begins_with_the_role_and_streams_calls():
    calls = (CallToken(0, "f", ""), CallToken(0, None, '{"a":'), CallToken(0, None, " 1}"), EOS)
    _, events, _ = streamed(calls, chat=True, finish="tool_calls")
    deltas = [event["choices"][0]["delta"] for event in events[:-2]]
    assert deltas[0] == {"role": "assistant", "content": ""}
    named = deltas[1]["tool_calls"][0]
    assert (named["index"], named["type"], named["function"]["name"]) == (0, "function", "f")
    arguments = [d["tool_calls"][0]["function"]["arguments"] for d in deltas[1:4]]
    assert json.loads("".join(arguments)) == {"a": 1}
    assert deltas[4] == {}
    assert events[-3]["choices"][0]["finish_reason"] == "tool_calls"


def test_a_chat_of_one_token_is_whole():
    _, events, _ = streamed((" x",), chat=True, finish="length")
    assert [event["choices"][0]["delta"] for event in events[:-2]] == [
        {"role": "assistant", "content": ""},
        {"content": " x"},
    ]


def test_mid_stream_faults_strike_after_some_chunks():
    tokens = (" a",) * 10
    _, events, state = streamed(tokens, fault=Fault.ERROR_EVENT)
    assert [("error" in event) for event in events] == [False] * 3 + [True, False]
    assert state == (True, True)
    transport, events, state = streamed(tokens, fault=Fault.RESET)
    assert (transport.aborted, len(events), state) == (True, 3, (False, False))
    transport, events, state = streamed(tokens, fault=Fault.STALL)
    assert (transport.aborted, len(events), state) == (False, 3, (False, False))


def test_a_client_that_does_not_read_is_cut_off():
    transport, events, _ = streamed((" a", " b"), unsent=1 << 30)
    assert transport.aborted
    assert not events


def completion(**body):
    return parse_completion(json.dumps(body).encode(), SERVED)


def chat(**body):
    return parse_chat(json.dumps(body).encode(), SERVED)


@pytest.mark.parametrize(
    ("prompt", "sizes"),
    [("a b", [2]), (["a b", "c"], [2, 1]), ([1, 2, 3], [3]), ([[1, 2], [3]], [2, 1])],
)
def test_prompts_come_in_four_forms(prompt, sizes):
    work = completion(prompt=prompt, max_tokens=4, temperature=0, logprobs=1, top_k=3)
    assert [len(p.token_ids) for p in work.prompts] == sizes
    assert not work.stream


@pytest.mark.parametrize(
    ("body", "status", "text"),
    [
        ({"prompt": "a", "model": "x"}, 404, "does not exist"),
        ({"prompt": [1] * 100}, 400, "maximum context length is 100 tokens"),
        ({"prompt": [1] * 50, "max_tokens": 51}, 400, "maximum context length"),
        ({"prompt": "a", "max_tokens": 0}, 400, "at least 1"),
        ({"prompt": "a", "echo": True}, 400, "echo"),
        ({"prompt": "a", "n": 2}, 400, "n must be 1"),
        ({"prompt": "a", "temperature": -1}, 400, "temperature"),
        ({"prompt": "a", "stream_options": {}}, 400, "stream=True"),
        ({"prompt": ""}, 400, "empty"),
        ({"prompt": [[]]}, 400, "empty"),
        ({"prompt": []}, 400, "prompt must be"),
        ({"prompt": [1, "a"]}, 400, "prompt must be"),
        ({"prompt": [True]}, 400, "prompt must be"),
        ({"prompt": [-1]}, 400, "token ids"),
        ({"prompt": [["a"]]}, 400, "token ids"),
        ({}, 400, "prompt must be"),
    ],
)
def test_requests_that_cannot_be_served_say_why(body, status, text):
    with pytest.raises(ApiError, match=text) as caught:
        completion(**body)
    assert caught.value.status == status
    assert caught.value.body["error"]["code"] == status


def test_broken_json_is_a_bad_request():
    with pytest.raises(ApiError, match="Invalid JSON"):
        parse_completion(b"{", SERVED)


def test_chat_defaults_to_the_rest_of_the_context_and_reads_parts():
    user = {"role": "user", "content": [{"type": "text", "text": "hi"}, {"type": "image_url"}]}
    work = chat(messages=[{"role": "system", "content": "s"}, user], stop="x")
    (prompt,) = work.prompts
    assert prompt.ask.text == "hi"
    assert prompt.ask.max_tokens == 100 - len(prompt.token_ids)
    assert prompt.ask.stop == ("x",)


def test_named_tools_must_be_offered():
    tools = [{"type": "function", "function": {"name": name}} for name in ("f", "g")]
    messages = [{"role": "user", "content": "x"}]
    named = {"type": "function", "function": {"name": "g"}}
    ask = chat(messages=messages, tools=tools, tool_choice=named).prompts[0].ask
    assert ([tool.name for tool in ask.tools], ask.tool_choice) == (["g"], "required")
    named["function"]["name"] = "h"
    with pytest.raises(ApiError, match="'h'"):
        chat(messages=messages, tools=tools, tool_choice=named)
    with pytest.raises(ApiError, match="messages"):
        chat(messages=[])


def test_faults_fall_on_every_nth_request_in_order_of_precedence():
    plan = FaultPlan(FaultsConfig(die_after_requests=5, http_503_every=2, truncate_every=3))
    found = [plan.next() for _ in range(6)]
    assert found == [
        None,
        Fault.HTTP_503,
        Fault.TRUNCATE,
        Fault.HTTP_503,
        Fault.DIE,
        Fault.HTTP_503,
    ]


def test_metrics_have_the_engines_names_labels_and_number_format():
    metrics = EngineMetrics()
    cache = KvCache(blocks=4, block_size=16, prefix_caching=True)
    scheduler = Scheduler(SchedulerConfig(), TimingConfig(), cache, noise=lambda: 1.0)
    done = Generation(prompt=[1] * 9, reply=[1, 1, 1], emit=lambda *_: None, admitted_s=1.0)
    done.arrival_s, done.emitted, done.last_token_s = 0.5, 3, 2.2
    metrics.first_token(done, 2.0)
    metrics.finish(done, "length")
    metrics.finish(done, "abort")
    metrics.generation_tokens = 1_345_618
    lines = metrics.render(scheduler, model='a"b', started=1.0).splitlines()
    label = 'model_name="a\\"b"'
    assert f'vllm:generation_tokens_total{{engine="0",{label}}} 1.345618e+06' in lines
    assert f'vllm:prompt_tokens_total{{engine="0",{label}}} 9.0' in lines
    ttft = f'vllm:time_to_first_token_seconds_bucket{{engine="0",le="%s",{label}}} %s'
    assert ttft % ("1.0", "0.0") in lines
    assert ttft % ("2.5", "1.0") in lines
    assert ttft % ("+Inf", "1.0") in lines
    for reason, count in (("length", "1.0"), ("abort", "1.0"), ("stop", "0.0")):
        name = "vllm:request_success_total"
        assert f'{name}{{engine="0",finished_reason="{reason}",{label}}} {count}' in lines
    assert f'vllm:e2e_request_latency_seconds_count{{engine="0",{label}}} 1.0' in lines


def test_the_timer_fires_once_at_or_after_its_deadline():
    async def go():
        loop, fired = asyncio.get_running_loop(), []
        timer = DeadlineTimer(loop, lambda: fired.append(time_of(loop)))
        start = time_of(loop)
        timer.arm(start + 5)
        timer.arm(start + 0.02)
        await asyncio.sleep(0.06)
        timer.arm(0)
        await asyncio.sleep(0.02)
        timer.arm(time_of(loop) + 0.01)
        timer.disarm()
        await asyncio.sleep(0.03)
        timer.close()
        return fired[0] - start, len(fired)

    def time_of(loop):
        return loop.time()

    delay, count = asyncio.run(go())
    assert delay >= 0.02
    assert count == 2


def test_the_engine_serves_on_nominal_time_and_counts_aborts():
    async def go():
        timing = TimingConfig(request_overhead_ms=1, decode_step_ms=2, decode_ms_per_seq=0)
        loop = asyncio.get_running_loop()
        engine, instants, ended = (
            Engine(SimulatorConfig(timing=timing), loop),
            [],
            loop.create_future(),
        )

        def emit(number, now):
            instants.append(now)
            if number == 4:
                ended.set_result(None)

        start = loop.time()
        one = Generation(prompt=[1], reply=[1] * 5, emit=emit, arrival_s=start)
        two = Generation(prompt=[2], reply=[1] * 500, emit=lambda *_: None, arrival_s=start)
        three = Generation(prompt=[3], reply=[1], emit=lambda *_: None, arrival_s=start + 60)
        for generation in (one, two, three):
            engine.submit(generation)
        await asyncio.wait_for(ended, 5)
        for generation in (one, two, three):
            engine.abort(generation)
        await asyncio.sleep(0.02)
        engine.close()
        return instants[-1] - start, engine

    seconds, engine = asyncio.run(go())
    assert seconds >= 0.001 + 5 * 0.002
    assert engine.metrics.finished["stop"] == 1
    assert engine.metrics.finished["abort"] == 2
    assert engine.scheduler.cache.usage == 0


def test_without_timerfd_the_loops_own_timer_serves(monkeypatch):
    monkeypatch.setattr(DeadlineTimer, "_create", lambda _self: -1)

    async def go():
        loop, fired = asyncio.get_running_loop(), []
        timer = DeadlineTimer(loop, lambda: fired.append(1))
        timer.arm(loop.time() + 0.01)
        await asyncio.sleep(0.04)
        timer.arm(loop.time() + 0.01)
        timer.close()
        await asyncio.sleep(0.03)
        return fired

    assert asyncio.run(go()) == [1]
