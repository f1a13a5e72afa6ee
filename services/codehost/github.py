"""GitHub's REST API behind the port. Answers are read strictly for what is used, and no more."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, TypeVar
from urllib.parse import parse_qsl

from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.core.errors import ExternalServiceError, unknown_name
from gauntlet.services.codehost.port import Issue, PullRequest
from gauntlet.services.transport import MaybeDoneError, NotFoundError, Transport

_PER_PAGE = "100"


class _Answer(BaseModel):
    """GitHub adds keys as it likes; those that are named here are checked."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Label(_Answer):
    name: str


class _Head(_Answer):
    ref: str


class _User(_Answer):
    login: str


class _Milestone(_Answer):
    number: int
    title: str


class _Pull(_Answer):
    number: int
    html_url: str
    state: Literal["open", "closed"]
    merged_at: datetime | None = None
    draft: bool = False
    labels: tuple[_Label, ...] = ()
    head: _Head
    merge_commit_sha: str | None = None
    title: str = ""
    user: _User | None = None
    milestone: _Milestone | None = None

    def told(self) -> PullRequest:
        return PullRequest(
            number=self.number,
            url=self.html_url,
            state="merged" if self.merged_at else self.state,
            labels=tuple(label.name for label in self.labels),
            draft=self.draft,
            head=self.head.ref,
            merge_commit=(self.merge_commit_sha or "") if self.merged_at else "",
            title=self.title,
            author=self.user.login if self.user else "",
            milestone=self.milestone.title if self.milestone else "",
            merged_at=self.merged_at,
        )


class _Issue(_Answer):
    number: int
    html_url: str
    state: Literal["open", "closed"]
    labels: tuple[_Label, ...] = ()
    body: str | None = None
    pull_request: Mapping[str, object] | None = None

    def told(self) -> Issue:
        return Issue(
            number=self.number,
            url=self.html_url,
            open=self.state == "open",
            labels=tuple(label.name for label in self.labels),
            text=self.body or "",
        )


AnswerT = TypeVar("AnswerT", bound=_Answer)


class GitHub:
    """One repository over REST."""

    def __init__(self, transport: Transport, slug: str) -> None:
        """Ask over ``transport``; ``slug`` is OWNER/NAME."""
        self._transport = transport
        self._slug = slug
        self._owner = slug.partition("/")[0]

    def pull_request(self, number: int) -> PullRequest | None:
        """One pull request; None where there is none of that number."""
        try:
            answer = self._transport.get(f"repos/{self._slug}/pulls/{number}")
        except NotFoundError:
            return None
        return _read(_Pull, answer.value, answer.address).told()

    def pull_request_of(self, head: str) -> PullRequest | None:
        """The newest pull request of a branch of this repository; None without one."""
        query = [("head", f"{self._owner}:{head}"), ("state", "all"), ("per_page", "1")]
        answer = self._transport.get(f"repos/{self._slug}/pulls", query)
        found = _list(_Pull, answer.value, answer.address)
        return found[0].told() if found else None

    def merged(self, *, label: str = "", milestone: str = "") -> Sequence[PullRequest]:
        """Merged pull requests with a label or in a milestone (its title), oldest number first."""
        query = [("state", "closed"), ("per_page", _PER_PAGE)]
        if label:
            query.append(("labels", label))
        if milestone:
            query.append(("milestone", str(self._milestone(milestone))))
        # Only issues can be asked for by label; a merge commit is told by the pull request alone.
        found = self._pages(_Issue, f"repos/{self._slug}/issues", query)
        numbers = sorted(issue.number for issue in found if issue.pull_request is not None)
        pulls = [self.pull_request(number) for number in numbers]
        return [pull for pull in pulls if pull is not None and pull.state == "merged"]

    def _milestone(self, title: str) -> int:
        query = [("state", "all"), ("per_page", _PER_PAGE)]
        known = self._pages(_Milestone, f"repos/{self._slug}/milestones", query)
        numbers = {each.title: each.number for each in known}
        if title not in numbers:
            raise unknown_name("milestone", title, numbers)
        return numbers[title]

    def _pages(
        self, model: type[AnswerT], path: str, query: Sequence[tuple[str, str]]
    ) -> list[AnswerT]:
        """All pages of a list."""
        found: list[AnswerT] = []
        seen: set[str] = set()
        while True:
            answer = self._transport.get(path, query)
            found += _list(model, answer.value, answer.address)
            following = answer.next_query
            if not following or following in seen:
                return found
            seen.add(following)
            query = parse_qsl(following, keep_blank_values=True)

    def open_draft(
        self, *, title: str, body: str, head: str, base: str, labels: Sequence[str] = ()
    ) -> PullRequest:
        """Open a draft; where the branch has an open one already, that one is returned."""
        return self._labelled(self._draft(title, body, head, base), labels)

    def _labelled(self, pull: PullRequest, labels: Sequence[str]) -> PullRequest:
        """Put labels on it; GitHub takes none when a pull request is opened."""
        missing = [label for label in labels if label not in pull.labels]
        if not missing:
            return pull
        path = f"repos/{self._slug}/issues/{pull.number}/labels"
        answer = self._transport.send("POST", path, {"labels": missing})
        names = (label.name for label in _list(_Label, answer.value, answer.address))
        return replace(pull, labels=tuple(names))

    def _draft(self, title: str, body: str, head: str, base: str) -> PullRequest:
        known = self.pull_request_of(head)
        if known is not None and known.state == "open":
            return known
        sent = {"title": title, "body": body, "head": head, "base": base, "draft": True}
        try:
            answer = self._transport.send("POST", f"repos/{self._slug}/pulls", sent)
        except MaybeDoneError:
            found = self.pull_request_of(head)
            if found is None or found.state != "open":
                raise
            return found
        return _read(_Pull, answer.value, answer.address).told()

    def rewrite(self, number: int, *, title: str, body: str) -> PullRequest:
        """Put another title and text on a pull request."""
        path = f"repos/{self._slug}/pulls/{number}"
        answer = self._transport.send("PATCH", path, {"title": title, "body": body})
        return _read(_Pull, answer.value, answer.address).told()

    def open_issues(self, label: str) -> Sequence[Issue]:
        """The newest open issues with a label, a hundred at most."""
        query = [("labels", label), ("state", "open"), ("per_page", _PER_PAGE)]
        answer = self._transport.get(f"repos/{self._slug}/issues", query)
        # GitHub lists pull requests as issues.
        found = _list(_Issue, answer.value, answer.address)
        return [issue.told() for issue in found if issue.pull_request is None]

    def open_issue(self, *, title: str, body: str, labels: Sequence[str]) -> Issue:
        """Open an issue."""
        sent = {"title": title, "body": body, "labels": list(labels)}
        answer = self._transport.send("POST", f"repos/{self._slug}/issues", sent)
        return _read(_Issue, answer.value, answer.address).told()

    def close(self) -> None:
        """Close connections."""
        self._transport.close()


def _list(model: type[AnswerT], value: object, address: str) -> list[AnswerT]:
    if not isinstance(value, list):
        found = type(value).__name__
        msg = f"{address}: expected a list, found {found}"
        raise ExternalServiceError(msg, hint="is this the address of GitHub's API?")
    return [_read(model, each, address) for each in value]


def _read(model: type[AnswerT], value: object, address: str) -> AnswerT:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        msg = f"{address}: the answer is not understood: {where}: {first['msg']}"
        raise ExternalServiceError(msg, hint="is this the address of GitHub's API?") from error
