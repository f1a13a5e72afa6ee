"""The simulator as a process of its own, driven over HTTP. No upper bounds on times."""

import asyncio
import json
import os
import signal
import sys
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from gauntlet.core.proc import Service, run

QUICK = {
    "timing.request_overhead_ms": 0,
    "timing.decode_step_ms": 1,
    "timing.noise_cv": 0,
    "timing.startup_s": 0,
}
TOOLS = [{"type": "function", "function": {"name": "math_area", "parameters": {}}}]
KNOWLEDGE = (
    {"question": "How much is 9 plus 9?", "answer": "Twice nine.\n#### 18"},
    {
        "id": "t_1",
        "question": [[{"role": "user", "content": "Area of a 3 by 4 box?"}]],
        "function": [{"name": "math.area"}],
        "ground_truth": [{"math.area": {"w": [3], "h": [4], "unit": ["", "cm"]}}],
    },
)


@dataclass(frozen=True)
class Running:
    url: str
    pid: int
    service: Service


def argv(*extra, **settings):
    sets = [part for key, v in {**QUICK, **settings}.items() for part in ("--set", f"{key}={v}")]
    return [sys.executable, "-m", "gauntlet", "simulator", *sets, *extra]


@contextmanager
def simulator(folder: Path, *extra, **settings):
    log, port_file = folder / "log", folder / "port"
    command = argv("--port-file", str(port_file), *extra, **settings)
    with Service(command, log=log) as service:
        deadline = time.monotonic() + 30
        while not port_file.exists() or "listening" not in log.read_text():
            assert service.returncode is None, service.log_tail()
            assert time.monotonic() < deadline, service.log_tail()
            time.sleep(0.01)
        event = json.loads(log.read_text().splitlines()[0])
        assert event["port"] == int(port_file.read_text())
        yield Running(f"http://{event['host']}:{event['port']}", event["pid"], service)


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    """Share one healthy simulator that knows two things for sure."""
    folder = tmp_path_factory.mktemp("simulator")
    knowledge = folder / "knowledge.jsonl"
    knowledge.write_text("\n".join(json.dumps(row) for row in KNOWLEDGE))
    sure = {"answers.accuracy": 1, "answers.tool_accuracy": 1, "answers.verbosity": 3}
    with simulator(folder, "--knowledge", str(knowledge), **sure) as running:
        yield running


@asynccontextmanager
async def client(running):
    timeout = aiohttp.ClientTimeout(total=20)
    async with aiohttp.ClientSession(running.url, timeout=timeout) as session:
        yield session


async def post(session, path, **body):
    async with session.post(path, json=body) as answer:
        return answer.status, await answer.json()


async def events_of(session, path="/v1/completions", **body):
    """Events of a stream: parsed, with ``[DONE]`` as it is."""
    async with session.post(path, json={"stream": True, **body}) as answer:
        assert answer.status == 200
        assert answer.content_type == "text/event-stream"
        text = (await answer.read()).decode()
    found = [part.removeprefix("data: ") for part in text.split("\n\n") if part]
    return [part if part == "[DONE]" else json.loads(part) for part in found]


async def sample(session, name):
    """Sum over the labels of one metric."""
    async with session.get("/metrics") as answer:
        lines = (await answer.text()).splitlines()
    values = [float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name)]
    assert values, f"no metric {name}"
    return sum(values)


async def state(session):
    async with session.get("/simulator/state") as answer:
        return await answer.json()


async def until(check, seconds=10.0):
    """Wait until an asynchronous check holds."""
    deadline = time.monotonic() + seconds
    while not await check():
        assert time.monotonic() < deadline
        await asyncio.sleep(0.02)


def drive(running, work):
    """Run a coroutine function with a client."""

    async def go():
        async with client(running) as session:
            return await work(session)

    return asyncio.run(go())


def test_the_small_paths_answer_like_the_engine(engine):
    async def work(session):
        for path in ("/health", "/ping"):
            async with session.get(path) as answer:
                assert answer.status == 200
        async with session.get("/version") as answer:
            assert await answer.json() == {"version": "baseline"}
        async with session.get("/v1/models") as answer:
            (model,) = (await answer.json())["data"]
        assert (model["id"], model["max_model_len"]) == ("simulated-model", 32_768)

    drive(engine, work)


def test_token_id_streams_have_exact_counts_and_take_at_least_their_time(engine):
    async def work(session):
        before = await sample(session, "vllm:generation_tokens_total")
        started = time.monotonic()
        *chunks, usage, end = await events_of(
            session,
            prompt=list(range(100)),
            max_tokens=50,
            ignore_eos=True,
            stream_options={"include_usage": True},
        )
        assert time.monotonic() - started >= 0.05
        assert end == "[DONE]"
        assert len(chunks) == 50
        assert [c["choices"][0]["finish_reason"] for c in chunks] == [None] * 49 + ["length"]
        assert usage["usage"]["prompt_tokens"] == 100
        assert usage["usage"]["completion_tokens"] == 50
        assert await sample(session, "vllm:generation_tokens_total") == before + 50

    drive(engine, work)


