"""The demo against real vLLM on the CPU; `make engine` first, then `make test-engine`."""

import os
from pathlib import Path

import pytest

from gauntlet.__main__ import run
from integration.demo_runs import Ended, definitions

ROOT = Path(__file__).resolve().parents[2]
ENVIRONMENT, MODEL = ROOT / ".venv-engine", ROOT / ".cache" / "tiny-model"

pytestmark = pytest.mark.skipif(
    not os.environ.get("GAUNTLET_ENGINE"),
    reason="real vLLM takes 4 GB and minutes; `make engine` and `make test-engine` run it",
)


@pytest.mark.timeout(900)
def test_real_vllm_goes_the_whole_way(tmp_path, capfd):
    arguments = ["demo", "--engine", "vllm", "--warehouse", str(tmp_path / "warehouse")]
    arguments += ["--engine-venv", str(ENVIRONMENT), "--model", str(MODEL)]
    arguments += ["--runs", str(tmp_path / "runs")]
    status = run([*arguments, "--engine-source", str(definitions(tmp_path))])
    captured = capfd.readouterr()
    assert status in {0, 6}, captured.err
    ended = Ended(status, captured.out, captured.err, tmp_path)
    verdicts = ended.verdicts()
    assert "missing" not in verdicts.values()
    assert "invalid" not in verdicts.values()
    assert verdicts["requests/random/failed"] == "same"
    # Random weights answer nothing right, on either side.
    assert verdicts["eval/gsm8k/accuracy"] == "same"
    repetitions = ended.query("run_repetitions", run_id=ended.run["run_id"])
    assert {row["engine_kind"] for row in repetitions} == {"vllm"}
    assert all(row["engine_version"].startswith("0.32") for row in repetitions)
