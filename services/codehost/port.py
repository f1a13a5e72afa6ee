"""What is asked of a code host: a port, which GitHub serves, and tests serve from memory."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as it is now; ``merged_at`` and ``merge_commit`` are of merged ones."""

    number: int
    url: str
    state: Literal["open", "closed", "merged"]
    labels: tuple[str, ...] = ()
    draft: bool = False
    head: str = ""
    merge_commit: str = ""
    title: str = ""
    author: str = ""
    milestone: str = ""
    merged_at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Issue:
    """An issue as it is now."""

    number: int
    url: str
    open: bool
    labels: tuple[str, ...] = ()
    text: str = ""


class CodeHost(Protocol):
    """One repository.

    Every method raises ExternalServiceError where the host does not answer as it should, and
    UsageError where the token is not good enough.
    """

    def pull_request(self, number: int) -> PullRequest | None:
        """One pull request; None where there is none of that number."""

    def pull_request_of(self, head: str) -> PullRequest | None:
        """The newest pull request of a branch of this repository, open or not; None without one."""

    def merged(self, *, label: str = "", milestone: str = "") -> Sequence[PullRequest]:
        """Merged pull requests with a label or in a milestone (its title), oldest number first.

        With both given they have both. Raises UsageError for a milestone that is not there.
        """

    def open_draft(
        self, *, title: str, body: str, head: str, base: str, labels: Sequence[str] = ()
    ) -> PullRequest:
        """Open a draft; where the branch has an open one already, that one is returned.

        Labels that it does not have yet are put on it in both cases.
        """

    def rewrite(self, number: int, *, title: str, body: str) -> PullRequest:
        """Put another title and text on a pull request."""

    def open_issues(self, label: str) -> Sequence[Issue]:
        """The newest open issues with a label, a few hundred at most."""

    def open_issue(self, *, title: str, body: str, labels: Sequence[str]) -> Issue:
        """Open an issue."""

    def close(self) -> object:
        """Close connections. Safe to call again."""
