"""Tag candidates: the next number at the branch's head, once, whoever else tries."""

from dataclasses import dataclass
from datetime import datetime

from gauntlet.core.errors import NotQualifiedError
from gauntlet.core.findings import Finding, errors_of
from gauntlet.core.git import find_commit, git
from gauntlet.release.deeds import Deed, Office
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.picks.check import branch_findings, picks_of, read_branch
from gauntlet.release.picks.facts import Standing, look_at_branch
from gauntlet.release.picks.rules import AllowRule
from gauntlet.release.picks.use import PicksRequest, keep_picks
from gauntlet.release.picks.window import check_clock
from gauntlet.release.remote import Remote, fit_name, is_ancestor
from gauntlet.release.state import Candidate, Release
from gauntlet.release.tagging import push_tag, tagger
from gauntlet.release.version import ReleaseVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatePlan:
    """The candidate that is to be tagged, or (``known``) that the branch's head has already."""

    state: Release
    """With candidates that others tagged taken in."""
    standing: Standing
    candidate: Candidate
    known: bool
    findings: tuple[Finding, ...]

    def lines(self) -> list[str]:
        """For people."""
        made = self.candidate
        if self.known:
            return [f"{made.name} is at {made.commit} already, tagged by {made.by}"]
        lines = [f"tag {made.name} at {made.commit}, the head of {self.state.branch}"]
        for pick in made.picks:
            number = f" (#{pick.pull_request})" if pick.pull_request else ""
            title = pick.title.removesuffix(number)
            lines.append(f"new in it: {pick.source[:10]} {title}{number}")
        return lines or ["nothing new"]


def plan_candidate(
    version: ReleaseVersion,
    remote: Remote,
    state: Release,
    allow: tuple[AllowRule, ...],
    *,
    by: str,
    now: datetime,
) -> CandidatePlan:
    """Look, compare and number. Raises NotQualifiedError for tags that moved or are gone.

    UsageError where the release is published: what comes now is of the next one.
    """
    state.ensure_unpublished()
    check_clock(now, state.cut.at, f"{state.version} was cut")
    standing = look_at_branch(remote, state)
    tags = _tags(remote, version)
    _check_tags(remote, state, tags)
    state = _with_others(remote, state, standing, tags, by=by)
    if state.candidates:
        last = state.candidates[-1]
        check_clock(now, last.at, f"{last.name} was tagged")
    known = [each for each in state.candidates if each.commit == standing.head]
    if known:
        candidate = known[-1]
    else:
        numbers = [ReleaseVersion.parse(name).candidate for name in tags]
        number = int(max(numbers, default=0)) + 1
        name = version.final.rc(number).tag
        candidate = _made(remote, state, standing, name, by=by, at=now)
    return CandidatePlan(
        state=state,
        standing=standing,
        candidate=candidate,
        known=bool(known),
        findings=branch_findings(standing.branch, allow),
    )


def perform_candidate(
    plan: CandidatePlan, remote: Remote, folder: ReleaseFolder, office: Office
) -> bool:
    """Tag the candidate and keep it; return whether it was tagged now.

    May be killed anywhere and run again: the remote's tags are the truth. Raises
    NotQualifiedError where the branch may not have what it has, ExternalServiceError where
    somebody else was quicker.
    """
    if errors := errors_of(plan.findings):
        first = errors[0]
        msg = f"{plan.state.branch}: {first.subject}: {first.message}"
        more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
        raise NotQualifiedError(f"{msg}{more}", hint=first.remedy)
    made = plan.candidate
    with folder.held():
        state = plan.state
        if not plan.known:
            push_tag(remote, made.name, made.commit, by=made.by, at=made.at)
            state = state.model_copy(update={"candidates": (*state.candidates, made)})
        request = PicksRequest(
            version=ReleaseVersion.parse(state.version), by=made.by, now=made.at, wanted=()
        )
        state = keep_picks(state, plan.standing.branch, request, remote, folder, office)
        folder.save(state)
        office.follow(folder, state, _deed(made, state, office))
    return not plan.known


