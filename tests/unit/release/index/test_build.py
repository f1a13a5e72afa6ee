"""An index on disk: built, built again, by two at once, and pip in front of it."""

import json
import subprocess
import sys

import pytest
from engine_repository import build_engine, make_engine, pure_wheel
from package_index import served
from pypi_simple import ACCEPT_JSON_ONLY, PyPISimple

from gauntlet.__main__ import run
from gauntlet.core.errors import ConfigError, InfrastructureError, UsageError
from gauntlet.core.ids import file_digest
from gauntlet.release.index import build as building
from gauntlet.release.index.build import Request, build_index
from gauntlet.release.index.listing import read_listing
from gauntlet.release.wheels.facts import WheelError

A, B = "a" * 40, "b" * 40


@pytest.fixture
def root(tmp_path):
    """Two commits: a release in three variants, and a development version after it."""
    root = tmp_path / "index"
    for label in ("", "+cpu", "+cu129"):
        pure_wheel(root / A, version=f"1.2.0{label}")
    pure_wheel(root / B, version="1.3.0.dev4+gbbbbbbb")
    return root


def built(root, *, dry_run=False, remove=(), nightly=None, **versions):
    named = {name.replace("_", ".").removeprefix("v"): c for name, c in versions.items()}
    request = Request(nightly=nightly, versions=named, remove=remove)
    return build_index(root, request, dry_run=dry_run)


