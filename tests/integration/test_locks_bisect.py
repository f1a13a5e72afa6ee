"""The whole bisect over packages: real wheels, real resolutions, real environments."""

import hashlib
import json

import pytest
from lock_worlds import all_ok, lock_text, upgrades
from small_wheel import small_wheel

from gauntlet.__main__ import run

NAMES = [f"p{number:02}" for number in range(12)]
FEW = all_ok(NAMES[:4])


@pytest.fixture
def bisect(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)

    def invoke(*more, command=FEW):
        argv = ["locks", "bisect", "--old", "old.txt", "--new", "new.txt", "--find-links", "wheels"]
        argv += ["--no-index", "--work", "work", "--json", *more, "--", *command]
        code = run(argv)
        said = capsys.readouterr()
        return code, json.loads(said.out) if said.out else said.err

    return invoke


def culprits(report):
    return [up["name"] for culprit in report["culprits"] for up in culprit["upgrades"]]


def test_a_planted_upgrade_among_twelve(bisect, tmp_path):
    upgrades(tmp_path, 12, planted=[8])
    command = all_ok(NAMES)
    code, report = bisect("--hold", "holds.txt", command=command)
    assert (code, report["state"], culprits(report)) == (0, "proved", ["p08"])
    assert report["installs"] <= 5
    assert report["kept"] == [name for name in NAMES if name != "p08"]
    held = (tmp_path / "holds.txt").read_text()
    assert held.startswith("p08==1.0  # breaks python -c")
    assert ", until 20" in held
    assert not (tmp_path / "work" / "venv").exists()

    code, again = bisect(command=command)
    assert (code, again["installs"]) == (0, 0)
    assert again["culprits"] == report["culprits"]


def test_a_log_that_names_the_package_makes_it_quicker(bisect, tmp_path):
    upgrades(tmp_path, 12, planted=[8])
    (tmp_path / "log").write_text('File "site-packages/p08/ok.py", line 1: it broke\n')
    code, report = bisect("--log", "log", command=all_ok(NAMES))
    assert (code, culprits(report), report["installs"]) == (0, ["p08"], 3)


def test_a_bisect_that_was_cut_off_goes_on_and_pays_for_no_probe_twice(bisect, tmp_path):
    upgrades(tmp_path, 4, planted=[1])
    code, first = bisect("--max-installs", "2")
    assert (code, first["state"], first["installs"]) == (6, "cannot-tell", 2)
    code, then = bisect()
    assert (code, culprits(then)) == (0, ["p01"])
    assert then["installs"] == len(then["probes"]) - 2
    assert then["probes"][:2] == first["probes"]


@pytest.mark.parametrize(
    ("status", "state"), [(1, "old-is-bad"), (0, "not-reproduced"), (125, "cannot-tell")]
)
def test_a_test_that_does_not_depend_on_the_packages_blames_none(bisect, tmp_path, status, state):
    upgrades(tmp_path, 2)
    code, report = bisect(command=("python", "-c", f"raise SystemExit({status})"))
    assert (code, report["state"]) == (6, state)
    assert state == "cannot-tell" or not report["culprits"]


def test_an_installation_that_fails_is_no_failure_of_the_test(bisect, tmp_path):
    upgrades(tmp_path, 4, planted=[3])
    text = (tmp_path / "old.txt").read_text()
    good = text.partition("--hash=sha256:")[2][:64]
    (tmp_path / "old.txt").write_text(text.replace(good, "0" * 64))
    text = (tmp_path / "new.txt").read_text()
    good = text.partition("--hash=sha256:")[2][:64]
    (tmp_path / "new.txt").write_text(text.replace(good, "0" * 64))
    code, said = bisect()
    assert code == 4
    assert "could not be installed, so nothing was tested" in said
    assert not (tmp_path / "work" / "journal.jsonl").exists()


def test_a_test_that_hangs_cannot_be_judged(bisect, tmp_path):
    upgrades(tmp_path, 2)
    hang = ("python", "-c", "import time; time.sleep(60)")
    code, report = bisect("--test-timeout", "0.5", command=hang)
    assert (code, report["state"]) == (6, "cannot-tell")
    assert {row["outcome"] for row in report["probes"]} == {"skip"}


def test_a_program_that_is_not_there_is_said(bisect, tmp_path):
    upgrades(tmp_path, 2)
    code, said = bisect(command=("no-such-program",))
    assert code == 2
    assert "there is no program no-such-program" in said


def test_packages_that_cannot_move_apart_are_one(bisect, tmp_path):
    needs = {("aa", "1.0"): "bb<2", ("aa", "2.0"): "bb>=2", ("cc", "2.0"): "bb>=2"}
    pins = {"1.0": [], "2.0": []}
    hashes = {}
    for name in ("aa", "bb", "cc", "dd"):
        for version, pinned in pins.items():
            more = {f"{name}/ok.py": f"OK = {(name, version) != ('bb', '2.0')}\n"}
            need = needs.get((name, version), "")
            folder = tmp_path / "wheels"
            wheel = small_wheel(folder, name=name, version=version, more=more, needs=need)
            digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
            hashes[name, version] = [f"sha256:{digest}"]
            pinned.append((name, version, ["-r all.in"]))
    (tmp_path / "old.txt").write_text(lock_text(pins["1.0"], hashes=hashes))
    (tmp_path / "new.txt").write_text(lock_text(pins["2.0"], hashes=hashes))
    code, report = bisect(command=all_ok(["aa", "bb", "cc", "dd"]))
    assert code == 0
    assert culprits(report) == ["aa", "bb"]
    # cc 2.0 needs the new bb, so it cannot stay without it.
    assert (report["kept"], report["held_too"]) == (["dd"], ["cc"])
