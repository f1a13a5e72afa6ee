"""Commits with an earlier one taken back, made without a working tree.

Only objects are added to the repository; no branch names them, and ``git gc`` removes them later.
"""

import os
import tempfile
from pathlib import Path

from gauntlet.core.proc import CommandError, run

_TIMEOUT_S = 120.0
_LIMIT = 256 << 20
# The same commit each time, so that its runs are found again when a search is continued.
_IDENTITY = {
    "GIT_AUTHOR_NAME": "gauntlet",
    "GIT_AUTHOR_EMAIL": "gauntlet@localhost",
    "GIT_AUTHOR_DATE": "2000-01-01T00:00:00Z",
    "GIT_COMMITTER_NAME": "gauntlet",
    "GIT_COMMITTER_EMAIL": "gauntlet@localhost",
    "GIT_COMMITTER_DATE": "2000-01-01T00:00:00Z",
}


class Reverter:
    """Takes commits back in one repository."""

    def __init__(self, repository: Path) -> None:
        self._repository = repository

    def without(self, commit: str, culprit: str) -> str | None:
        """Make ``commit`` without the changes of ``culprit``, its ancestor; return its id.

        None where they do not come out cleanly, or where nothing of them is left. Raises
        CommandError where git cannot do its work.
        """
        with tempfile.TemporaryDirectory(prefix="gauntlet-index-") as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder) / "index")}
            backwards = ("diff", "--binary", "--full-index", "--no-ext-diff", "--no-textconv")
            patch = self._git(*backwards, "--no-renames", culprit, f"{culprit}^1")
            if not patch:
                return None
            self._git("read-tree", commit, env=index)
            try:
                self._git("apply", "--cached", "--3way", "-", env=index, stdin=patch)
            except CommandError as error:
                if error.result is None:
                    raise
                return None
            tree = self._git("write-tree", env=index).strip()
        if tree == self._git("rev-parse", f"{commit}^{{tree}}").strip():
            return None
        message = f"Revert {culprit} on top of {commit}"
        made = self._git("commit-tree", tree, "-p", commit, "-m", message, env=_IDENTITY)
        return made.strip()

    def _git(
        self, *arguments: str, env: dict[str, str] | None = None, stdin: str | None = None
    ) -> str:
        done = run(
            ["git", "-C", str(self._repository), *arguments],
            env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C", **(env or {})},
            stdin=None if stdin is None else stdin.encode("utf-8", "surrogateescape"),
            timeout=_TIMEOUT_S,
            limit=_LIMIT,
            errors="surrogateescape",
        )
        return done.stdout
