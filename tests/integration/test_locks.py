"""Locks of a small repository, compiled by real resolvers from a folder, then harmed and caught."""

import json
import re
import shutil
from pathlib import Path

import pytest
from package_index import served
from ports import free_port
from tiny_index import tiny_repository, tiny_sdist, tiny_wheel

from gauntlet.__main__ import run
from gauntlet.core.errors import ConfigError, InfrastructureError
from gauntlet.core.proc import run as run_program
from gauntlet.locks.index import update_record, wanted_by
from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.record import IndexRecord, load_record
from gauntlet.locks.resolvers import running
from gauntlet.locks.sources import PackageIndex

ROOT = Path(__file__).resolve().parents[2]
MANIFEST = """\
gauntlet: 1
locks:
  top: {purpose: x, inputs: [lockfiles/top.in], constraints: [lockfiles/base.txt]}
  base: {purpose: x, inputs: [lockfiles/base.in]}
"""


@pytest.fixture
def wheels(tmp_path):
    folder = tmp_path / "wheels"
    tiny_wheel(folder, "lib", "1.0", python=">=3.9")
    tiny_wheel(folder, "app", "1.0", "lib>=1")
    tiny_wheel(folder, "tool", "1.0", "lib", "app[more]", extras=("more",))
    return folder


@pytest.fixture
def repository(tmp_path):
    return tiny_repository(
        tmp_path / "repository", manifest=MANIFEST, base_in="app\n", top_in="tool\n"
    )


@pytest.fixture
def locks(repository, wheels, capsys):
    """Run a command about the locks of the repository: exit code, output, errors."""

    def command(name, *arguments):
        offline = ("--find-links", str(wheels), "--no-index") if name == "compile" else ()
        code = run(["locks", name, *arguments, *offline, "--root", str(repository)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


@pytest.fixture
def lock(repository):
    return repository / "lockfiles" / "base.txt"


@pytest.fixture(params=["uv", "pip-tools"])
def resolver(request):
    return request.param


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_locks_are_compiled_in_their_order_and_are_sound(locks, repository, resolver):
    edit(repository / "lockfiles" / "locks.yaml", "locks:\n", f"resolver: {resolver}\nlocks:\n")
    code, out, err = locks("compile")
    assert code == 0, err
    assert "top: tool (none) -> 1.0" in out
    assert err.index("base: resolved") < err.index("top: resolved")
    code, out, err = locks("check")
    assert code == 0, out + err
    assert re.search(r"^base +2 pins +linux/amd64 .* sound$", out, re.MULTILINE)
    folder = repository / "lockfiles"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert "unchanged" in locks("compile")[1]
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_command_of_the_header_makes_the_lock_again(locks, repository, lock, wheels):
    assert locks("compile", "base")[0] == 0
    text = lock.read_text()
    command = list(parse_lock(text, file="base.txt").command)
    lock.unlink()
    argv = [running.find_program("uv", remedy=""), *command[1:], "--no-index"]
    run_program([*argv, f"--find-links={wheels}"], cwd=repository, timeout=60)
    written = lock.read_text().splitlines()
    assert written[2:] == text.splitlines()[2:]


def test_a_changed_hash_is_caught_with_what_to_do(locks, lock):
    locks("compile")
    digest = parse_lock(lock.read_text(), file="x").by_name["lib"][0].hashes[0]
    edit(lock, digest, "sha256:" + "0" * 64)
    code, out, _ = locks("check")
    assert code == 6
    assert "error: tampered: lockfiles/base.txt:" in out
    assert "restore the line from git" in out


def test_a_stale_lock_is_caught_with_the_line_that_asks(locks, repository):
    locks("compile")
    edit(repository / "lockfiles" / "base.in", "app\n", "app\ntool\n")
    code, out, _ = locks("check", "base")
    assert code == 6
    assert "lockfiles/base.in:2 wants tool, and the lock has none" in out
    assert "remedy: gauntlet locks compile base" in out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("app==1.0", "app==1.0 ; python_version > '3'", "nothing wants app==1.0 any more"),
        ("# via app", "# via nobody", "lib==1.0 comes not through nobody and also through app"),
    ],
)
def test_a_lock_edited_by_hand_is_not_what_its_command_gives(locks, lock, old, new, said):
    locks("compile")
    edit(lock, old, new)
    code, out, _ = locks("check", "base")
    assert code == 6
    assert "error: reproduced: lockfiles/base.txt" in out
    assert said in out