def _tags(remote: Remote, version: ReleaseVersion) -> dict[str, tuple[str, str]]:
    """The remote's candidates of a release by name, in order: each tag's object and commit."""
    prefix = f"refs/tags/{version.final.tag}rc"
    found = remote.heads(f"{prefix}*")
    names = {
        name.removeprefix("refs/tags/"): told
        for name, told in found.items()
        if name.removeprefix(prefix).isdecimal() and not name.removeprefix(prefix).startswith("0")
    }
    return dict(sorted(names.items(), key=lambda each: ReleaseVersion.parse(each[0])))


def _check_tags(remote: Remote, state: Release, tags: dict[str, tuple[str, str]]) -> None:
    """A candidate's tag stays where it was made, here and there."""
    for candidate in state.candidates:
        there = tags.get(candidate.name, ("", ""))[1]
        if there != candidate.commit:
            where = f"is at {there} there" if there else "is not there any more"
            msg = f"{candidate.name} was tagged at {candidate.commit} and {where} ({remote.name})"
            hint = "what was proven was the first: put the tag back, and ask who moved it"
            raise NotQualifiedError(msg, hint=hint)
    version = ReleaseVersion.parse(state.version)
    pattern = f"refs/tags/{version.tag}rc*"
    local = git(remote.repository, "for-each-ref", "--format=%(refname:short)", pattern).split()
    for name in local:
        here = find_commit(remote.repository, f"refs/tags/{name}")
        there = tags.get(name, ("", ""))[1]
        if here != there:
            at = f"at {there} at {remote.name}" if there else f"not at {remote.name}"
            msg = f"{name} is at {here} in {remote.repository} and {at}"
            hint = f"git tag -d {name}, if the one here is wrong"
            raise NotQualifiedError(msg, hint=hint)


def _with_others(
    remote: Remote,
    state: Release,
    standing: Standing,
    tags: dict[str, tuple[str, str]],
    *,
    by: str,
) -> Release:
    """Take in candidates that the folder does not know: of others, or of a run that was killed."""
    known = {candidate.name for candidate in state.candidates}
    for name, (tag, commit) in tags.items():
        if name in known:
            continue
        remote.fetch(f"refs/tags/{name}", tag)
        if not is_ancestor(remote.repository, commit, standing.head):
            msg = f"{name} is at {commit}, which {state.branch} does not have"
            raise NotQualifiedError(msg, hint="who tagged it? candidates are tagged on the branch")
        by_whom, at = tagger(remote, tag)
        found = _made(remote, state, standing, name, by=by_whom, at=at, commit=commit)
        # Who tagged it told of it; a run of our own that was killed may not have.
        told = state.told if by_whom == fit_name(by) else (*state.told, name)
        taken = {"candidates": (*state.candidates, found), "told": told}
        state = state.model_copy(update=taken)
    return state


def _made(
    remote: Remote,
    state: Release,
    standing: Standing,
    name: str,
    *,
    by: str,
    at: datetime,
    commit: str = "",
) -> Candidate:
    commit = commit or standing.head
    cut = state.cut.commit
    branch = read_branch(remote.repository, cut=cut, head=commit, main=standing.main_head)
    before = state.candidates[-1].commit if state.candidates else cut
    old = set(git(remote.repository, "rev-list", f"{cut}..{before}").split())
    picks = tuple(pick for pick in picks_of(branch) if pick.applied not in old)
    # A tag keeps whole seconds, and the state is read from it after a kill.
    whole = at.replace(microsecond=0)
    return Candidate(name=name, commit=commit, by=fit_name(by), at=whole, picks=picks)


def _deed(made: Candidate, state: Release, office: Office) -> Deed:
    version = ReleaseVersion.parse(made.name)
    return Deed(
        version=version,
        outcome="candidate",
        reason=f"{made.name} at {made.commit}",
        evidence={"commit": made.commit, "picks": [pick.model_dump() for pick in made.picks]},
        at=made.at,
        by=made.by,
        template=office.announcements.candidate,
        words={
            "version": made.name,
            "branch": state.branch,
            "commit": made.commit[:10],
            "by": made.by,
            "previous": state.previous,
            "picks": str(len(made.picks)),
        },
        told_as=made.name,
    )
