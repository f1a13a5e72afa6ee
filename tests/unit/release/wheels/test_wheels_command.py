"""``gauntlet wheels check`` as a stranger calls it."""

import json

import pytest
from engine_repository import pure_wheel

from gauntlet.__main__ import run


def test_a_good_wheel_ends_with_0_and_says_nothing_on_stdout(wheel, capsys):
    assert run(["wheels", "check", str(wheel), "--version", "v1.2.0rc1"]) == 0
    out = capsys.readouterr()
    assert out.out == ""
    assert "1 files, 0 errors, 0 warnings" in out.err


def test_a_bad_wheel_ends_with_6_and_json_says_why(tmp_path, capsys):
    path = pure_wheel(tmp_path, version="1.3.0")
    assert run(["wheels", "check", str(path), "--version", "v1.2.0", "--json"]) == 6
    told = json.loads(capsys.readouterr().out)
    assert (told["ok"], told["files"]) == (False, [str(path)])
    assert [f["check"] for f in told["findings"]] == ["wheel-version"]
    assert set(told["findings"][0]) == {"check", "subject", "message", "remedy", "level"}


def test_the_matrix_of_vllm_is_not_filled_by_another_engine(wheel, capsys):
    assert run(["wheels", "check", str(wheel), "--matrix", "vllm"]) == 6
    lines = capsys.readouterr().out.splitlines()
    checks = [line.split()[1] for line in lines]
    assert checks.count("wheel-missing") == 6
    assert "sdist-missing" in checks
    assert "wheel-name" in checks


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["gone.whl"],
        ["."],
        ["pyproject.toml", "--version", "newest"],
        ["pyproject.toml", "--matrix", "gone.yaml"],
        ["pyproject.toml", "--matrix", "pyproject.toml"],
    ],
)
def test_wrong_use_ends_with_2(arguments, capsys):
    assert run(["wheels", "check", *arguments]) == 2
    assert capsys.readouterr().err
