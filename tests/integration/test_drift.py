"""``gauntlet locks drift`` on a real environment, and drift as part of a result."""

import json
import subprocess
import sys
import uuid
from importlib.metadata import version
from pathlib import Path

import pytest
import yaml

from gauntlet.warehouse.store import open_store

ROOT = Path(__file__).resolve().parents[2]


def gauntlet(*arguments, cwd=ROOT):
    command = [sys.executable, "-m", "gauntlet", *map(str, arguments)]
    return subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=cwd, timeout=120
    )


def drift(lock, *arguments):
    return gauntlet("locks", "drift", lock, "--python", sys.executable, *arguments)


def lock_of(folder, *, numpy=None):
    """A lock of two packages that are really installed here, numpy as told."""
    path = folder / "lock.txt"
    path.write_text(f"numpy=={numpy or version('numpy')}\nclick=={version('click')}\n")
    return path


def test_the_development_environment_is_as_it_was_locked():
    done = drift(ROOT / "lockfiles/dev.txt", "--allow", "gauntlet")
    assert (done.returncode, done.stderr) == (0, "")
    assert "no drift" in done.stdout


def test_drift_exits_6_and_is_kept_with_the_job(tmp_path):
    job = str(uuid.uuid4())
    warehouse = tmp_path / "warehouse"
    told = ("--json", "--job-id", job, "--warehouse", warehouse)
    done = drift(lock_of(tmp_path, numpy="0.1"), *told)
    assert done.returncode == 6
    answer = json.loads(done.stdout)
    of_numpy = [each for each in answer["differences"] if each["name"] == "numpy"]
    assert [each["kind"] for each in of_numpy] == ["version"]
    with open_store(str(warehouse)) as store:
        rows = store.query("environments_of", job_ids=job)
    kept = {(row["kind"], row["name"]): row["version"] for row in rows}
    assert kept["package", "numpy"] == version("numpy")
    assert kept["drift", "numpy"].startswith("version: numpy")
    assert kept["fingerprint", str(tmp_path / "lock.txt")] == answer["fingerprint"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nothing.txt"], "no lock nothing.txt"),
        (["lockfiles/README.md"], "it is no line of a lock"),
        (["lockfiles/dev.txt", "--python", "/bin/ls"], "does not answer as a Python"),
        (["lockfiles/dev.txt", "--python", "nowhere"], "nowhere"),
    ],
)
def test_mistakes_are_named(arguments, words):
    done = gauntlet("locks", "drift", *arguments)
    assert done.returncode == 2
    assert words in done.stderr


RECIPE = {
    "name": "small",
    "description": "A test.",
    "owner": "tests",
    "engine": {"kind": "simulator", "config": "baseline"},
    "workloads": [
        {
            "name": "random",
            "arrivals": {"kind": "closed", "concurrency": 2},
            "prompts": {"kind": "random", "prompt_tokens": 8, "output_tokens": 2},
            "requests": 4,
            "calibration": "off",
            "deadlines": {"idle_s": 5, "total_s": 20},
        }
    ],
}


def measured(folder, name, lock):
    path = folder / "small.yaml"
    path.write_text(yaml.safe_dump(RECIPE))
    where = ("--out", folder / name, "--warehouse", folder / "warehouse")
    given = ("--engine-lock", lock) if lock else ()
    done = gauntlet("bench", "run", path, *where, *given)
    assert done.returncode in {0, 5}, done.stderr
    with open_store(str(folder / "warehouse")) as store:
        (row,) = store.read_only(
            "SELECT config_fp, settings FROM repetitions ORDER BY started_at DESC LIMIT 1"
        )
    return row["config_fp"], row["settings"]


def test_drift_is_part_of_the_identity_of_a_result(tmp_path):
    plain, told = measured(tmp_path, "plain", None)
    assert len(told["packages"]) == 16
    assert "drift" not in told
    drifted, told = measured(tmp_path, "drifted", lock_of(tmp_path, numpy="0.1"))
    assert drifted != plain
    assert "numpy" in told["drift"]
    locked, told = measured(tmp_path, "locked", ROOT / "lockfiles/dev.txt")
    assert (locked, "drift" in told) == (plain, False)


def test_a_lock_that_nothing_can_be_held_against_is_refused(tmp_path):
    path = tmp_path / "small.yaml"
    path.write_text(yaml.safe_dump(RECIPE))
    lock = ("--engine-lock", lock_of(tmp_path))
    done = gauntlet("bench", "run", path, *lock, "--base-url", "http://127.0.0.1:9")
    assert done.returncode == 2
    assert "a server that runs already" in done.stderr