def tree(root):
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--isolated", "--no-cache-dir"]
    command += ["--disable-pip-version-check", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def test_pip_takes_each_variant_from_its_index(root, tmp_path):
    built(root, nightly=B, v1_2_0=A)
    wanted = {
        "": "tinyengine-1.2.0-py3-none-any.whl",
        "cpu/": "tinyengine-1.2.0+cpu-py3-none-any.whl",
        "1.2.0/cu129/": "tinyengine-1.2.0+cu129-py3-none-any.whl",
        "nightly/": "tinyengine-1.3.0.dev4+gbbbbbbb-py3-none-any.whl",
    }
    with served(root) as (url, seen):
        for place, name in wanted.items():
            out = tmp_path / "out" / place
            done = pip("download", "--pre", "--no-deps", "-d", out, "-i", url + place, "tinyengine")
            assert done.returncode == 0, done.stderr
            assert [p.name for p in out.iterdir() if p.is_file()] == [name]
    # pip read the metadata alone before it chose a file.
    assert any(path.endswith("%2Bcpu-py3-none-any.whl.metadata") for path in seen)


def test_pip_installs_a_compiled_engine_by_version_with_its_hash(tmp_path):
    root, target = tmp_path / "index", tmp_path / "target"
    wheel = build_engine(make_engine(tmp_path / "source"), root / A)
    built(root, v1_2_0=A)
    requirements = tmp_path / "requirements.txt"
    with served(root) as (url, _):
        install = ["install", "--no-deps", "--require-hashes", "-i", url, "--target", target]
        requirements.write_text(f"tinyengine==1.2.0 --hash=sha256:{'0' * 64}\n")
        refused = pip(*install, "-r", requirements)
        assert refused.returncode != 0
        assert "DO NOT MATCH" in refused.stderr
        requirements.write_text(f"tinyengine==1.2.0 --hash=sha256:{file_digest(wheel)}\n")
        done = pip(*install, "-r", requirements)
        assert done.returncode == 0, done.stderr
    code = f"import sys; sys.path.insert(0, {str(target)!r})\n"
    code += "from tinyengine._core import complete; print(complete('abc'))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "cba"


def test_programs_read_the_json_pages(root):
    built(root, v1_2_0=A)
    with (
        served(root) as (url, _),
        PyPISimple(endpoint=f"{url}cpu/", accept=ACCEPT_JSON_ONLY) as client,
    ):
        assert client.get_index_page().projects == ["tinyengine"]
        page = client.get_project_page("TinyEngine")
        (package,) = page.packages
        assert (package.version, package.requires_python) == ("1.2.0+cpu", ">=3.8")
        assert package.digests == {"sha256": file_digest(root / A / package.filename)}
        assert b"Requires-Dist: small-dependency>=1" in client.get_package_metadata_bytes(package)


def test_built_again_nothing_is_written(root):
    first = built(root, nightly=B, v1_2_0=A)
    before = {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()}
    again = built(root)
    assert first.write
    assert (again.write, again.remove, again.pointers) == ({}, (), {})
    assert {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file()} == before


def test_a_dry_run_tells_just_what_is_then_done(root):
    before = tree(root)
    told = built(root, dry_run=True, nightly=B, v1_2_0=A)
    assert tree(root) == before
    done = built(root, nightly=B, v1_2_0=A)
    assert done == told
    assert set(tree(root)) - set(before) == {*told.write, "_pointers/nightly", "_pointers/1.2.0"}


def test_a_version_that_is_removed_takes_its_pages_along_and_nothing_foreign(root):
    built(root, nightly=B, v1_2_0=A)
    foreign = {"1.2.0/NOTES.txt": "ours", "docs/index.html": "<p>manual</p>", "robots.txt": ""}
    for name, text in foreign.items():
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text(text)
    changes = built(root, remove=("1.2.0",))
    assert changes.pointers == {"1.2.0": None}
    left = tree(root)
    assert foreign.keys() <= left.keys()
    assert not [
        path for path in left if path.startswith(("1.2.0/", "cpu/")) and path not in foreign
    ]
    assert (root / A / "tinyengine-1.2.0-py3-none-any.whl").exists()
    assert json.loads(left["index.json"])["projects"] == []
    assert built(root, remove=("1.2.0",)).write == {}


def test_a_wheel_that_is_taken_away_leaves_no_page_and_no_metadata(root):
    built(root)
    (root / A / "tinyengine-1.2.0+cpu-py3-none-any.whl").unlink()
    changes = built(root)
    assert f"{A}/tinyengine-1.2.0+cpu-py3-none-any.whl.metadata" in changes.remove
    assert not (root / A / "cpu").exists()


def test_a_page_of_somebody_else_is_not_overwritten(root):
    (root / "index.html").write_text("<p>welcome</p>")
    before = tree(root)
    with pytest.raises(UsageError, match="index.html is no page of this index"):
        built(root, nightly=B)
    assert tree(root) == before


def test_builds_that_cross_come_out_as_one_that_knew_all(root, monkeypatch):
    """Another build, whole, in the middle of one that has read its listing."""
    write, crossed = building.write_atomic, []

    def crossing(path, data):
        write(path, data)
        if not crossed:
            crossed.append(path)
            pure_wheel(root / B, version="1.2.1")
            built(root, v1_2_1=B)

    monkeypatch.setattr(building, "write_atomic", crossing)
    built(root, nightly=B, v1_2_0=A)
    found = tree(root)
    assert json.loads(found["tinyengine/index.json"])["versions"] == ["1.2.0", "1.2.1"]
    assert built(root).write == {}


@pytest.mark.parametrize("stop", range(0, 40, 3))
def test_a_build_that_was_killed_is_finished_by_the_next(root, monkeypatch, stop):
    write, count = building.write_atomic, iter(range(1000))

    def dying(path, data):
        if next(count) == stop:
            raise KeyboardInterrupt
        write(path, data)

    monkeypatch.setattr(building, "write_atomic", dying)
    with pytest.raises(KeyboardInterrupt):
        built(root, nightly=B, v1_2_0=A)
    monkeypatch.setattr(building, "write_atomic", write)
    built(root)
    (root / "clean").mkdir()
    for commit in (A, B):
        (root / "clean" / commit).mkdir()
        for wheel in (root / commit).glob("*.whl"):
            (root / "clean" / commit / wheel.name).write_bytes(wheel.read_bytes())
    built(root / "clean", nightly=B, v1_2_0=A)
    clean = tree(root / "clean")
    assert {p: d for p, d in tree(root).items() if not p.startswith("clean/")} == clean


def test_uploads_without_an_end_are_given_up(root, monkeypatch):
    write, count = building.write_atomic, iter(range(10_000))

    def uploading(path, data):
        write(path, data)
        if path.name == "index.json" and A in path.parts:
            pure_wheel(root / A, version=f"1.2.{next(count)}", name="more")

    monkeypatch.setattr(building, "write_atomic", uploading)
    monkeypatch.setattr(building, "_MOST_ROUNDS", 3)
    with pytest.raises(InfrastructureError, match="change all the time"):
        built(root)


@pytest.mark.parametrize(
    ("request_", "said"),
    [
        ({"nightly": "c" * 40}, "unknown commit 'cccc"),
        ({"v1_3_0": B}, "has no file of version 1.3.0; it has: 1.3.0.dev4"),
    ],
)
def test_pointers_to_what_is_not_there_are_refused(root, request_, said):
    before = tree(root)
    with pytest.raises(UsageError, match=said):
        built(root, **request_)
    assert tree(root) == before


def test_a_pointer_whose_commit_is_gone_and_a_damaged_one_are_told(root):
    built(root, nightly=B)
    for path in (root / B).rglob("*.*"):
        path.unlink()
    for path in sorted((root / B).rglob("*"), reverse=True):
        path.rmdir()
    (root / B).rmdir()
    with pytest.raises(UsageError, match=f"nightly points to {B}, and that folder is gone"):
        built(root)
    (root / "_pointers/nightly").write_text("newest")
    (root / "_pointers/1.2.0rc1").write_text(A)
    with pytest.raises(ConfigError) as caught:
        read_listing(root)
    assert len(caught.value.problems) == 2


def test_a_damaged_wheel_or_sdist_stops_the_build_by_name(root):
    (root / A / "tinyengine-1.2.1-py3-none-any.whl").write_bytes(b"half")
    with pytest.raises(WheelError, match="tinyengine-1.2.1-py3-none-any.whl: damaged"):
        built(root)
    (root / A / "tinyengine-1.2.1-py3-none-any.whl").unlink()
    (root / A / "tinyengine-1.2.1.tar.gz").write_bytes(b"half")
    with pytest.raises(ConfigError, match="tinyengine-1.2.1.tar.gz"):
        built(root)


def test_the_command_builds_and_says_what_it_did(root, capsys):
    arguments = ["index", "build", str(root), "--version", f"v1.2.0={A}", "--json"]
    assert run([*arguments, "--dry-run"]) == 0
    planned = json.loads(capsys.readouterr().out)
    assert not (root / "index.html").exists()
    assert run(arguments) == 0
    done = json.loads(capsys.readouterr().out)
    assert done == {**planned, "dry_run": False}
    assert run(["index", "build", str(root), "--remove", "v1.2.0"]) == 0
    out = capsys.readouterr()
    assert "point   1.2.0 to nothing" in out.out
    assert "remove  1.2.0/index.html" in out.out
    assert "pages were written" in out.err


@pytest.mark.parametrize(
    "arguments",
    [
        ["gone"],
        ["empty"],
        ["file"],
        ["index", "--version", "v1.2.0"],
        ["index", "--version", f"v1.2.0rc1={A}"],
        ["index", "--version", f"v1.3.0.dev4={B}"],
        ["index", "--nightly", "main"],
    ],
)
def test_wrong_use_ends_with_2_and_changes_nothing(root, tmp_path, arguments, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    before = tree(tmp_path)
    assert run(["index", "build", str(tmp_path / arguments[0]), *arguments[1:]]) == 2
    assert "error: " in capsys.readouterr().err
    assert tree(tmp_path) == before


def test_a_folder_that_cannot_be_written_is_an_error_of_the_machine(root):
    (root / "cpu").write_text("a file where a folder must be")
    with pytest.raises(InfrastructureError, match="cannot write"):
        built(root, v1_2_0=A)
    assert (root / "cpu").read_text() == "a file where a folder must be"
