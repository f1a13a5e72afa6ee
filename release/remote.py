"""The remote that releases are made at: its branches, tags, and who cut what."""

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.core.git import fetch, find_commit, git, is_shallow
from gauntlet.release.version import ReleaseVersion
from gauntlet.services.git_writing import remote_refs

CUTS = "refs/gauntlet/cuts/"
"""Beside each branch the remote keeps who cut it, when and why: a commit with that as JSON."""
_UNFIT = re.compile(r"[<>\r\n\0]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A remote of a checkout, and the branch there that changes are merged to."""

    repository: Path
    name: str = "origin"
    base: str = "main"

    @property
    def address(self) -> str:
        """Where it is, without a password."""
        url = git(self.repository, "remote", "get-url", self.name).strip()
        parts = urlsplit(url)
        if parts.scheme and "@" in parts.netloc:
            return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
        return url

    def heads(self, *refs: str) -> dict[str, tuple[str, str]]:
        """Look at whole refs or patterns of them: the object and its commit."""
        # An annotated tag leads to its commit only where that is asked for as well.
        peeled = [f"{ref}^{{}}" for ref in refs if ref.startswith("refs/tags/")]
        return remote_refs(self.repository, self.name, *refs, *peeled)

    def branch_head(self, version: ReleaseVersion) -> str | None:
        """Where a release's branch is there; None where there is none."""
        ref = f"refs/heads/{version.branch}"
        return self.heads(ref).get(ref, (None, None))[1]

    def tags(self) -> dict[str, str]:
        """Commits by tag."""
        found = self.heads("refs/tags/*")
        return {name.removeprefix("refs/tags/"): commit for name, (_, commit) in found.items()}

    def fetch_base(self) -> str:
        """Bring the newest of the base branch here and return its head.

        Raises UsageError for a shallow clone, whose history cannot be followed, and where the
        remote has no such branch.
        """
        if is_shallow(self.repository):
            msg = f"{self.repository} is a shallow clone: its history cannot be followed"
            raise UsageError(msg, hint=f"git fetch --unshallow {self.name}")
        ref = f"refs/heads/{self.base}"
        head = self.heads(ref).get(ref, (None, None))[1]
        if head is None:
            msg = f"{self.name} of {self.repository} has no branch {self.base}"
            raise UsageError(msg, hint="repository.base and repository.remote of the policy say it")
        self.fetch(ref, head)
        return head

    def fetch(self, ref: str, commit: str) -> None:
        """Bring a ref's commit here, where this clone does not hold it; no ref of it moves.

        Raises ExternalServiceError where the remote gives something else meanwhile.
        """
        if find_commit(self.repository, commit) is None:
            fetch(self.repository, self.name, ref)
        if find_commit(self.repository, commit) is None:
            msg = f"{self.name} moved {ref} while it was fetched: {commit[:10]} did not come"
            raise ExternalServiceError(msg, hint="run it again")


def is_ancestor(repository: Path, commit: str, of: str) -> bool:
    """Whether a history holds a commit; both are here."""
    try:
        git(repository, "merge-base", "--is-ancestor", commit, of)
    except UsageError:
        return False
    return True


def release_before(tags: dict[str, str], version: ReleaseVersion) -> str:
    """The newest release's tag below a version; empty where there is none."""
    found = []
    for tag in tags:
        try:
            other = ReleaseVersion.parse(tag)
        except UsageError:
            continue
        if tag.startswith("v") and not other.is_candidate and other < version.final:
            found.append(other)
    return max(found).tag if found else ""


def fit_name(name: str) -> str:
    """A person's name as git can keep it in a signature."""
    return _UNFIT.sub(" ", name).strip() or "unknown"