def test_equal_requests_get_equal_text_and_the_second_hits_the_cache(engine):
    async def work(session):
        body = {"prompt": [5] * 100, "max_tokens": 20}
        async with session.post("/reset_prefix_cache") as answer:
            assert answer.status == 200
        answers = [(await post(session, "/v1/completions", **body))[1] for _ in range(2)]
        texts = {answer["choices"][0]["text"] for answer in answers}
        cached = [a["usage"]["prompt_tokens_details"]["cached_tokens"] for a in answers]
        assert len(texts) == 1
        assert cached == [0, 96]
        assert await sample(session, "vllm:prefix_cache_hits_total") >= 96

    drive(engine, work)


def test_list_prompts_get_a_choice_each(engine):
    async def work(session):
        body = {"prompt": ["one", "two two", "three"], "max_tokens": 4, "ignore_eos": True}
        _, whole = await post(session, "/v1/completions", **body)
        assert [choice["index"] for choice in whole["choices"]] == [0, 1, 2]
        assert whole["usage"]["completion_tokens"] == 12
        texts = ["", "", ""]
        *chunks, _ = await events_of(session, **body)
        for chunk in chunks:
            texts[chunk["choices"][0]["index"]] += chunk["choices"][0]["text"]
        assert texts == [choice["text"] for choice in whole["choices"]]

    drive(engine, work)


def test_known_maths_is_answered_and_stop_strings_are_honoured(engine):
    async def work(session):
        prompt = "Question: x?\nAnswer: y\n\nQuestion: How much is 9  plus 9?\nAnswer:"
        body = {"prompt": prompt, "max_tokens": 100}
        _, full = await post(session, "/v1/completions", **body, stop=["Question:", "</s>"])
        assert full["choices"][0]["text"].endswith("\n#### 18")
        assert full["choices"][0]["finish_reason"] == "stop"
        _, cut = await post(session, "/v1/completions", **body, stop="####")
        assert cut["choices"][0]["text"] == full["choices"][0]["text"].removesuffix("#### 18")
        messages = [{"role": "user", "content": prompt}]
        _, chat = await post(session, "/v1/chat/completions", messages=messages)
        assert chat["choices"][0]["message"]["content"].endswith("#### 18")

    drive(engine, work)


def test_tool_calls_come_whole_and_in_deltas(engine):
    async def work(session):
        body = {
            "messages": [{"role": "user", "content": "Area of a 3 by 4 box?"}],
            "tools": TOOLS,
        }
        path = "/v1/chat/completions"
        _, whole = await post(session, path, **body)
        choice = whole["choices"][0]
        (call,) = choice["message"]["tool_calls"]
        assert choice["finish_reason"] == "tool_calls"
        assert call["function"]["name"] == "math_area"
        assert json.loads(call["function"]["arguments"]) == {"w": 3, "h": 4}
        *chunks, _ = await events_of(session, path, **body)
        deltas = [chunk["choices"][0]["delta"] for chunk in chunks]
        parts = [part["tool_calls"][0]["function"] for part in deltas if "tool_calls" in part]
        assert parts[0]["name"] == "math_area"
        assert "".join(part["arguments"] for part in parts) == call["function"]["arguments"]

    drive(engine, work)


def test_errors_have_the_apis_form(engine):
    async def work(session):
        status, body = await post(session, "/v1/completions", prompt="a", model="other")
        assert (status, body["error"]["type"]) == (404, "NotFoundError")
        status, body = await post(session, "/v1/completions", prompt=[1] * 40_000)
        assert status == 400
        assert "maximum context length is 32768 tokens" in body["error"]["message"]
        async with session.post("/v1/chat/completions", data=b"{") as answer:
            assert answer.status == 400
        status, _ = await post(session, "/v1/chat/completions", messages=[])
        assert status == 400

    drive(engine, work)


def test_a_client_that_leaves_frees_its_blocks(engine):
    async def work(session):
        aborted = await sample(session, 'vllm:request_success_total{engine="0",finished_reason="a')
        free = (await state(session))["free_blocks"]
        body = {"prompt": [1] * 50, "max_tokens": 20_000, "ignore_eos": True}
        async with session.post("/v1/completions", json={**body, "stream": True}) as answer:
            await answer.content.readline()
            assert await sample(session, "vllm:num_requests_running") == 1
            assert await sample(session, "vllm:kv_cache_usage_perc") > 0
            answer.close()
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(post(session, "/v1/completions", **body), 0.1)

        async def idle():
            now = await state(session)
            return now["running"] == 0 and now["free_blocks"] == free

        await until(idle)
        after = await sample(session, 'vllm:request_success_total{engine="0",finished_reason="a')
        assert after == aborted + 2

    drive(engine, work)


