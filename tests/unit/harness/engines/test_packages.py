"""Which Python an engine runs in, and what is told of its packages."""

import sys
from pathlib import Path

import pytest

from gauntlet.core.errors import UsageError
from gauntlet.harness.engines.launch import External, LaunchSpec
from gauntlet.harness.engines.packages import engine_packages, python_of


def spec(*argv, **fields):
    return LaunchSpec(kind="vllm", label="it", argv=tuple(map(str, argv)), **fields)


def script(folder, first):
    path = folder / "vllm"
    path.write_text(f"{first}\nprint()\n")
    path.chmod(0o755)
    return path


def test_the_interpreter_is_the_program_or_stands_in_its_first_line(tmp_path):
    here = Path(sys.executable)
    assert python_of(spec(here, "-m", "vllm")) == here
    assert python_of(spec(script(tmp_path, f"#!{here}"), "serve")) == here
    by_name = spec("vllm", env={"PATH": f"{tmp_path}:{here.parent}"})
    script(tmp_path, f"#!/usr/bin/env {here.name}")
    assert python_of(by_name) == here


@pytest.mark.parametrize("first", ["#!/bin/sh", "", "\x7fELF", "#!", "#!/nowhere/python3"])
def test_what_is_no_python_has_none(tmp_path, first):
    assert python_of(spec(script(tmp_path, first))) is None


def test_nothing_is_told_of_a_server_that_others_run(tmp_path):
    elsewhere = spec(where=External(url="http://127.0.0.1:1"))
    assert not engine_packages(elsewhere, None).told
    lock = tmp_path / "lock.txt"
    lock.write_text("numpy==1\n")
    with pytest.raises(UsageError, match="its Python is not on this machine"):
        engine_packages(elsewhere, lock)


def test_drift_is_told_in_words_and_by_its_digest(tmp_path):
    lock = tmp_path / "lock.txt"
    lock.write_text("numpy==0.1\n")
    found = engine_packages(spec(sys.executable), lock)
    assert len(found.drift) == 16
    # Most of what is installed here is extra; five are shown.
    assert found.told["drift"].count(";") == 5
    assert " more" in found.told["drift"]
    assert set(engine_packages(spec(sys.executable), None).told) == {"packages"}
