import json
import subprocess
import sys
from pathlib import Path

import pytest

from gauntlet.__main__ import run
from gauntlet.cli import COMMANDS


@pytest.mark.parametrize("command", list(COMMANDS))
def test_every_command_is_mounted_and_has_help(command, capsys):
    assert run([command, "--help"]) == 0
    assert f"Usage: gauntlet {command}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["nope"], "No such command 'nope'"),
        (["--nope"], "No such option '--nope'"),
        (["recipes", "lint", "nope"], "unknown recipe 'nope'"),
        (["recipes", "expand", "nope.yaml"], "nope.yaml: No such file"),
        (["warehouse", "query", "nope", "--warehouse", "{tmp}/w"], "unknown query 'nope'"),
        (["warehouse", "query", "run", "--param", "x", "--warehouse", "{tmp}/w"], "KEY=VALUE"),
        (["analyze", "compare", "nope", "--warehouse", "{tmp}/w"], "no run 'nope'"),
        (["release", "gate", "--run", "nope", "--policy", "x"], "File 'x' does not exist"),
    ],
)
def test_usage_errors_end_with_2_and_name_what_is_wrong(arguments, expected, tmp_path, capsys):
    assert run([each.format(tmp=tmp_path) for each in arguments]) == 2
    captured = capsys.readouterr()
    assert expected in captured.err
    assert "Traceback" not in captured.err
    assert not captured.out


def test_a_gate_over_nothing_is_missing_and_blocks(tmp_path, capsys):
    where = ["--warehouse", f"{tmp_path}/w"]
    assert run(["release", "gate", "--run", "none", "--dry-run", "--json", *where]) == 6
    report = json.loads(capsys.readouterr().out)
    assert report["outcome"] == "NOT QUALIFIED"
    assert {gate["state"] for gate in report["gates"]} == {"MISSING"}


def test_data_goes_to_stdout(tmp_path, capsys):
    assert run(["recipes", "list"]) == 0
    assert run(["recipes", "expand", "smoke"]) == 0
    out = capsys.readouterr().out
    assert json.loads(out[out.index("{") :])["name"] == "smoke"
    assert run(["warehouse", "status", "--json", "--warehouse", f"{tmp_path}/w"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"]["runs"] == 0
    assert run(["warehouse", "sql", "SELECT 1 AS x", "--json", "--warehouse", f"{tmp_path}/w"]) == 0
    assert json.loads(capsys.readouterr().out) == [{"x": 1}]
    assert run(["ingest", "replay", "--json", "--warehouse", f"{tmp_path}/w"]) == 0
    assert json.loads(capsys.readouterr().out)["accepted"] == 0


def test_every_problem_of_every_recipe_is_printed(tmp_path, capsys):
    for name in ("one", "two"):
        (tmp_path / f"{name}.yaml").write_text(f"name: {name}\nextra: 1\n")
    assert run(["recipes", "lint", str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")]) == 2
    err = capsys.readouterr().err
    assert "one.yaml:2: extra: unknown key" in err
    assert "two.yaml:2: extra: unknown key" in err


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_finds_no_space_is_an_error_and_no_traceback():
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "gauntlet", "--help"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=60,
        )
    assert (done.returncode, done.stderr) == (4, "error: no space is left for the output\n")