def test_a_pin_that_is_gone_is_missed(locks, lock):
    locks("compile")
    pin = re.search(r"lib==1\.0.*\n(?:    .*\n)+", lock.read_text())
    edit(lock, pin[0], "")
    code, out, _ = locks("check", "base")
    assert code == 6
    assert "wants lib>=1 on linux/amd64, and the lock has none" in out


def test_a_missing_wheel_of_a_platform_is_caught(locks, repository, wheels):
    tiny_wheel(wheels, "lib", "2.0", tag="cp311-cp311-manylinux_2_17_x86_64")
    assert locks("compile")[0] == 0
    assert locks("check")[0] == 0
    edit(
        repository / "lockfiles" / "locks.yaml",
        "base: {purpose: x,",
        "base: {purpose: x, platforms: [linux/amd64, linux/arm64],",
    )
    code, out, _ = locks("check", "base")
    assert code == 6
    assert "it has no file for linux/arm64, Python 3.11, glibc 2.28" in out
    assert "remedy: pin another version, drop the platform, or allow it" in out


def test_c53_an_allowed_source_distribution_needs_build_constraints(locks, repository, wheels):
    tiny_sdist(wheels, "src", "1.0", "lib")
    folder = repository / "lockfiles"
    edit(folder / "base.in", "app\n", "app\nsrc\n")
    base = "base: {purpose: x, sdists: [src],"
    edit(folder / "locks.yaml", "base: {purpose: x,", base)
    (folder / "build.txt").write_text("setuptools==80.0\n")
    code, _, err = locks("compile")
    assert code == 0, err
    code, out, _ = locks("check", "base")
    assert code == 6
    assert "not covered by constraints: it is built with setuptools>=77" in out
    edit(folder / "locks.yaml", base, f"{base} build_constraints: [lockfiles/build.txt],")
    assert locks("compile")[0] == 0
    code, out, _ = locks("check", "base")
    assert code == 0, out


def test_advisories_are_read_from_a_folder(locks, repository, tmp_path):
    locks("compile")
    folder = tmp_path / "osv"
    folder.mkdir()
    affected = {"package": {"ecosystem": "PyPI", "name": "lib"}, "versions": ["1.0"]}
    advisory = {"id": "OSV-7", "summary": "leaks", "affected": [affected]}
    (folder / "a.json").write_text(json.dumps(advisory))
    code, out, _ = locks("check", "--advisories", str(folder), "--json")
    assert code == 6
    found = {each["name"]: each["findings"] for each in json.loads(out)["locks"]}
    assert [each["check"] for each in found["base"]] == ["advisory"]
    (folder / "b.json").write_text("[1]")
    assert locks("check", "--advisories", str(folder))[0] == 2


def test_what_fails_leaves_the_others_and_every_file_whole(locks, repository, lock):
    locks("compile")
    before = lock.read_bytes()
    edit(repository / "lockfiles" / "base.in", "app\n", "app==9\n")
    edit(
        repository / "lockfiles" / "locks.yaml",
        "  base:",
        "  other: {purpose: x, inputs: [lockfiles/top.in]}\n  base:",
    )
    code, out, err = locks("compile")
    assert code == 2
    assert "lockfiles/base.txt: the requirements do not fit together" in err
    assert "lockfiles/top.txt: it is made from base, which did not compile" in err
    assert "other: tool (none) -> 1.0" in out
    assert lock.read_bytes() == before
    assert (repository / "lockfiles" / "other.txt").exists()


def test_an_interrupt_leaves_every_file_as_it_was(locks, repository, monkeypatch):
    locks("compile", "base")
    folder = repository / "lockfiles"
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("gauntlet.locks.compiling.update_record", interrupted)
    assert locks("compile")[0] == 130
    assert before == {path.name: path.read_bytes() for path in folder.iterdir()}


def test_the_other_resolver_finds_the_same(locks):
    locks("compile", "base")
    code, out, _ = locks("check", "base", "--resolver", "pip-tools")
    assert code == 0, out


