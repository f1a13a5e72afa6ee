"""Where a build stands in the history, which says whose layers it may start from."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.proc import run

_GIT_S = 60.0
_NO_TAG = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revisions:
    """The commit that is built and those near it, in full; empty where there is none.

    ``clean`` tells whether what lies in the folder is the commit.
    """

    commit: str
    created: datetime
    parent: str = ""
    merge_base: str = ""
    branch: str = ""
    is_main: bool = False
    clean: bool = True

    @property
    def branch_tag(self) -> str:
        """The branch as a tag can be written."""
        return _NO_TAG.sub("-", self.branch).strip("-.")[:100]

    def cache_sources(self) -> tuple[str, ...]:
        """Tags of caches in the order in which they are looked into."""
        found = [f"commit-{each}" for each in (self.commit, self.parent, self.merge_base) if each]
        found += [f"branch-{self.branch_tag}"] if self.branch_tag else []
        return tuple(dict.fromkeys([*found, "main"]))

    def cache_targets(self) -> tuple[str, ...]:
        """Tags of caches that the build writes; main's is written by main alone."""
        found = [f"commit-{self.commit}"]
        found += [f"branch-{self.branch_tag}"] if self.branch_tag else []
        return tuple([*found, "main"] if self.is_main else found)

    def variables(self) -> Mapping[str, str]:
        """As docker-bake.hcl takes them."""
        return {
            "COMMIT": self.commit,
            "PARENT": self.parent,
            "MERGE_BASE": self.merge_base,
            "BRANCH": self.branch_tag,
            "IS_MAIN": "1" if self.is_main else "",
            "CREATED": self.created.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "SOURCE_DATE_EPOCH": str(int(self.created.timestamp())),
        }


def read_revisions(root: Path, *, main: str, branch: str = "") -> Revisions:
    """Ask git. Raises UsageError where the folder is no repository with a commit."""
    if not _maybe(root, "rev-parse", "--verify", "--quiet", "HEAD"):
        msg = f"{root} is no git repository with a commit, and images are named by theirs"
        raise UsageError(msg, hint="give --root, or commit first")
    commit, _, seconds = _git(root, "show", "--no-patch", "--format=%H %ct", "HEAD").partition(" ")
    named = branch or _git(root, "rev-parse", "--abbrev-ref", "HEAD")
    named = "" if named == "HEAD" else named
    return Revisions(
        commit=commit,
        created=datetime.fromtimestamp(int(seconds), UTC),
        parent=_maybe(root, "rev-parse", "--verify", "--quiet", "HEAD^"),
        merge_base=_maybe(root, "merge-base", "HEAD", f"origin/{main}")
        or _maybe(root, "merge-base", "HEAD", main),
        branch=named,
        is_main=named == main,
        clean=not _git(root, "status", "--porcelain"),
    )


def _git(root: Path, *arguments: str) -> str:
    return run(["git", *arguments], cwd=root, timeout=_GIT_S).stdout.strip()


def _maybe(root: Path, *arguments: str) -> str:
    """What git says; nothing where the commit is not there, as in a shallow clone."""
    done = run(["git", *arguments], cwd=root, timeout=_GIT_S, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""
