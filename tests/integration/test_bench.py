"""``gauntlet bench`` as a person would run it, against the simulator, healthy and broken."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import uuid
from pathlib import Path

import pytest
import yaml

from gauntlet.warehouse.store import open_store
from integration.processes import MARK, describe, wait_gone

pytestmark = pytest.mark.alone

FULL = os.environ.get("GAUNTLET_SLOW") == "full"
KILLS = 100 if FULL else 2

LOAD = {
    "name": "random",
    "arrivals": {"kind": "closed", "concurrency": 4},
    "prompts": {"kind": "random", "prompt_tokens": 32, "output_tokens": 8},
    "requests": 24,
    "calibration": "off",
    "deadlines": {"idle_s": 3, "total_s": 10},
}
TOOLS = {
    "name": "tools",
    "kind": "tool_calls",
    "source": {"generate": 20, "seed": 6},
    "items": 20,
    "concurrency": 8,
}
FAST = {
    "name": "fast",
    "model": "m",
    "timing": {"decode_step_ms": 4.0, "request_overhead_ms": 1.0, "startup_s": 0.0},
}


def recipe(folder, *loads, name="small", **fields):
    settings = folder / "engine.yaml"
    if not settings.exists():
        settings.write_text(yaml.safe_dump(FAST))
    body = {
        "name": name,
        "description": "A test.",
        "owner": "tests",
        "engine": {"kind": "simulator", "config": str(settings)},
        "workloads": list(loads) or [LOAD],
        **fields,
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(body))
    return path


def engine(folder, **changes):
    (folder / "engine.yaml").write_text(yaml.safe_dump({**FAST, **changes}))


def command(folder, *arguments):
    return [
        sys.executable, "-m", "gauntlet", "bench", *map(str, arguments),
        "--warehouse", str(folder / "warehouse"),
    ]  # fmt: skip


def bench(folder, *arguments, timeout=120):
    return subprocess.run(
        command(folder, *arguments),
        check=False,
        capture_output=True,
        text=True,
        timeout=timeout,
        cwd=folder,
    )


def run(folder, path, *arguments, out="out", **fields):
    done = bench(folder, "run", path, "--out", folder / out, "--json", *arguments, **fields)
    done.objects = [json.loads(line) for line in done.stdout.splitlines()]
    return done


def stored(folder, statement):
    with open_store(str(folder / "warehouse")) as store:
        return store.sql(statement)


def test_every_repetition_is_printed_kept_and_stored(tmp_path):
    path = recipe(tmp_path, repetitions=2, evals=[TOOLS])
    done = run(tmp_path, path)
    assert done.returncode == 0, done.stderr
    assert [(each["workload"], each["repetition"]) for each in done.objects] == [
        ("random", 0),
        ("tools", 0),
        ("random", 1),
    ]
    load = done.objects[0]
    assert load["metrics"]["ttft_ms"]["p50"] > 0
    assert load["metrics"]["prefix_cache_hit_share"]["total"] == 0.0
    assert load["metrics"]["server.generation_tokens"]["total"] == 24 * 8
    assert done.objects[1]["metrics"]["accuracy"]["mean"] > 0.5
    rows = stored(tmp_path, "SELECT repetition_id, status, config_fp, seed FROM repetitions FINAL")
    assert {row["repetition_id"] for row in rows} == {o["repetition_id"] for o in done.objects}
    loads = [row for row in rows if "/random/" in row["repetition_id"]]
    assert len({row["config_fp"] for row in loads}) == 1, "one series, one segment"
    assert len({row["seed"] for row in loads}) == 2, "no repetition replays another's prompts"
    statuses = stored(tmp_path, "SELECT status FROM runs FINAL ORDER BY version")
    assert [row["status"] for row in statuses] == ["running", "complete"]
    told = stored(tmp_path, "SELECT settings['between_repetitions'] AS how FROM repetitions FINAL")
    assert {row["how"] for row in told} == {"new_seed"}
    artifact = Path(load["artifact"])
    assert {
        "record.json",
        "identity.json",
        "telemetry.jsonl.gz",
        "events-0.bin.gz",
        "bytes-0.bin.gz",
    } <= {each.name for each in artifact.iterdir()}
    (telemetry,) = stored(tmp_path, "SELECT count() AS n FROM telemetry WHERE metric = 'rss_mib'")
    assert telemetry["n"] > 0


def test_what_is_kept_reproduces_the_run(tmp_path):
    path = recipe(tmp_path)
    first = run(tmp_path, path)
    script = tmp_path / "out" / "reproduce.sh"
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "GAUNTLET_WAREHOUSE": str(tmp_path / "warehouse"),
    }
    again = subprocess.run(
        [str(script), str(tmp_path / "again")],
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd=tmp_path,
        env=environment,
    )
    assert again.returncode == 0, again.stderr
    rows = stored(
        tmp_path, "SELECT settings['plan_digest'] AS plan, config_fp FROM repetitions FINAL"
    )
    assert len(rows) == 2
    assert len({row["plan"] for row in rows}) == 1, "every byte that was sent is the same"
    assert len({row["config_fp"] for row in rows}) == 1
    assert first.returncode == 0


def test_two_builds_alternate_on_one_host(tmp_path):
    slow = tmp_path / "slow.yaml"
    slow.write_text(yaml.safe_dump({**FAST, "timing": {**FAST["timing"], "decode_step_ms": 8.0}}))
    path = recipe(
        tmp_path,
        comparison={"candidate": {"engine.config": str(slow)}},
        blocks={"min": 1, "max": 1},
    )
    done = run(tmp_path, path)
    assert done.returncode == 0, done.stderr
    assert "".join(each["side"][0] for each in done.objects) == "bccb"
    tpot = {
        side: [e["metrics"]["tpot_ms"]["p50"] for e in done.objects if e["side"] == side]
        for side in ("baseline", "candidate")
    }
    assert min(tpot["candidate"]) > 1.5 * max(tpot["baseline"])
    pairs = stored(
        tmp_path,
        "SELECT pair, uniqExact(settings['plan_digest']) AS plans, uniqExact(config_fp) AS configs "
        "FROM repetitions FINAL GROUP BY pair",
    )
    assert {(row["plans"], row["configs"]) for row in pairs} == {(1, 1)}


def test_a_failed_load_does_not_stop_the_evals_nor_the_reverse(tmp_path):
    # An answer that is no stream fails every request of one load and of no other.
    broken = {**LOAD, "name": "broken", "body": {"stream": False}}
    evals = [
        {"name": "lost", "kind": "bfcl", "categories": ["multiple"], "environment": "nowhere"},
        TOOLS,
    ]
    done = run(tmp_path, recipe(tmp_path, broken, LOAD, evals=evals))
    assert done.returncode == 5, done.stderr
    status = {each["workload"]: each["status"] for each in done.objects}
    assert status == {"broken": "failed", "random": "valid", "lost": "failed", "tools": "valid"}
    assert "24 of 24 requests failed" in done.objects[0]["reasons"][0]
    assert done.objects[0]["metrics"]["ttft_ms"]["p50"] is None


def test_an_engine_that_dies_is_named_and_started_again(tmp_path):
    engine(tmp_path, faults={"die_after_requests": 12})
    other = {**LOAD, "name": "second", "requests": 4}
    done = run(tmp_path, recipe(tmp_path, LOAD, other))
    assert done.returncode == 5, done.stderr
    first, second = done.objects
    assert (first["status"], second["status"]) == ("failed", "valid")
    assert "simulator" in first["reasons"][0] or "ended" in first["reasons"][0]


def test_an_engine_that_never_starts_fails_every_repetition_and_soon(tmp_path):
    engine(tmp_path, faults={"die_at_start": True})
    done = run(tmp_path, recipe(tmp_path, repetitions=6), timeout=60)
    assert done.returncode == 5, done.stderr
    assert [each["status"] for each in done.objects] == ["failed"] * 6


def test_a_cache_that_an_earlier_run_filled_makes_a_repetition_invalid(tmp_path):
    """The trap of replaying a seed on a server that is still warm."""
    from gauntlet.harness.engines.engine import Engine
    from gauntlet.harness.engines.simulator import simulator_launch

    path = recipe(tmp_path)
    launch = simulator_launch(tmp_path / "engine.yaml", workdir=tmp_path, side="s", seed=1)
    with Engine(launch, side="single", log=tmp_path / "log") as server:
        server.start()
        url = ("--base-url", server.endpoint.base_url)
        cold = run(tmp_path, path, *url, out="cold")
        warm = run(tmp_path, path, *url, out="warm")
        reset = run(tmp_path, path, *url, "--set", "between_repetitions=reset_cache", out="reset")
    assert [done.returncode for done in (cold, warm, reset)] == [0, 5, 0]
    assert "warm-cache: " in warm.objects[0]["reasons"][0]
    assert warm.objects[0]["metrics"]["prefix_cache_hit_share"]["total"] > 0.4


def test_texts_that_were_sent_before_are_not_measured_again(tmp_path):
    """Nobody here can count their tokens, so the first time says how much of them may be cached."""
    prompts = {"kind": "questions", "format": "gsm8k", "source": {"generate": 30, "seed": 4}}
    load = {**LOAD, "prompts": {**prompts, "output_tokens": 8}, "requests": 24}
    path = recipe(tmp_path, load, repetitions=2)
    replayed = run(tmp_path, path)
    assert [each["status"] for each in replayed.objects] == ["valid", "invalid"], replayed.stderr
    assert "warm-cache: " in replayed.objects[1]["reasons"][0]
    reset = run(tmp_path, path, "--set", "between_repetitions=reset_cache", out="reset")
    assert [each["status"] for each in reset.objects] == ["valid", "valid"], reset.stderr
    engine(tmp_path, dev_mode=False)
    silent = run(tmp_path, path, "--set", "between_repetitions=reset_cache", out="silent")
    assert "did not confirm" in silent.objects[0]["reasons"][0]


def test_a_run_that_was_killed_goes_on_with_what_is_missing(tmp_path):
    path = recipe(tmp_path, repetitions=4)
    process = subprocess.Popen(
        command(tmp_path, "run", path, "--out", tmp_path / "out", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=tmp_path,
    )
    first = json.loads(process.stdout.readline())
    process.send_signal(signal.SIGKILL)
    process.wait(10)
    process.stdout.close()
    done = run(tmp_path, path, "--resume")
    assert done.returncode == 0, done.stderr
    assert [each["repetition"] for each in done.objects] == [0, 1, 2, 3]
    assert done.objects[0]["resumed"]
    assert not done.objects[-1]["resumed"]
    assert done.objects[0]["repetition_id"] == first["repetition_id"]
    (row,) = stored(
        tmp_path, "SELECT count() AS n, uniqExact(repetition_id) AS ids FROM repetitions"
    )
    assert row == {"n": 4, "ids": 4}


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_no_process_and_nothing_half(tmp_path):
    """A hundred kills under `make check-full`: no engine, worker or calibration server is left."""
    path = recipe(tmp_path, {**LOAD, "calibration": "when_possible"}, repetitions=50)
    rng = random.Random(5)
    mark = uuid.uuid4().hex
    for number in range(KILLS):
        process = subprocess.Popen(
            command(tmp_path, "run", path, "--out", tmp_path / f"out{number}"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=tmp_path,
            env={**os.environ, MARK: mark},
        )
        time.sleep(rng.uniform(0.3, 6.0))
        process.kill()
        process.wait(10)
        assert not (left := wait_gone(mark, 15)), (number, describe(left))
    (row,) = stored(
        tmp_path,
        "SELECT count() AS n, uniqExact(repetition_id) AS ids FROM repetitions",
    )
    assert row["n"] == row["ids"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_measured(tmp_path, number):
    path = recipe(tmp_path, repetitions=30)
    process = subprocess.Popen(
        command(tmp_path, "run", path, "--out", tmp_path / "out", "--json"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    process.stdout.readline()
    process.send_signal(number)
    _, told = process.communicate(timeout=30)
    assert process.returncode == 130, told
    statuses = stored(tmp_path, "SELECT status FROM runs FINAL ORDER BY version")
    assert [row["status"] for row in statuses] == ["running", "interrupted"]
    (row,) = stored(tmp_path, "SELECT count() AS n FROM repetitions")
    assert row["n"] >= 1
    assert json.loads((tmp_path / "out" / "run.json").read_text())["status"] == "interrupted"


def test_the_client_is_calibrated_before_it_is_believed(tmp_path):
    done = run(tmp_path, recipe(tmp_path, {**LOAD, "calibration": "required"}))
    assert done.returncode == 0, done.stderr
    (row,) = stored(tmp_path, "SELECT settings FROM repetitions FINAL")
    assert row["settings"]["calibration.ttft_ms.mean"].endswith(" %")
    assert (tmp_path / "out" / "calibration" / "4-streams" / "calibration.json").exists()


def test_without_a_compiler_a_required_calibration_is_missing_not_passed(tmp_path):
    path = recipe(tmp_path, {**LOAD, "calibration": "required"})
    bare = tmp_path / "bin"
    bare.mkdir()
    done = subprocess.run(
        command(tmp_path, "run", path, "--out", tmp_path / "out", "--json"),
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
        env={**os.environ, "PATH": str(bare), "XDG_CACHE_HOME": str(tmp_path / "cache")},
    )
    assert done.returncode == 5, done.stderr
    report = json.loads(done.stdout)
    assert report["status"] == "invalid"
    assert "client not calibrated: no C compiler" in report["reasons"][0]


@pytest.mark.parametrize(
    ("arguments", "status", "text"),
    [
        pytest.param(["run", "nosuch"], 2, "unknown recipe 'nosuch'", id="recipe"),
        pytest.param(["run", "smoke"], 2, "the recipe names no engine", id="no-engine"),
        pytest.param(
            ["run", "smoke", "--base-url", "ftp://x"], 2, "ftp://x", id="not-a-url"
        ),
        pytest.param(
            ["run", "smoke", "--base-url", "http://127.0.0.1:9", "--ready-timeout", "1",
             "--no-calibration"],
            5, "failed", id="nobody-there",
        ),
        pytest.param(
            ["run", "smoke", "--set", "workloads.random.requsts=3", "--runtime", "simulator"],
            2, "did you mean 'requests'", id="setting",
        ),
        pytest.param(
            ["run", "smoke", "--point", "x", "--runtime", "simulator"], 2, "unknown point",
            id="point",
        ),
        pytest.param(["run", "smoke", "--resume"], 2, "needs --out", id="resume-nothing"),
        pytest.param(
            ["run", "smoke", "--base-url", "http://x", "--set", "between_repetitions=restart"],
            2, "restart needs a server that is started here", id="restart-a-url",
        ),
        pytest.param(
            ["run", "smoke", "--candidate-url", "http://x"], 2, "the other is --base-url",
            id="one-side",
        ),
        pytest.param(
            ["run", "smoke", "--resume", "--out", "empty"], 2, "no run to resume", id="no-run"
        ),
        pytest.param(
            ["run", "gpt_oss_120b-h200", "--engine-venv", "nowhere"], 2, "no vLLM in nowhere",
            id="no-vllm",
        ),
        pytest.param(
            ["search", "smoke", "--runtime", "simulator"], 2, "has no search", id="search"
        ),
    ],
)  # fmt: skip
def test_mistakes_are_named(tmp_path, arguments, status, text):
    done = bench(tmp_path, *arguments)
    assert done.returncode == status, done.stderr
    assert text in done.stderr


def test_a_dry_run_starts_and_writes_nothing(tmp_path):
    path = recipe(tmp_path, repetitions=2)
    done = bench(tmp_path, "run", path, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "2 repetitions" in done.stdout
    assert "simulator" in done.stdout
    assert sorted(each.name for each in tmp_path.iterdir()) == ["engine.yaml", "small.yaml"]


def test_a_missing_data_file_is_found_before_an_engine_starts(tmp_path):
    load = {**LOAD, "prompts": {"kind": "jsonl", "file": "gone.jsonl"}}
    done = run(tmp_path, recipe(tmp_path, load))
    assert done.returncode == 2
    assert "gone.jsonl" in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_full_disk_ends_the_run_and_loses_nothing_that_was_kept(tmp_path):
    small = tmp_path / "small-disk"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=300m", "tmpfs", str(small)],
        check=False,
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("cannot mount a small file system here")
    try:
        path = recipe(tmp_path, repetitions=3)
        filler = small / "filler"
        filler.write_bytes(bytes(299 << 20))
        done = run(tmp_path, path, out="small-disk/out")
        assert done.returncode == 2
        assert "MiB are free" in done.stderr
        assert not (small / "out" / "repetitions").exists()
    finally:
        subprocess.run(["umount", str(small)], check=True)


def test_a_search_finds_the_concurrency_that_keeps_its_limit(tmp_path):
    """A step takes 4 ms and 0.5 ms a sequence more: about 6 ms at 4 streams, 8 ms at 8."""
    engine(tmp_path, timing={**FAST["timing"], "decode_ms_per_seq": 0.5})
    path = recipe(
        tmp_path,
        LOAD,
        objectives=[
            {"workload": "random", "metric": "tpot_ms", "statistic": "mean", "at_most": 7.2}
        ],
        search={
            "parameter": "concurrency", "low": 2, "high": 12, "tolerance": 0.4, "probe_requests": 30
        },
    )  # fmt: skip
    done = bench(tmp_path, "search", path, "--out", tmp_path / "out", "--json", timeout=200)
    answer = json.loads(done.stdout)
    assert answer["probes"], done.stderr
    assert (done.returncode == 0) == (answer["status"] == "resolved")
    assert answer["best"] is None or 2 <= answer["best"] <= 8
    rows = stored(tmp_path, "SELECT point FROM repetitions FINAL")
    assert len(rows) == len(answer["probes"])
    assert json.loads((tmp_path / "out" / "answer.json").read_text()) == answer


def test_a_run_ends_at_its_recipe_s_timeout_and_can_go_on(tmp_path):
    """What was under way is a failed row, what had not begun is measured by the next one."""
    engine(tmp_path, timing={**FAST["timing"], "decode_step_ms": 500.0})
    path = recipe(tmp_path, repetitions=3, timeout_minutes=0.05)
    done = run(tmp_path, path, timeout=60)
    assert done.returncode == 4, done.stderr
    assert "timeout_minutes, 0.05" in done.stderr
    (first,) = done.objects
    assert first["reasons"][0].startswith("timeout: ")
    engine(tmp_path)
    again = run(tmp_path, path, "--resume")
    assert [each["status"] for each in again.objects] == ["failed", "valid", "valid"]


@pytest.mark.slow
@pytest.mark.skipif(not FULL, reason="fourteen seconds of load; `make check-full` runs it")
def test_a_soak_sees_a_leak(tmp_path):
    engine(tmp_path, faults={"leak_mb_per_request": 0.5})
    load = {**LOAD, "arrivals": {"kind": "constant", "rate": 40}, "requests": 10}
    limits = {"rss_mb_per_h_at_most": 100, "rss_mb_per_1k_requests_at_most": 100}
    soak = {"duration_s": 14, "sample_s": 0.5, "settle_s": 1, "rate_share": 0.5, **limits}
    done = run(tmp_path, recipe(tmp_path, load, soak=soak))
    assert done.returncode == 6, done.stderr
    assert [each["point"] for each in done.objects] == ["soak"] * 7
    growth = json.loads((tmp_path / "out" / "soak.json").read_text())
    assert growth["per_1k_requests_mb"]["value"] == pytest.approx(524, rel=0.3)
    assert "MB/h" in growth["reasons"][0]


def test_an_objective_that_is_missed_is_no_invalid_measurement(tmp_path):
    limit = {"workload": "random", "metric": "ttft_ms", "statistic": "p50", "at_most": 0.01}
    done = run(tmp_path, recipe(tmp_path, objectives=[limit]))
    assert done.returncode == 6, done.stderr
    assert done.objects[0]["status"] == "valid"
    assert "ttft_ms p50 <= 0.01" in done.objects[0]["missed"][0]


def test_two_runs_at_once_share_one_warehouse(tmp_path):
    path = recipe(tmp_path)
    both = [
        subprocess.Popen(
            command(tmp_path, "run", path, "--out", tmp_path / f"out{n}"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        for n in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], told
    (row,) = stored(tmp_path, "SELECT uniqExact(run_id) AS runs FROM repetitions")
    assert row["runs"] == 2


def test_a_server_that_stalls_does_not_hold_the_run_up(tmp_path):
    engine(tmp_path, faults={"stall_mid_stream_every": 6})
    load = {**LOAD, "deadlines": {"idle_s": 0.5, "total_s": 5}}
    started = time.monotonic()
    done = run(tmp_path, recipe(tmp_path, load))
    assert done.returncode == 5
    assert "stalled" in done.objects[0]["reasons"][0]
    assert time.monotonic() - started < 60
