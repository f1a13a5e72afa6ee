import json
import subprocess

import pytest
from factories import NOON

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.git_history import commit_batches


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "engine"
    folder.mkdir()

    def git(*arguments):
        subprocess.run(
            ["git", "-c", "user.name=Ann", "-c", "user.email=a@example.com", *arguments],
            cwd=folder, check=True, capture_output=True,
        )  # fmt: skip

    def commit(name, title, body=""):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(title)
        git("add", "-A")
        git("commit", "-qm", title, *(["-m", body] if body else []))

    git("init", "-qb", "main")
    commit("a.py", "Begin")
    commit("b c/ü.py", "Add it (#12)")
    git("checkout", "-qb", "topic")
    commit("d.py", "Work")
    commit("e.py", "More work")
    git("checkout", "-q", "main")
    git("merge", "-q", "--no-ff", "-m", "Merge topic (#13)", "topic")
    commit("a.py", 'Revert "Add it"', "This reverts commit 0123456789abcdef.")
    return folder


def rows(repository, after=None):
    batches = commit_batches(repository, branch="main", name="engine", after=after, now=NOON)
    return [
        json.loads(line)
        for batch in batches
        for section in batch.sections
        for line in section.payload.splitlines()
    ]


def test_commits_stand_in_merge_order_with_their_paths(repository):
    found = rows(repository)
    assert [(r["position"], r["title"], r["paths"]) for r in found] == [
        (1, "Begin", ["a.py"]),
        (2, "Add it (#12)", ["b c/ü.py"]),
        (3, "Merge topic (#13)", ["d.py", "e.py"]),
        (4, 'Revert "Add it"', ["a.py"]),
    ]
    assert [r["pull_request"] for r in found] == [None, 12, 13, None]
    assert found[3]["reverts"] == "0123456789abcdef"
    assert [r["parent"] for r in found[1:]] == [r["sha"] for r in found[:-1]]


def test_only_what_is_new_is_read_again(repository):
    second = rows(repository)[1]["sha"]
    assert [r["position"] for r in rows(repository, after=second)] == [3, 4]


def test_after_a_forced_push_the_whole_history_is_read(repository):
    assert len(rows(repository, after="f" * 40)) == 4


def test_a_shallow_clone_is_refused(repository, tmp_path):
    clone = tmp_path / "clone"
    subprocess.run(
        ["git", "clone", "-q", "--depth=1", f"file://{repository}", str(clone)], check=True
    )
    with pytest.raises(UsageError, match="shallow clone: positions"):
        rows(clone)


def test_a_branch_that_is_not_there_is_told(repository):
    with pytest.raises(UsageError, match="no branch nain"):
        list(commit_batches(repository, branch="nain", name="x", after=None, now=NOON))
