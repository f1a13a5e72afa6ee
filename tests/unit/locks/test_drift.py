"""What is installed against what is locked."""

import sys

import pytest
from site_packages import install

from gauntlet.core.errors import UsageError
from gauntlet.locks.environment.drift import find_drift
from gauntlet.locks.environment.installed import modified_files, read_paths, read_python
from gauntlet.locks.lock_file import parse_lock

MARKERS = {
    "python_version": "3.12",
    "python_full_version": "3.12.4",
    "platform_python_implementation": "CPython",
    "platform_machine": "x86_64",
    "sys_platform": "linux",
}
EDITABLE = {"url": "file:///somewhere", "dir_info": {"editable": True}}


def lock(*pins):
    return parse_lock("".join(f"{pin}\n" for pin in pins), file="lockfiles/test.txt")


def site(folder, **packages):
    for name, version in packages.items():
        install(folder, name, version)
    return read_paths([str(folder)], markers=MARKERS)


def kinds(drift):
    return [(each.kind, each.name) for each in drift.differences]


def test_an_environment_as_locked_has_no_drift(tmp_path):
    drift = find_drift(
        lock("numpy==2.3.1", "torch==2.11.0"), site(tmp_path, numpy="2.3.1", torch="2.11.0")
    )
    assert (drift.differences, drift.digest, drift.compared) == ((), "", 2)


def test_each_difference_is_found_with_its_remedy(tmp_path):
    there = site(tmp_path, numpy="2.3.2", left_over="1.0", pip="26.0")
    drift = find_drift(lock("numpy==2.3.1", "torch==2.11.0"), there)
    assert kinds(drift) == [("version", "numpy"), ("missing", "torch"), ("extra", "left-over")]
    lines = [finding.line() for finding in drift.findings()]
    assert "2.3.2, locked is 2.3.1" in lines[0]
    assert all("lockfiles/test.txt" in line for line in lines)
    assert "--allow left-over" in lines[2]
    assert drift.digest


def test_what_is_measured_may_be_there_in_any_version(tmp_path):
    there = site(tmp_path, vllm="0.33.0", numpy="2.3.1")
    assert kinds(find_drift(lock("numpy==2.3.1"), there)) == [("extra", "vllm")]
    assert not find_drift(lock("numpy==2.3.1"), there, allowed=["vLLM"]).differences


def test_a_pin_for_another_platform_is_not_missed(tmp_path):
    there = site(tmp_path, numpy="2.3.1")
    pins = ("numpy==2.3.1", "uvloop==0.22 ; sys_platform == 'win32'")
    assert not find_drift(lock(*pins), there).differences
    pins = ("numpy==2.3.1", "uvloop==0.22 ; sys_platform == 'linux'")
    assert kinds(find_drift(lock(*pins), there)) == [("missing", "uvloop")]


@pytest.mark.parametrize(
    ("locked", "installed", "same"),
    [
        ("2.11.0", "2.11.0+cu130", True),
        ("2.11.0+cpu", "2.11.0+cu130", False),
        ("2.11.0+cpu", "2.11.0", False),
        ("2.11", "2.11.0", True),
        ("2.11.0", "2.11.0.post1", False),
        ("odd", "odd", True),
        ("odd", "2.11", False),
    ],
)
def test_a_local_version_counts_where_it_is_locked(tmp_path, locked, installed, same):
    drift = find_drift(lock(f"torch=={locked}"), site(tmp_path, torch=installed))
    assert bool(drift.differences) is not same


@pytest.mark.parametrize(
    ("told", "words"),
    [
        (EDITABLE, "edited in place"),
        ({"url": "https://example.org/r", "vcs_info": {"vcs": "git"}}, "repository"),
        ({"url": "file:///a.whl", "archive_info": {}}, "a file"),
        ({"url": "https://example.org/a.whl", "archive_info": {}}, "an address"),
        ({"url": "file:///folder", "dir_info": {}}, "a file"),
    ],
)  # fmt: skip
def test_the_right_version_from_elsewhere_is_drift(tmp_path, told, words):
    install(tmp_path, "numpy", "2.3.1", direct_url=told)
    drift = find_drift(lock("numpy==2.3.1"), read_paths([str(tmp_path)], markers=MARKERS))
    assert kinds(drift) == [("source", "numpy")]
    assert words in str(drift.differences[0])


