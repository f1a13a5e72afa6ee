"""Each check catches what it is for, and passes what is sound."""

from datetime import date

import pytest

from gauntlet.locks.checks.advisories import (
    Advisory,
    check_acceptances,
    check_advisories,
    hits_of,
)
from gauntlet.locks.checks.hashes import check_hashes, check_tampered, check_unrecorded
from gauntlet.locks.checks.header import check_header, check_index_host
from gauntlet.locks.checks.held import check_holds
from gauntlet.locks.checks.platforms import (
    check_closure,
    check_platform,
    check_python,
    check_yanked,
)
from gauntlet.locks.checks.sdists import check_sdist_covered
from gauntlet.locks.checks.stale import check_stale
from gauntlet.locks.checks.subject import Subject
from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.manifest import AcceptedAdvisory, LockSpec
from gauntlet.locks.record import IndexRecord, Recorded

COMMAND = "uv pip compile --output-file=lockfiles/a.txt lockfiles/a.in"
WHEEL = {"a-1.0-py3-none-any.whl": "aa"}
TODAY = date(2026, 6, 1)
BUILD = "lockfiles/build.txt"


def subject(
    body="a==1.0 --hash=sha256:aa\n", *, texts=None, command=COMMAND, packages=None, **spec
):
    spec = {"purpose": "x", "inputs": ("lockfiles/a.in",), **spec}
    return Subject(
        name="a",
        spec=LockSpec(**spec),
        python="3.11",
        lock=parse_lock(f"#    {command}\n{body}", file="lockfiles/a.txt"),
        record=IndexRecord(packages=packages or {"a==1.0": Recorded(files=WHEEL)}),
        command=tuple(COMMAND.split()),
        texts={"lockfiles/a.in": "a\n", **(texts or {})},
    )


def recorded(*files, **more):
    return {"a==1.0": Recorded(files=dict.fromkeys(files, "aa"), **more)}


@pytest.mark.parametrize(
    "check",
    [
        check_header,
        check_index_host,
        check_hashes,
        check_tampered,
        check_unrecorded,
        check_platform,
        check_closure,
        check_python,
        check_yanked,
        check_sdist_covered,
        lambda lock: check_stale(lock, ()),
    ],
)
def test_a_sound_lock_passes(check):
    assert check(subject()) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("nothing", "no command"),
        (COMMAND.replace("a.in", "b.in"), "without lockfiles/a.in, with lockfiles/b.in"),
    ],
)
def test_another_command_than_the_one_asked_for_is_named(command, said):
    (finding,) = check_header(subject(command=command))
    assert said in finding.message
    assert finding.remedy == "gauntlet locks compile a"


def test_a_host_in_options_or_header_is_found_and_not_repeated():
    lock = subject(
        "a==1.0\n--extra-index-url https://me:secret@example.org\n",
        command=f"{COMMAND} --index-url=https://example.org",
    )
    findings = check_index_host(lock)
    assert len(findings) == 2
    assert "secret" not in str(findings)


def test_a_pin_without_sha256_is_found():
    (finding,) = check_hashes(subject("a==1.0 --hash=md5:aa\n"))
    assert finding.subject == "lockfiles/a.txt:2 a==1.0"


def test_a_changed_hash_is_found_with_what_to_do():
    findings = check_tampered(subject("a==1.0 --hash=sha256:bb\n"))
    assert [finding.message for finding in findings] == [
        "the index has no file of this hash: sha256:bb",
        "the hash of a file is missing: a-1.0-py3-none-any.whl",
    ]
    assert "restore the line from git" in findings[0].remedy


def test_a_pin_that_is_not_recorded_is_a_finding_and_no_pass():
    (finding,) = check_unrecorded(subject("b==1.0 --hash=sha256:aa\n"))
    assert "not checked" in finding.message


