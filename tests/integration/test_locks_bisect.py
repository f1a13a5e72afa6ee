"""The whole bisect over packages: real wheels, real resolutions, real environments."""

import json

import pytest
from click.testing import CliRunner
from lock_worlds import all_ok, upgrades

from gauntlet.locks.bisect_command import bisect

NAMES = [f"p{number:02}" for number in range(12)]
ALL_OK = all_ok(NAMES)


def run(folder, *more, command=ALL_OK):
    argv = ["--old", "old.txt", "--new", "new.txt", "--find-links", "wheels", "--no-index"]
    argv = [*argv, "--work", "work", "--json", *more, "--", *command]
    return CliRunner().invoke(bisect, argv)


@pytest.fixture
def world(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_planted_upgrade_among_twelve(world):
    upgrades(world, 12, planted=[8])
    done = run(world, "--hold", "holds.txt")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert [up["name"] for c in report["culprits"] for up in c["upgrades"]] == ["p08"]
    assert report["installs"] <= 5
    assert report["kept"] == [name for name in NAMES if name != "p08"]
    held = (world / "holds.txt").read_text()
    assert held.startswith("p08==1.0  # breaks python -c")
    assert "until 20" in held

    again = json.loads(run(world).stdout)
    assert again["installs"] == 0
    assert again["culprits"] == report["culprits"]