def test_a_dry_run_says_what_would_change_and_writes_nothing(locks, repository):
    before = sorted(path.name for path in (repository / "lockfiles").iterdir())
    code, out, _ = locks("compile", "--dry-run")
    assert (code, "base: app (none) -> 1.0" in out) == (0, True)
    assert sorted(path.name for path in (repository / "lockfiles").iterdir()) == before


def test_versions_move_only_where_it_is_asked(locks, wheels):
    locks("compile")
    tiny_wheel(wheels, "lib", "1.1")
    tiny_wheel(wheels, "app", "1.1", "lib")
    assert "->" not in locks("compile")[1]
    assert locks("compile", "base", "--upgrade-package", "Lib")[1] == "base: lib 1.0 -> 1.1\n"
    assert "base: app 1.0 -> 1.1" in locks("compile", "--upgrade")[1]


def test_a_resolver_that_is_not_there_is_not_run_and_not_passed(locks, monkeypatch):
    locks("compile")

    def missing(name, *, remedy):
        raise InfrastructureError(f"{name} is not installed", hint=remedy)

    monkeypatch.setattr("gauntlet.locks.resolvers.uv.find_program", missing)
    code, out, _ = locks("check", "base")
    assert code == 4
    assert "not run: base: reproduced: uv is not installed" in out


def test_an_index_that_does_not_answer_is_no_fault_of_the_requirements(
    repository, monkeypatch, capsys
):
    address = f"http://me:secret@127.0.0.1:{free_port()}/simple"
    for name in ("UV_DEFAULT_INDEX", "UV_HTTP_RETRIES"):
        monkeypatch.setenv(name, address if name.endswith("INDEX") else "0")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    assert run(["locks", "compile", "base", "--root", str(repository)]) == 7
    said = capsys.readouterr().err
    assert "the package index does not answer" in said
    assert "secret" not in said
    assert "127.0.0.1" not in said


def test_unknown_names_and_broken_locks_are_said(locks, lock):
    locks("compile")
    code, _, err = locks("check", "bsae")
    assert (code, "did you mean 'base'?" in err) == (2, True)
    edit(lock, "app==1.0", "app>=1.0")
    code, out, _ = locks("check", "base")
    assert code == 6
    assert "error: readable: lockfiles/base.txt" in out


def test_the_index_tells_what_is_recorded(wheels, tmp_path):
    site = tmp_path / "site" / "app"
    site.mkdir(parents=True)
    name = "app-1.0-py3-none-any.whl"
    shutil.copy(wheels / name, site / name)
    files = [
        {
            "filename": name,
            "url": name,
            "hashes": {"sha256": "ab"},
            "size": (site / name).stat().st_size,
            "upload-time": "2026-01-02T03:04:05Z",
            "requires-python": ">=3.9",
            "yanked": "wrong",
        }
    ]
    page = {"meta": {"api-version": "1.1"}, "name": "app", "versions": ["1.0"], "files": files}
    (site / "index.json").write_text(json.dumps(page))
    wanted = wanted_by([parse_lock("app==1.0 --hash=sha256:ab\n", file="x")])
    with served(tmp_path / "site") as (address, seen):
        record = update_record(IndexRecord(), wanted, PackageIndex(address))
        assert update_record(record, wanted, PackageIndex(address)) == record
        with pytest.raises(ConfigError, match="does not have it"):
            update_record(record, {"gone==1": frozenset()}, PackageIndex(address))
    told = record.packages["app==1.0"]
    assert told.files == {name: "ab"}
    assert told.requires == ("lib>=1",)
    assert (told.yanked, told.requires_python) == ("wrong", ">=3.9")
    assert told.released.year == 2026
    assert seen.count("/app/") == 1


def test_the_locks_of_this_repository_are_sound(capsys):
    code = run(["locks", "check", "--root", str(ROOT)])
    assert code == 0, capsys.readouterr().out
    record = load_record(ROOT / "lockfiles" / "index.json")
    pinned = {
        pin.key
        for path in (ROOT / "lockfiles").glob("*.txt")
        if path.name not in ("build-constraints.txt", "holds.txt")
        for pin in parse_lock(path.read_text(), file=path.name).pins
    }
    assert set(record.packages) == pinned
