"""Worktrees that are made and forgotten again, however it ends."""

import pytest
from git_repository import GitRepository

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.git import git
from gauntlet.services.git_writing import worktree


def repository(folder):
    made = GitRepository(folder)
    made.commit("One", {"a.txt": "1"})
    return made.folder


def known(root):
    return git(root, "worktree", "list", "--porcelain").count("worktree ")


def test_a_worktree_that_git_holds_locked_is_forgotten_too(tmp_path):
    """As git leaves it, when it is interrupted in the middle of making one."""
    root = repository(tmp_path)
    with worktree(root, "HEAD") as tree:
        git(root, "worktree", "lock", "--reason", "initializing", str(tree))
    assert (known(root), tree.exists()) == (1, False)


def test_a_worktree_that_cannot_be_made_leaves_nothing(tmp_path):
    root = repository(tmp_path)
    with pytest.raises(InfrastructureError, match="nothing"), worktree(root, "nothing"):
        pytest.fail("there is no such commit")
    assert known(root) == 1
