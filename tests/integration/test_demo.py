"""The main job end to end, on good days and on bad ones, with real processes."""

import json
import os
import random
import signal
import subprocess
import time
import uuid

import pytest
import yaml

from gauntlet.warehouse.shipping import ship_all
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store
from integration.demo_runs import RECIPE, Ended, command, demo, settings, spooled
from integration.processes import MARK, describe, wait_gone

pytestmark = pytest.mark.alone

KILLS = 20 if os.environ.get("GAUNTLET_SLOW") == "full" else 4


def test_the_same_build_is_qualified_and_everything_is_kept(tmp_path):
    ended = demo(tmp_path)
    assert ended.returncode == 0, ended.stderr
    assert "QUALIFIED" in ended.stdout
    assert (ended.run["status"], spooled(tmp_path)) == ("complete", 0)
    assert set(ended.verdicts().values()) == {"same"}
    repetitions = ended.query("run_repetitions", run_id=ended.run["run_id"])
    assert len(repetitions) == 4 + 4 + 2
    order = [row["side"] for row in repetitions if row["workload"] == "random"]
    assert order == ["baseline", "candidate", "candidate", "baseline"]
    for pair in (0, 1):
        digests = {
            r["dataset_digest"]
            for r in repetitions
            if r["workload"] == "random" and r["pair"] == pair
        }
        assert len(digests) == 1
    pipeline = tmp_path / "runs" / ended.run["run_id"] / "pipeline"
    assert yaml.safe_load((pipeline / "pipeline.yaml").read_text())["steps"]
    assert json.loads((pipeline / "selection.json").read_text())
    assert json.loads((pipeline / "parameters.json").read_text())


def test_a_slower_and_worse_build_is_not(tmp_path):
    candidate = settings(
        tmp_path, "bad", timing={"decode_step_ms": 24.0}, answers={"tool_accuracy": 0.6}
    )
    ended = demo(tmp_path, "--json", candidate=candidate)
    assert ended.returncode == 6, ended.stderr
    assert "NOT QUALIFIED" in ended.stderr
    result = json.loads(ended.stdout)
    assert (result["run_id"], result["outcome"]) == (ended.run["run_id"], "NOT QUALIFIED")
    verdicts = {verdict["subject"]: verdict["verdict"] for verdict in result["verdicts"]}
    assert verdicts == ended.verdicts()
    assert verdicts["load/random/tpot_ms/p50"] == "worse"
    assert verdicts["eval/tool_calls/accuracy"] == "worse"
    assert verdicts["requests/random/failed"] == "same"


def test_refusing_work_is_not_being_fast(tmp_path):
    candidate = settings(tmp_path, "refuses", faults={"http_503_every": 3})
    ended = demo(tmp_path, candidate=candidate)
    assert ended.returncode == 6, ended.stderr
    verdicts = ended.verdicts()
    assert verdicts["requests/random/failed"] == "worse"
    assert verdicts["load/random/tpot_ms/p50"] == "invalid"
    assert "http-503" in ended.stdout


def test_answers_that_cannot_be_had_are_not_wrong_answers(tmp_path):
    recipe = yaml.safe_load(RECIPE.read_text())
    recipe["evals"][0] = {
        "name": "gsm8k",
        "kind": "gsm8k",
        "source": {"generate": 24, "seed": 5},
        "items": 24,
    }
    recipe["judge"]["evals"] = [{"task": "gsm8k", "margin_points": 40}]
    path = tmp_path / "gsm8k.yaml"
    path.write_text(yaml.safe_dump(recipe))
    refusing = settings(tmp_path, "refusing", faults={"http_503_every": 2})
    ended = demo(tmp_path, recipe=path, candidate=refusing)
    assert ended.returncode == 6, ended.stderr
    assert ended.verdicts()["eval/gsm8k/accuracy"] == "invalid"


