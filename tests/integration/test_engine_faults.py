"""Engines that fail in every way that we know: each has a class, and leaves nothing behind."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from loads import closed, load, planned

from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.errors import EngineDeath, EngineError
from gauntlet.harness.engines.group import EngineGroup
from gauntlet.harness.engines.launch import LaunchSpec
from gauntlet.harness.engines.simulator import simulator_launch
from gauntlet.harness.load.client import Target
from gauntlet.harness.load.results import request_results
from gauntlet.harness.telemetry.sampler import Sampler
from gauntlet.harness.telemetry.samples import read_samples
from gauntlet.harness.telemetry.sources.everything import engine_sources, machine_sources
from gauntlet.harness.telemetry.summary import summarise
from gauntlet.perf_eval.workloads import Deadlines
from integration.processes import MARK, describe, marked, wait_gone

KILLS = 100 if os.environ.get("GAUNTLET_SLOW") == "full" else 4
OWNER = Path(__file__).with_name("engine_owner.py")


@pytest.fixture
def mark():
    name = uuid.uuid4().hex
    yield name
    for pid in marked(name):
        os.kill(pid, signal.SIGKILL)


def write_config(folder, **settings):
    timing = {"decode_step_ms": 2.0, "request_overhead_ms": 0.0, "startup_s": 0.0}
    config = folder / "engine.yaml"
    config.write_text(yaml.safe_dump({"name": "x", "model": "m", "timing": timing, **settings}))
    return config


def simulated(folder, *, ready_timeout_s=20.0, mark="", log=None, changes=None, **settings):
    config = write_config(folder, **settings)
    spec = simulator_launch(
        config, workdir=folder, side="single", seed=1, ready_timeout_s=ready_timeout_s
    )
    spec = replace(spec, env={MARK: mark}, **(changes or {}))
    return Engine(spec, side="single", log=log or folder / "log")


def wait_until(condition, within_s=15.0):
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.02)
    return value


@pytest.mark.parametrize(
    ("settings", "changes", "said"),
    [
        ({"faults": {"slow_start_s": 60}}, {}, "GET /health answers 503"),
        ({"faults": {"never_healthy": True}}, {}, "GET /health answers 503"),
        ({"faults": {"http_503_every": 1}}, {}, "POST /v1/completions answers 503"),
        (
            {"timing": {"decode_step_ms": 60_000}},
            {"request_timeout_s": 0.2},
            "no answer to a request in 0.2 s",
        ),
    ],
    ids=["slow-start", "never-healthy", "healthy-but-busy", "healthy-but-hangs"],
)
def test_a_start_has_a_deadline(tmp_path, mark, settings, changes, said):
    # A busy machine may need a short deadline for starting Python alone.
    for deadline_s in (1.0, 5.0, 25.0):
        engine = simulated(
            tmp_path, ready_timeout_s=deadline_s, mark=mark, changes=changes, **settings
        )
        with pytest.raises(EngineError) as caught:
            engine.start()
        if (expected := f"not healthy in {deadline_s:g} s: {said}") in caught.value.message:
            break
    assert expected in caught.value.message
    assert "engine.yaml" in caught.value.hint
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_death_at_the_start(tmp_path):
    with pytest.raises(EngineDeath, match="ended with status 1 while it started") as caught:
        simulated(tmp_path, faults={"die_at_start": True}).start()
    assert caught.value.failure.failure == "crash"
    assert "simulated failure" in caught.value.failure.line
    assert "simulated failure" in caught.value.message


def test_death_in_the_first_real_request(tmp_path):
    with pytest.raises(EngineDeath, match="ended with status 1 while it started"):
        simulated(tmp_path, faults={"die_after_requests": 1}).start()


def test_death_while_it_is_waited_for(tmp_path, mark):
    engine = simulated(tmp_path, mark=mark, faults={"never_healthy": True})
    engine.launch()
    (pid,) = wait_until(lambda: engine.root_pids)
    killer = threading.Timer(0.5, os.kill, (pid, signal.SIGKILL))
    killer.start()
    with pytest.raises(EngineDeath, match=r"status 137 \(SIGKILL\) while it started: killed"):
        engine.start()
    killer.join()
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_a_wrong_setting_is_a_bad_argument(tmp_path):
    engine = simulated(tmp_path, answers={"acuracy": 1})
    with pytest.raises(EngineDeath, match="acuracy: unknown key") as caught:
        engine.start()
    assert (caught.value.ended.status, caught.value.failure.failure) == (2, "bad_arguments")


def test_death_during_a_load_is_told_while_the_load_still_runs(tmp_path):
    count = 40
    told = []
    with simulated(tmp_path, faults={"die_after_requests": 6}) as engine:
        engine.start()
        target = Target.of(engine.endpoint.base_url, "/v1/completions")
        deadlines = Deadlines(idle_s=0.5, total_s=5)
        with engine.on_death(told.append):
            log = load(target, planned(count), closed(4), deadlines=deadlines)
            wait_until(lambda: told)
        with pytest.raises(EngineDeath, match="ended with status 1 during random, pair 1"):
            engine.ensure_alive("during random, pair 1", settle_s=1.0)
    assert told[0].ended.status == 1
    counted = Counter(result.status for result in request_results(log))
    assert counted["ok"] < count
    assert sum(counted.values()) == count


def test_a_taken_port_is_found_before_the_start(tmp_path, mark):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        engine = simulated(tmp_path, mark=mark, changes={"port": port, "port_file": None})
        with pytest.raises(EngineError, match=f"port {port} of 127.0.0.1 is taken") as caught:
            engine.start()
    assert f"sport = :{port}" in caught.value.hint
    assert marked(mark) == []


def test_a_port_that_is_taken_in_between_has_its_class(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        argv = (sys.executable, "-m", "gauntlet", "simulator", "--port", port)
        engine = simulated(tmp_path, changes={"argv": argv})
        with pytest.raises(EngineDeath, match="port_in_use"):
            engine.start()


def test_a_wrong_model_is_told_with_the_models_that_are_served(tmp_path, mark):
    engine = simulated(tmp_path, mark=mark, changes={"model": "llama"})
    with pytest.raises(EngineError, match="wrong model: it serves m, not llama"):
        engine.start()
    assert not (left := wait_gone(mark, 5)), describe(left)


@pytest.fixture
def full_disk(tmp_path):
    """Yield the path of a log that cannot grow: on a tiny file system, else as a full device."""
    folder = tmp_path / "tiny"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode != 0:
        (tmp_path / "full").symlink_to("/dev/full")
        yield tmp_path / "full"
        return
    try:
        with contextlib.suppress(OSError), (folder / "rest").open("wb", buffering=0) as rest:
            while True:
                rest.write(bytes(4096))
        yield folder / "log"
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_full_disk_costs_the_log_but_not_the_measurement(tmp_path, full_disk, caplog):
    with simulated(tmp_path, log=full_disk) as engine:
        engine.start()
        engine.ensure_alive("with a full disk")
        wait_until(lambda: "incomplete: No space left on device" in caplog.text)
        os.kill(engine.root_pids[0], signal.SIGKILL)
        with pytest.raises(EngineDeath, match='"event": "listening"') as caught:
            engine.ensure_alive("with a full disk", settle_s=5)
    assert "is incomplete (No space left on device)" in caught.value.hint


def test_a_server_that_ignores_term_is_killed_with_its_children(tmp_path, mark):
    deaf = "import signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    child = f"{deaf}; print('deaf', flush=True); time.sleep(60)"
    code = (
        f"{deaf}\nimport subprocess\n"
        f"for _ in range(2): subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "time.sleep(60)"
    )
    spec = LaunchSpec(
        kind="x", label="deaf", argv=(sys.executable, "-c", code), env={MARK: mark}, port=1,
        stop_grace_s=0.3,
    )  # fmt: skip
    engine = Engine(spec, side="single", log=tmp_path / "log")
    engine.launch()
    wait_until(lambda: (tmp_path / "log").read_text().count("deaf") == 2)
    engine.close()
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_the_prefix_cache_is_reset_where_the_server_can(tmp_path):
    with simulated(tmp_path) as engine:
        engine.start()
        assert engine.reset_prefix_cache() is True
        assert engine.identity.arguments["simulator_config.kv_cache.block_size"] == "16"
        assert engine.identity.cache_config["num_gpu_blocks"] == "8192"
        assert (engine.identity.version, engine.identity.max_model_len) == ("x", 32_768)
    with simulated(tmp_path, dev_mode=False) as engine:
        engine.start()
        assert engine.reset_prefix_cache() is False
        assert engine.identity.arguments == {}


def grouped(folder, mark):
    config = write_config(folder)
    specs = [
        replace(
            simulator_launch(config, workdir=folder, side=label, seed=1),
            label=label,
            env={MARK: mark},
        )
        for label in ("prefill.0", "decode.0", "router")
    ]
    return EngineGroup(specs, side="candidate", logs=folder)


def test_the_death_of_a_member_is_the_death_of_the_group(tmp_path, mark):
    told = []
    with grouped(tmp_path, mark) as group:
        group.start()
        assert len(group.root_pids) == 3
        assert group.endpoint == group.members[-1].endpoint
        assert group.reset_prefix_cache() is True
        group.ensure_alive("while nothing was done")
        with group.on_death(told.append):
            os.kill(group.root_pids[1], signal.SIGKILL)
            wait_until(lambda: told)
        with pytest.raises(EngineDeath, match=r"the candidate engine \(decode.0\) ended"):
            group.ensure_alive("now")
    assert not (left := wait_gone(mark, 5)), describe(left)


def test_a_group_of_which_one_does_not_start_leaves_nothing(tmp_path, mark):
    group = grouped(tmp_path, mark)
    broken = replace(group.members[1].spec, argv=(sys.executable, "-c", "exit(3)"))
    specs = [group.members[0].spec, broken, group.members[2].spec]
    with pytest.raises(EngineDeath, match=r"\(decode.0\) ended with status 3"):
        EngineGroup(specs, side="candidate", logs=tmp_path).start()
    assert not (left := wait_gone(mark, 5)), describe(left)


@pytest.mark.slow
def test_no_orphan_is_left_however_its_owner_is_killed(tmp_path):
    rng = random.Random(5)
    write_config(tmp_path)
    ready = tmp_path / "ready"
    for number in range(KILLS):
        mark = uuid.uuid4().hex
        ready.unlink(missing_ok=True)
        owner = subprocess.Popen(
            [sys.executable, str(OWNER), str(tmp_path)],
            env={**os.environ, MARK: mark},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # One kill at least hits a whole engine, however slow the machine starts it.
        if number == 0:
            wait_until(ready.exists, within_s=60)
        else:
            time.sleep(rng.uniform(0.1, 1.2))
        owner.kill()
        owner.wait()
        assert not (left := wait_gone(mark, 10)), (number, describe(left))


def test_what_a_load_did_to_an_engine_is_counted_to_the_token(tmp_path):
    path = tmp_path / "telemetry.jsonl.gz"
    with simulated(tmp_path) as engine:
        engine.start()
        sources = [*engine_sources(engine), *machine_sources()]
        with Sampler(sources, path=path) as sampler:
            target = Target.of(engine.endpoint.base_url, "/v1/completions")
            start = sampler.mark()
            load(target, planned(20, prompt=64), closed(4))
            end = sampler.mark()
            load(target, planned(20, prompt=64), closed(4))
            again = sampler.mark()
        assert sampler.troubles == ()
    first = summarise(read_samples(path), start, end)
    assert (first.prompt_tokens, first.generation_tokens) == (20 * 64, 20 * 8)
    assert (first.prefix_cache_hit_rate, first.counter_resets) == (0.0, 0)
    assert first.server_rss_end_mib > 10
    assert first.host_memory_available_min_mib > 0
    second = summarise(read_samples(path), end, again)
    assert second.generation_tokens == 20 * 8
    assert second.prefix_cache_hit_rate > 0.5