@pytest.mark.parametrize(
    ("file", "there"),
    [
        ("a-1.0-py3-none-any.whl", True),
        ("a-1.0-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl", True),
        ("a-1.0-cp38-abi3-manylinux_2_28_x86_64.whl", True),
        ("a-1.0-cp312-abi3-manylinux_2_28_x86_64.whl", False),
        ("a-1.0-cp312-cp312-manylinux_2_28_x86_64.whl", False),
        ("a-1.0-cp311-cp311-manylinux_2_31_x86_64.whl", False),
        ("a-1.0-cp311-cp311-musllinux_1_2_x86_64.whl", False),
        ("a-1.0-cp311-cp311-manylinux_2_17_aarch64.whl", False),
        ("a-1.0.tar.gz", False),
    ],
)
def test_a_platform_without_a_wheel_is_found(file, there):
    findings = check_platform(subject(packages=recorded(file)))
    assert (findings == []) == there


def test_each_platform_is_looked_at_and_markers_count():
    wheel = "a-1.0-cp311-cp311-manylinux_2_17_x86_64.whl"
    both = {"platforms": ("linux/amd64", "linux/arm64"), "packages": recorded(wheel)}
    (finding,) = check_platform(subject(**both))
    assert "linux/arm64" in finding.message
    only = 'a==1.0 ; platform_machine == "x86_64" --hash=sha256:aa\n'
    assert check_platform(subject(only, **both)) == []


def test_a_source_distribution_counts_where_it_is_allowed():
    assert check_platform(subject(packages=recorded("a-1.0.tar.gz"), sdists=("a",))) == []


def test_what_another_platform_needs_beside_is_found():
    lock = subject(
        platforms=("linux/amd64", "linux/arm64"),
        packages=recorded(
            "a-1.0-py3-none-any.whl", requires=('b>=1 ; platform_machine == "aarch64"',)
        ),
    )
    (finding,) = check_closure(lock)
    assert "on linux/arm64, and the lock has none" in finding.message


def test_a_requirement_that_nobody_can_read_is_no_pass():
    lock = subject(packages=recorded("a-1.0-py3-none-any.whl", requires=("b >>= 1",)))
    (finding,) = check_closure(lock)
    assert "'b >>= 1', which is no requirement" in finding.message
    lock = subject(packages=recorded("a-1.0-py3-none-any.whl", requires_python="three"))
    assert len(check_python(lock)) == 1


def test_what_is_overridden_is_not_missed():
    lock = subject(
        packages=recorded("a-1.0-py3-none-any.whl", requires=("torch",)),
        overrides=("o",),
        texts={"o": 'torch==1 ; python_version < "3"\n'},
    )
    assert check_closure(lock) == []


def test_a_pin_for_another_python_is_found():
    lock = subject(packages=recorded("a-1.0-py3-none-any.whl", requires_python=">=3.12"))
    (finding,) = check_python(lock)
    assert "it needs Python >=3.12" in finding.message


def test_a_yanked_version_is_found_with_its_reason():
    (finding,) = check_yanked(subject(packages=recorded(*WHEEL, yanked="broken on Mondays")))
    assert "broken on Mondays" in finding.message
    assert "--upgrade-package a" in finding.remedy


@pytest.mark.parametrize(
    ("constraints", "said"),
    [
        (None, "it is built with setuptools>=77"),
        ("setuptools<67.7\n", "it is built with setuptools>=77"),
        ("setuptools==67.6\n", f"{BUILD}:1 pins setuptools==67.6"),
        ("setuptools==80.0\n", ""),
    ],
)
def test_c53_a_source_distribution_is_built_with_what_no_constraint_reaches(constraints, said):
    lock = subject(
        packages=recorded("a-1.0.tar.gz", build_requires=("setuptools>=77",)),
        sdists=("a",),
        # A constraint of the install, which the build does not see.
        constraints=("lockfiles/c.txt",),
        build_constraints=(BUILD,) if constraints else (),
        texts={"lockfiles/c.txt": "setuptools<67.7\n", BUILD: constraints or ""},
    )
    findings = check_sdist_covered(lock)
    assert len(findings) == (1 if said else 0)
    for finding in findings:
        assert said in finding.message
        assert "constraints do not reach isolated builds" in finding.remedy


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a>=2\n", "lockfiles/a.in:1 wants a>=2, pinned is 1.0"),
        ("# why\na\nb\n", "lockfiles/a.in:3 wants b, and the lock has none"),
        ("a[more]\n", "without these extras"),
        ('b ; sys_platform == "win32"\na\n', ""),
        ("-c c.txt\na\n", "lockfiles/c.txt:1 wants a<1, pinned is 1.0"),
        ("-r c.txt\n", "lockfiles/c.txt:1 wants a<1, pinned is 1.0"),
    ],
)
def test_an_input_that_the_lock_does_not_answer_is_named_with_its_line(text, said):
    lock = subject(texts={"lockfiles/a.in": text, "lockfiles/c.txt": "a<1\n"})
    messages = [finding.message for finding in check_stale(lock, ())]
    assert len(messages) == (1 if said else 0)
    assert all(said in message for message in messages)


