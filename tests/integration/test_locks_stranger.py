"""What a stranger gives commands about locks: each is answered in words, and nothing is written."""

import json

import pytest
from lock_worlds import upgrades
from tiny_index import tiny_repository, tiny_wheel

from gauntlet.__main__ import run

ONE = "gauntlet: 1\nlocks:\n  base: {purpose: x, inputs: [lockfiles/base.in]}\n"


@pytest.fixture
def locks(tmp_path, capsys):
    """Run a command about the locks of a repository: exit code, output, errors."""
    tiny_wheel(tmp_path / "wheels", "app", "1.0")
    tiny_repository(tmp_path / "repository", manifest=ONE, base_in="app\n")
    links = ("--no-index", "--find-links", str(tmp_path / "wheels"))

    def command(name, *arguments, offline=True):
        more = links if offline and name in ("compile", "refresh") else ()
        code = run(["locks", name, *arguments, *more, "--root", str(tmp_path / "repository")])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "repository" / "lockfiles"


def test_a_repository_without_locks_is_told_how_to_begin(tmp_path, capsys):
    for command in (["check"], ["why", "app"], ["impact", "--lock", "base", "--base", "HEAD"]):
        assert run(["locks", *command, "--root", str(tmp_path)]) == 2
        err = capsys.readouterr().err
        assert "locks.yaml: there is no such file" in err
        assert "keep-locks-fresh" in err


def test_a_manifest_outside_the_root_is_refused(locks, tmp_path):
    (tmp_path / "other.yaml").write_text(ONE)
    code, _, err = locks("compile", "--manifest", "../other.yaml")
    assert (code, "lies outside" in err) == (2, True)


@pytest.mark.parametrize("harm", [b"\xff\xfe", b"<<<<<<< HEAD\n"])
def test_a_broken_lock_is_named_before_anything_is_resolved(locks, folder, harm):
    (folder / "base.txt").write_bytes(harm)
    code, _, err = locks("compile")
    assert code == 2
    assert "base.txt" in err
    assert "or remove it" in err
    assert (folder / "base.txt").read_bytes() == harm


def test_a_folder_in_place_of_a_lock_is_named(locks, folder):
    (folder / "base.txt").mkdir()
    code, _, err = locks("compile")
    assert (code, "Is a directory" in err) == (2, True)


def test_a_broken_record_is_named_before_anything_is_resolved(locks, folder):
    (folder / "index.json").write_text("nonsense")
    code, _, err = locks("compile")
    assert code == 2
    assert "index.json:1: JSON" in err
    assert "resolved" not in err


def test_an_upgrade_of_what_nobody_has_is_refused(locks):
    assert locks("compile")[0] == 0
    code, _, err = locks("compile", "--upgrade-package", "ap")
    assert (code, "did you mean 'app'" in err) == (2, True)


def test_an_input_that_is_not_there_is_not_a_conflict(locks, folder):
    (folder / "base.in").unlink()
    code, _, err = locks("compile")
    assert code == 2
    assert "an input cannot be read" in err
    assert "loosen" not in err


def test_why_of_an_input_that_is_no_text_is_said(locks, folder):
    assert locks("compile")[0] == 0
    (folder / "base.in").write_bytes(b"\xff")
    code, _, err = locks("why", "app")
    assert (code, "not UTF-8" in err) == (2, True)


def test_a_refresh_outside_of_git_says_so(locks):
    code, _, err = locks("refresh", "--dry-run")
    assert (code, "not a git repository" in err) == (2, True)


def test_no_index_needs_a_folder(locks):
    code, _, err = locks("refresh", "--no-index", offline=False)
    assert (code, "--find-links" in err) == (2, True)


def test_one_is_not_many(locks):
    assert locks("compile")[0] == 0
    _, out, _ = locks("check")
    assert "1 pin " in out


def test_a_bisect_lists_its_suspects_as_data(tmp_path, capsys):
    old, new = upgrades(tmp_path, 2)
    given = ["--old", str(old), "--new", str(new), "--dry-run", "--json"]
    assert run(["locks", "bisect", *given, "--", "true"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["package"] for row in rows] == ["p00", "p01"]


@pytest.mark.parametrize(
    "wrong", [("--python", "nine"), ("--test-timeout", "-4"), ("--find-links", "/nowhere")]
)
def test_a_bisect_refuses_what_would_fail_later(tmp_path, capsys, wrong):
    old, new = upgrades(tmp_path, 2)
    assert run(["locks", "bisect", "--old", str(old), "--new", str(new), *wrong, "true"]) == 2
    assert wrong[0] in capsys.readouterr().err


def test_what_is_taken_at_the_locks_word_is_one_note(locks, folder, tmp_path):
    manifest = folder / "locks.yaml"
    manifest.write_text(ONE.replace("base.in]", "base.in], sdists: [app]"))
    assert locks("compile")[0] == 0
    record = folder / "index.json"
    value = json.loads(record.read_text())
    value["packages"]["app==1.0"]["requires"] = None
    record.write_text(json.dumps(value))
    code, out, _ = locks("check")
    assert code == 0
    assert "sound; 1 taken at the lock's word: app\n" in out
    assert "warning" not in out
    assert json.loads(locks("check", "--json")[1])["locks"][0]["at_its_word"] == ["app==1.0"]
