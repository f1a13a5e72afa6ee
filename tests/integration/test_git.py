import subprocess

import pytest

from gauntlet.core.errors import UsageError
from gauntlet.core.git import name_status, parse_name_status, split_range


@pytest.fixture
def repository(tmp_path, monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@t", "-C", str(tmp_path), *arguments],
            check=True,
            capture_output=True,
        )

    git("init", "-q", "-b", "main")
    for name in ("keep.py", "gone.py", "moved.py"):
        (tmp_path / name).write_text(f"{name}\n" * 20)
    git("add", ".")
    git("commit", "-qm", "one")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "keep.py").write_text("changed\n")
    (tmp_path / "docs").mkdir()
    (tmp_path / "moved.py").rename(tmp_path / "docs" / "moved.md")
    (tmp_path / 'odd "ä\tname').write_text("new\n")
    git("add", ".")
    git("commit", "-qm", "two")
    return tmp_path


def test_both_sides_of_renames_deletions_and_odd_names(repository):
    entries = {(e.status, e.path, e.old_path) for e in name_status(repository, "HEAD~1", "HEAD")}
    assert entries == {
        ("M", "keep.py", None),
        ("D", "gone.py", None),
        ("R", "docs/moved.md", "moved.py"),
        ("A", 'odd "ä\tname', None),
    }


def test_reading_leaves_the_checkout_as_it_was(repository):
    before = {p: p.stat().st_mtime_ns for p in (repository / ".git").iterdir()}
    name_status(repository, "HEAD~1", "HEAD")
    assert {p: p.stat().st_mtime_ns for p in (repository / ".git").iterdir()} == before


@pytest.mark.parametrize("revisions", ["HEAD", "--output=x..y", "..HEAD", "a..--output=x"])
def test_text_that_is_no_range_is_a_usage_error(revisions):
    with pytest.raises(UsageError, match="not a revision range"):
        split_range(revisions)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        pytest.param("a..b", ("a", "b", False), id="two dots"),
        pytest.param("a...b", ("a", "b", True), id="three dots"),
        pytest.param("v1.0..", ("v1.0", "HEAD", False), id="no head"),
    ],
)
def test_ranges(text, parts):
    assert split_range(text) == parts


def test_a_folder_that_is_no_repository(tmp_path):
    with pytest.raises(UsageError, match="(?i)not a git repository"):
        name_status(tmp_path, "a", "b")


def test_a_list_that_ends_in_the_middle_of_a_rename():
    with pytest.raises(UsageError, match="ends in the middle"):
        parse_name_status("R100\0old\0")


def test_bytes_that_are_no_text_stay_told_apart():
    assert [e.path for e in parse_name_status("A\0a\\xff\0A\0a\\xfe\0")] == ["a\\xff", "a\\xfe"]