def test_every_fault_of_one_request_shows(tmp_path):
    faults = {
        "faults.http_503_every": 2,
        "faults.reset_mid_stream_every": 3,
        "faults.error_event_every": 5,
        "faults.stall_mid_stream_every": 7,
        "faults.empty_stream_every": 11,
        "faults.refuse_every": 13,
        "faults.truncate_every": 17,
        "faults.leak_mb_per_request": 2,
    }
    body = {"prompt": [1, 2], "max_tokens": 40, "ignore_eos": True, "stream": True}

    async def outcome(session):
        """Tell how one request ends, and after how many chunks with text."""
        raw = b""
        try:
            async with session.post("/v1/completions", json=body) as answer:
                if answer.status != 200:
                    return str(answer.status), 0
                async with asyncio.timeout(0.4):
                    async for part in answer.content.iter_any():
                        raw += part
        except TimeoutError:
            return "stall", raw.count(b'"text"')
        except aiohttp.ClientError as error:
            return type(error).__name__, raw.count(b'"text"')
        ending = "error" if b'"error"' in raw else "done" if raw.endswith(b"[DONE]\n\n") else "cut"
        return ending, raw.count(b'"text"')

    async def work(session):
        memory = await sample(session, "process_resident_memory_bytes")
        outcomes = {number: await outcome(session) for number in range(1, 18)}
        assert await sample(session, "process_resident_memory_bytes") >= memory + (30 << 20)
        return outcomes

    with simulator(tmp_path, **faults) as running:
        seen = drive(running, work)
    assert seen[1] == ("done", 40)
    assert seen[2] == ("503", 0)
    assert seen[3][0] in {"ClientPayloadError", "ClientOSError", "ClientConnectionResetError"}
    assert seen[3][1] <= 3
    assert seen[5] == ("error", 3)
    assert seen[7] == ("stall", 3)
    assert seen[11] == ("done", 0)
    assert seen[13] == ("ServerDisconnectedError", 0)
    assert seen[17] == ("done", 20)


def test_it_dies_in_the_middle_of_the_nth_request(tmp_path):
    async def work(session):
        body = {"prompt": "x", "max_tokens": 40, "ignore_eos": True}
        assert len(await events_of(session, **body)) == 41
        with pytest.raises(aiohttp.ClientError):
            await events_of(session, **body)

    with simulator(tmp_path, **{"faults.die_after_requests": 2}) as running:
        drive(running, work)
        while running.service.returncode is None:
            time.sleep(0.01)
        assert running.service.returncode == 1
        assert "simulated crash" in running.service.log_tail()


def test_it_is_unhealthy_until_it_has_started(tmp_path):
    async def health(session):
        async with session.get("/health") as answer:
            return answer.status

    async def never(session):
        assert await health(session) == 503
        status, _ = await post(session, "/v1/completions", prompt="x")
        assert status == 503

    async def late(session):
        async def healthy():
            return await health(session) == 200

        await until(healthy)

    with simulator(tmp_path / "never", **{"faults.never_healthy": "true"}) as running:
        drive(running, never)
    started = time.monotonic()
    slow = {"timing.startup_s": 0.5, "faults.slow_start_s": 0.5}
    with simulator(tmp_path / "late", **slow) as running:
        drive(running, late)
        assert time.monotonic() - started >= 1


def test_sigterm_under_load_ends_it_with_status_0(tmp_path):
    async def work(session, running):
        body = {"prompt": [1], "max_tokens": 30_000, "ignore_eos": True, "stream": True}
        answers = [await session.post("/v1/completions", json=body) for _ in range(8)]
        for answer in answers:
            await answer.content.readline()
        started = time.monotonic()
        os.kill(running.pid, signal.SIGTERM)

        async def ended():
            return running.service.returncode is not None

        await until(ended)
        for answer in answers:
            answer.close()
        return running.service.returncode, time.monotonic() - started

    with simulator(tmp_path) as running:
        status, seconds = drive(running, lambda session: work(session, running))
    assert status == 0
    # The grace of Service is 3 s: past it the process would have been killed, not have ended.
    assert seconds < 3


def test_start_up_failures_have_their_exit_codes(engine, tmp_path):
    port = engine.url.rsplit(":", 1)[1]
    taken = run(argv("--port", port), timeout=30, check=False)
    assert (taken.returncode, taken.stdout) == (4, "")
    assert f"port {port}" in taken.stderr
    assert "--port 0" in taken.stderr
    config = tmp_path / "typo.yaml"
    config.write_text("timing:\n  noise_vc: 1\n")
    typo = run(argv("--config", str(config)), timeout=30, check=False)
    assert typo.returncode == 2
    assert "typo.yaml:2: timing.noise_vc" in typo.stderr
    assert "'noise_cv'" in typo.stderr
    dead = run(argv(**{"faults.die_at_start": "true"}), timeout=30, check=False)
    assert dead.returncode == 1
    assert "RuntimeError" in dead.stderr


def test_print_config_prints_a_config_that_loads(tmp_path):
    printed = run(argv("--print-config", seed=5), timeout=30).stdout
    path = tmp_path / "printed.yaml"
    path.write_text(printed)
    again = [sys.executable, "-m", "gauntlet", "simulator", "--config", str(path), "--print-config"]
    assert run(again, timeout=30).stdout == printed
    assert "seed: 5" in printed