@pytest.mark.parametrize(
    ("faults", "expected"),
    [
        pytest.param({"never_healthy": True}, "was not healthy in 2 s", id="never-healthy"),
        pytest.param({"die_at_start": True}, "ended with status 1 while it started", id="at-start"),
        pytest.param({"die_after_requests": 20}, "ended with status 1", id="half-way"),
    ],
)
def test_an_engine_that_fails_is_named_and_what_was_measured_is_kept(tmp_path, faults, expected):
    mark = uuid.uuid4().hex
    candidate = settings(tmp_path, "broken", faults=faults)
    ended = demo(tmp_path, "--ready-timeout", "2", candidate=candidate, env={MARK: mark})
    assert ended.returncode == 4
    assert f"the candidate engine (broken) {expected}" in ended.stderr
    assert "candidate.log" in ended.stderr
    assert "broken.yaml" in ended.stderr
    assert not (left := wait_gone(mark, 5)), describe(left)
    assert ended.run["status"] == "failed"
    assert "candidate engine" in ended.run["reason"]
    if "die_after_requests" in faults:
        kept = ended.query("run_repetitions", run_id=ended.run["run_id"])
        assert [row["status"] for row in kept if row["side"] == "baseline"][:1] == ["valid"]


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        (["--candidate", "slower-and-wors"], "did you mean 'slower-and-worse'"),
        (["--candidate", "none.yaml"], "no such settings file: none.yaml"),
        (["--recipe", "smok"], "did you mean 'smoke'"),
        (["--example", "samplr"], "sampler"),
        (["--engine-source", "/nonexistent"], "no such folder"),
        (["--engine", "vllm", "--engine-venv", "/nonexistent"], "make engine"),
        (["--sed", "1"], "--seed"),
    ],
)
def test_wrong_options_end_with_2_and_a_remedy(tmp_path, extra, expected):
    ended = demo(tmp_path, *extra)
    assert (ended.returncode, ended.stdout.count("Traceback")) == (2, 0)
    assert expected in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_mistake_in_the_settings_names_file_line_and_key(tmp_path):
    candidate = tmp_path / "typo.yaml"
    candidate.write_text("name: x\ntiming:\n  decode_step: 3\n")
    ended = demo(tmp_path, candidate=candidate)
    assert ended.returncode == 2
    assert (
        "typo.yaml:3: timing.decode_step: unknown key; did you mean 'decode_step_ms'?"
        in ended.stderr
    )


def test_one_broken_definition_file_becomes_one_failing_step(tmp_path):
    arguments = command(tmp_path)
    broken = tmp_path / "engine" / ".buildkite" / "areas" / "broken.yaml"
    broken.write_text("group: [\n")
    done = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=120)
    ended = Ended(done.returncode, done.stdout, done.stderr, tmp_path)
    assert ended.returncode == 0, ended.stderr
    pipeline = tmp_path / "runs" / ended.run["run_id"] / "pipeline" / "pipeline.yaml"
    assert "broken.yaml" in pipeline.read_text()
    assert "now a failing step" in ended.stdout


def test_without_network_and_cache_the_first_step_is_skipped_and_the_rest_done(tmp_path):
    env = {"PIP_INDEX_URL": "http://127.0.0.1:1/simple"}
    ended = demo(tmp_path, source=False, env=env)
    assert ended.returncode == 0, ended.stderr
    assert "skipped" in ended.stdout
    assert "--engine-source" in ended.stdout
    decisions = ended.query("run_decisions", run_id=ended.run["run_id"])
    assert [row["outcome"] for row in decisions if row["kind"] == "selection"] == ["skipped"]


def test_two_at_once_share_one_warehouse(tmp_path):
    runs = [
        subprocess.Popen(command(tmp_path), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    errors = [run.communicate(timeout=120)[1].decode() for run in runs]
    # Two loads on one machine disturb each other; they may be undecided, but not broken.
    assert all(run.returncode in {0, 6} for run in runs), errors
    with open_store(str(tmp_path / "warehouse")) as store:
        assert [row["status"] for row in store.query("runs", limit=9)] == ["complete", "complete"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_what_was_measured_and_leaves_nothing_behind(tmp_path, number):
    mark = uuid.uuid4().hex
    with subprocess.Popen(
        command(tmp_path),
        env={**os.environ, MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        deadline = time.monotonic() + 60
        while spooled(tmp_path) < 4 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
    ended = Ended(process.returncode, out, err, tmp_path)
    assert ended.returncode == 130, ended.stderr
    assert "Traceback" not in ended.stderr
    assert not (left := wait_gone(mark, 5)), describe(left)
    assert ended.run["status"] == "interrupted"
    assert ended.query("run_repetitions", run_id=ended.run["run_id"])


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_no_process_and_a_warehouse_that_opens(tmp_path):
    rng = random.Random(7)
    kept = 0
    for number in range(KILLS):
        mark = uuid.uuid4().hex
        process = subprocess.Popen(
            command(tmp_path),
            env={**os.environ, MARK: mark},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(rng.uniform(0.2, 9.0))
        process.kill()
        process.wait()
        assert not (left := wait_gone(mark, 10)), (number, describe(left))
        spool = Spool(tmp_path / "warehouse-spool")
        with open_store(str(tmp_path / "warehouse")) as store:
            assert ship_all(spool, store).waiting == 0
            repetitions = store.sql(
                "SELECT count() AS n, uniqExact(repetition_id) AS ids FROM repetitions"
            )[0]
            orphans = store.sql(
                "SELECT count() AS n FROM requests WHERE repetition_id NOT IN "
                "(SELECT repetition_id FROM repetitions)"
            )[0]["n"]
        assert repetitions["n"] == repetitions["ids"] >= kept
        assert orphans == 0
        kept = repetitions["n"]
    assert kept > 0, "every kill came before the first repetition"