def test_a_project_is_an_input_with_its_extras_and_groups():
    project = """
[project]
name = "Own"
dependencies = ["a"]
[project.optional-dependencies]
x = ["b>1"]
all = ["own[x]"]
[dependency-groups]
dev = ["c"]
"""
    lock = subject(
        inputs=("pyproject.toml",),
        extras=("all",),
        groups=("dev",),
        texts={"pyproject.toml": project},
    )
    messages = [finding.message for finding in check_stale(lock, ())]
    assert messages == [
        "pyproject.toml:9 wants c, and the lock has none",
        "pyproject.toml:6 wants b>1, and the lock has none",
    ]


def advisory(*events, versions=(), kind="ECOSYSTEM", **more):
    return Advisory.model_validate(
        {
            "id": "OSV-1",
            "aliases": ["CVE-1"],
            "schema_version": "1.6.0",
            "affected": [
                {
                    "package": {"ecosystem": "PyPI", "name": "A"},
                    "ranges": [{"type": kind, "events": list(events)}],
                    "versions": list(versions),
                }
            ],
            **more,
        }
    )


@pytest.mark.parametrize(
    ("given", "hit"),
    [
        (advisory({"introduced": "0"}, {"fixed": "1.1"}), True),
        (advisory({"introduced": "0"}, {"fixed": "1.0"}), False),
        (advisory({"introduced": "1.1"}), False),
        (advisory({"introduced": "0"}, {"last_affected": "1.0"}), True),
        (advisory({"introduced": "0"}, {"last_affected": "0.9"}), False),
        (advisory({"fixed": "0.5"}, {"introduced": "0"}, {"introduced": "0.9"}), True),
        (advisory({"introduced": "0"}, kind="GIT"), False),
        (advisory(versions=["1.0"]), True),
        (advisory({"introduced": "not a version"}), True),
        (advisory({"introduced": "0"}, withdrawn="2026-01-01T00:00:00Z"), False),
    ],
)
def test_an_advisory_concerns_the_versions_in_its_ranges(given, hit):
    lock = subject()
    hits = hits_of(lock, [given])
    assert bool(check_advisories(lock, hits, (), TODAY)) == hit


def test_an_acceptance_counts_until_its_day_and_is_odd_where_it_accepts_nothing():
    lock = subject()
    hits = hits_of(lock, [advisory({"introduced": "0"}, {"fixed": "1.5"})])
    good = AcceptedAdvisory(id="CVE-1", reason="not reachable", until=TODAY)
    late = AcceptedAdvisory(id="OSV-1", reason="not reachable", until=date(2026, 5, 31))
    assert check_advisories(lock, hits, (good,), TODAY) == []
    (finding,) = check_advisories(lock, hits, (late,), TODAY)
    assert "accepted until 2026-05-31, which has passed" in finding.message
    assert "fixed in 1.5" in finding.remedy
    other = AcceptedAdvisory(id="CVE-9", reason="x", until=TODAY)
    (odd,) = check_acceptances((good, other), hits, "locks.yaml")
    assert (odd.level, "CVE-9" in odd.subject) == ("warning", True)


def test_a_hold_needs_a_reason_and_a_day_to_come():
    text = """\
# Holds.
a<2  # breaks the scheduler, until 2026-06-01
b<2  # breaks it, until 2026-05-31
c<2
d<2  # for good
e<2  # odd, until 2026-02-31
f f  # no, until 2027-01-01
"""
    found = [finding.subject for finding in check_holds(text, "holds.txt", TODAY)]
    assert [subject.split(":")[1].split()[0] for subject in found] == ["3", "4", "5", "6", "7"]
