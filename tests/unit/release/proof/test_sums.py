"""SHA256SUMS: written, read, and every way in which files can differ from it."""

import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.release.proof.errors import ProofError
from gauntlet.release.proof.sums import SUMS, parse_sums, sums_text, verify_sums, write_sums


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "images").mkdir()
    for name in ("b.whl", "a+cpu.whl", "images/x.json"):
        (tmp_path / name).write_bytes(name.encode())
    write_sums(tmp_path, [p for p in tmp_path.rglob("*") if p.is_file()])
    return tmp_path


def checks(folder, **more):
    return [(f.check, f.subject) for f in verify_sums(folder, **more)]


def test_what_is_as_it_was_has_no_findings(folder):
    assert checks(folder) == []
    names = [line.split("  ")[1] for line in (folder / SUMS).read_text().splitlines()]
    assert names == ["a+cpu.whl", "b.whl", "images/x.json"]


def test_coreutils_read_the_same_list(folder):
    if not shutil.which("sha256sum"):
        pytest.skip("no sha256sum here")
    command = ["sha256sum", "--check", "--strict", SUMS]
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
    (folder / "b.whl").write_bytes(b"other")
    assert subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 1


def test_tampering_is_found(folder):
    (folder / "b.whl").write_bytes(b"B.whl")
    (folder / "a+cpu.whl").unlink()
    (folder / "new.whl").write_bytes(b"")
    (folder / f"{SUMS}.sig").write_bytes(b"")
    assert checks(folder, others=[f"{SUMS}.sig"]) == [
        ("sums-missing", "a+cpu.whl"),
        ("sums-changed", "b.whl"),
        ("sums-unlisted", "new.whl"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "0" * 63 + "  a\n",
        "0" * 64 + " a\n",
        "0" * 64 + "  ../a\n",
        "0" * 64 + "  /a\n",
        "0" * 64 + "  a",
        ("0" * 64 + "  a\n") * 2,
        "\n",
    ],
)
def test_a_damaged_list_is_refused_with_its_line(tmp_path, text):
    (tmp_path / SUMS).write_text(text)
    with pytest.raises(ProofError, match=SUMS):
        verify_sums(tmp_path)


def test_no_list_is_an_error_and_not_an_empty_one(tmp_path):
    with pytest.raises(ConfigError, match=SUMS):
        verify_sums(tmp_path)


@pytest.mark.parametrize("name", ["", ".", "../a", "/a", "a\nb", "a\\b", "a//b", "./a"])
def test_names_that_would_mislead_are_refused(name):
    with pytest.raises(UsageError, match="cannot be a name"):
        sums_text({name: "0" * 64})


SAFE = st.from_regex(r"[A-Za-z0-9 +._é-]{1,12}", fullmatch=True).filter(
    lambda n: n not in (".", "..")
)


@given(st.dictionaries(SAFE, st.from_regex(r"[0-9a-f]{64}", fullmatch=True), max_size=8))
def test_what_is_written_is_read(sums):
    assert parse_sums(sums_text(sums)) == sums
    assert sums_text(dict(reversed(sums.items()))) == sums_text(sums)