def test_a_package_that_is_there_twice_is_drift(tmp_path):
    install(tmp_path / "a", "numpy", "2.3.1")
    install(tmp_path / "b", "numpy", "2.3.0")
    there = read_paths([str(tmp_path / "a"), str(tmp_path / "b")], markers=MARKERS)
    drift = find_drift(lock("numpy==2.3.1"), there)
    assert kinds(drift) == [("twice", "numpy")]
    assert "2.3.0 as well, further down the path" in str(drift.differences[0])


def test_an_edited_file_is_found_when_all_are_read(tmp_path):
    there = site(tmp_path, numpy="2.3.1", torch="2.11.0")
    assert modified_files(there) == {}
    (tmp_path / "numpy" / "__init__.py").write_text("patched")
    (tmp_path / "torch" / "__init__.py").unlink()
    found = modified_files(there)
    assert list(found) == ["numpy", "torch"]
    drift = find_drift(lock("numpy==2.3.1", "torch==2.11.0"), there, modified=found)
    assert kinds(drift) == [("modified", "numpy"), ("modified", "torch")]
    assert "--force-reinstall" in drift.findings()[0].remedy


def test_a_file_that_another_package_brought_is_not_modified(tmp_path):
    install(tmp_path, "first", files={"shared.py": "1"})
    install(tmp_path, "second", files={"shared.py": "2"})
    assert modified_files(read_paths([str(tmp_path)], markers=MARKERS)) == {}


def test_the_fingerprint_is_of_the_bytes_and_of_nothing_else(tmp_path):
    def fingerprint(name, *, markers=MARKERS, without=(), **how):
        install(tmp_path / name, "numpy", **how)
        return read_paths([str(tmp_path / name)], markers=markers).fingerprint(without=without)

    one = fingerprint("one")
    assert one == fingerprint("same", by="uv")
    assert one != fingerprint("version", version="2.0")
    assert one != fingerprint("bytes", files={"numpy/__init__.py": "other"})
    assert one != fingerprint("source", direct_url=EDITABLE)
    assert one != fingerprint("python", markers={**MARKERS, "python_full_version": "3.12.5"})
    assert one == fingerprint("kernel", markers={**MARKERS, "platform_release": "6.1"})
    assert (
        fingerprint("without", without=["NumPy"]) == read_paths([], markers=MARKERS).fingerprint()
    )


def test_a_python_is_asked_for_its_own_path(tmp_path):
    from pathlib import Path

    install(tmp_path, "only_here", "3.0")
    there = read_python(Path(sys.executable), env={"PYTHONPATH": str(tmp_path)})
    assert there.by_name["only-here"].version == "3.0"
    assert there.by_name["pytest"].version == pytest.__version__
    assert there.markers["python_version"] == "{}.{}".format(*sys.version_info[:2])


def test_what_is_no_python_is_named(tmp_path):
    program = tmp_path / "sh"
    program.write_text("#!/bin/sh\necho no such thing >&2\nexit 3\n")
    program.chmod(0o755)
    with pytest.raises(UsageError, match="no such thing"):
        read_python(program)


SIDE_LOCK = "numpy 2.3.2, locked is 2.3.1"


def test_sides_with_another_drift_are_not_compared_and_the_package_is_named():
    from measurements import measured

    from gauntlet.analyzer.comparison.refusals import config_change

    as_locked = measured("baseline", config_fp="a")
    drifted = measured("candidate", config_fp="b", settings={"drift": SIDE_LOCK})
    assert f"drift unset against {SIDE_LOCK}" in str(config_change([as_locked, drifted]))
    # A lock that moved with the commit is a part of the build.
    other = measured("candidate", config_fp="a", settings={"packages": "1"})
    assert config_change([as_locked, other]) is None
