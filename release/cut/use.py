"""Plan a cut from what is known, and carry it out once, whoever else tries."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from gauntlet.core.errors import (
    ExternalServiceError,
    InfrastructureError,
    NotQualifiedError,
    UsageError,
)
from gauntlet.core.git import find_commit, git
from gauntlet.release.cut.marker import marker_ref, push_cut, read_marker
from gauntlet.release.cut.rank import Ranking
from gauntlet.release.deeds import Deed, Office
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.remote import Remote, is_ancestor, release_before
from gauntlet.release.state import Cut, Release
from gauntlet.release.version import ReleaseVersion


@dataclass(frozen=True, slots=True, kw_only=True)
class CutRequest:
    """What is asked for; without a ``commit`` the ranking proposes one."""

    version: ReleaseVersion
    by: str
    now: datetime
    commit: str = ""
    reason: str = ""
    previous: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the remote has of a release, and main's head there."""

    main: str
    branch: str | None
    marker: Release | None
    tags: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPlan:
    """What is to be done.

    ``new`` makes branch and marker; ``adopt`` adds the marker to a branch that was made by hand;
    ``known`` was cut before and is only taken into the folder.
    """

    kind: Literal["new", "adopt", "known"]
    version: ReleaseVersion
    state: Release
    notes: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """For people."""
        cut, state = self.state.cut, self.state
        if self.kind == "known":
            return [was_cut(state)]
        verb = "make" if self.kind == "new" else "record"
        return [
            *self.notes,
            f"{verb} {state.branch} at {cut.commit} in {state.repository}",
            f"reason: {cut.reason}",
            f"candidates are measured against {state.previous or 'nothing: no release is older'}",
        ]


def was_cut(state: Release) -> str:
    """Who cut a release, in a sentence."""
    cut = state.cut
    return f"{state.version} was cut by {cut.by} on {cut.at:%F %H:%M} UTC at {cut.commit}"


def look(remote: Remote, version: ReleaseVersion) -> Seen:
    """Look at the remote; bring what is new of main here."""
    main = remote.fetch_base()
    branch, marker = f"refs/heads/{version.branch}", marker_ref(version)
    found = remote.heads(branch, marker, "refs/tags/*")
    told = read_marker(remote, version, found[marker][1]) if marker in found else None
    head = found[branch][1] if branch in found else None
    if head is not None:
        remote.fetch(branch, head)
    prefix = "refs/tags/"
    tags = {n.removeprefix(prefix): c for n, (_, c) in found.items() if n.startswith(prefix)}
    return Seen(main=main, branch=head, marker=told, tags=tags)


def plan_cut(
    request: CutRequest,
    seen: Seen,
    remote: Remote,
    *,
    kept: Release | None,
    ranking: Ranking | None,
) -> CutPlan:
    """Decide what to do. ``kept`` is the folder's state; without a ranking a commit is needed.

    Raises UsageError where the version, the branch or the commit cannot be, NotQualifiedError
    where no build is good enough, InfrastructureError where this machine's clock is behind.
    """
    _check_version(request, seen, remote)
    asked = _asked(request, remote) if request.commit else None
    if seen.marker is not None:
        return _known(request, seen, remote, seen.marker, kept=kept, asked=asked)
    if kept is not None:
        msg = f"{was_cut(kept)}, and {remote.name} does not know of it"
        hint = f"another --repository? else push it: git push {remote.name} COMMIT:{kept.branch}"
        raise NotQualifiedError(msg, hint=hint)
    best, notes = _proposed(ranking, seen, remote)
    proposed = best.partition(" ")[0]
    commit = asked or proposed
    if not commit:
        raise NotQualifiedError(
            "no build of main is good enough to be cut from: nothing is cut",
            hint="--commit SHA --reason TEXT overrides, on record",
        )
    if asked and asked != proposed and not request.reason.strip():
        hint = "add --reason TEXT: it is recorded"
        raise UsageError(f"{asked[:10]} is not what the ranking proposes", hint=hint)
    _check_commit(commit, seen, remote, request.now)
    if seen.branch not in (None, commit):
        msg = f"{remote.name} has {request.version.branch} already, at {seen.branch}"
        hint = "nobody recorded that cut; with --commit of exactly its head it is taken over"
        raise UsageError(msg, hint=hint)
    previous = request.previous or release_before(seen.tags, request.version)
    state = Release(
        version=request.version.tag,
        repository=remote.address,
        branch=request.version.branch,
        previous=previous,
        previous_commit=seen.tags.get(previous, ""),
        cut=Cut(
            commit=commit,
            proposed=proposed,
            reason=request.reason.strip() or best.partition(" ")[2],
            by=request.by,
            at=request.now,
        ),
    )
    kind: Literal["new", "adopt"] = "adopt" if seen.branch else "new"
    return CutPlan(kind=kind, version=request.version, state=state, notes=notes)


def perform(plan: CutPlan, remote: Remote, folder: ReleaseFolder, office: Office, by: str) -> bool:
    """Carry a plan out; return whether the branch was made now.

    May be killed anywhere and run again: the remote's marker is the truth. Raises UsageError that
    says by whom it was cut where somebody else was quicker.
    """
    with folder.held():
        state = folder.find() or plan.state
        if plan.kind != "known":
            _push(plan, remote)
        elif plan.state.cut.by != by and folder.find() is None:
            # Who cut it told of it.
            state = state.model_copy(update={"told": ("cut",)})
        folder.save(state)
        office.follow(folder, state, _deed(plan, office))
    return plan.kind != "known"


def _push(plan: CutPlan, remote: Remote) -> None:
    try:
        push_cut(remote, plan.version, plan.state, branch=plan.kind == "new")
    except ExternalServiceError:
        seen = look(remote, plan.version)
        if seen.marker is None and seen.branch is None:
            raise
        if seen.marker == plan.state:
            return  # it went through, and the answer was lost
        if seen.marker is not None:
            msg = f"somebody was quicker: {was_cut(seen.marker)}"
            raise UsageError(msg, hint="run it again to go on with that one") from None
        msg = f"{remote.name} has {plan.version.branch} meanwhile, at {seen.branch}"
        raise UsageError(msg, hint="ask who made it; nobody recorded that cut") from None


def _check_version(request: CutRequest, seen: Seen, remote: Remote) -> None:
    version = request.version
    if version.is_candidate:
        raise UsageError(f"{version} is a candidate", hint=f"cut {version.final}")
    released = seen.tags.get(version.tag)
    if released is not None:
        msg = f"{version} is released already: {remote.name} has its tag, at {released}"
        raise UsageError(msg, hint="a release is never cut again: take the next version")
    here = find_commit(remote.repository, f"refs/tags/{version.tag}")
    if here is not None:
        msg = f"{remote.repository} has a tag {version}, at {here}, and {remote.name} has none"
        raise UsageError(msg, hint=f"git tag -d {version}, if it is a leftover")
    if request.previous and request.previous not in seen.tags:
        msg = f"{remote.name} has no tag {request.previous}"
        hint = f"newest before {version}: {release_before(seen.tags, version) or 'none'}"
        raise UsageError(msg, hint=hint)


def _asked(request: CutRequest, remote: Remote) -> str:
    found = find_commit(remote.repository, request.commit)
    if found is None:
        msg = f"{remote.repository} has no commit {request.commit}"
        raise UsageError(msg, hint=f"is it on {remote.base} of {remote.name}? git fetch")
    return found


def _known(
    request: CutRequest,
    seen: Seen,
    remote: Remote,
    marker: Release,
    *,
    kept: Release | None,
    asked: str | None,
) -> CutPlan:
    cut = marker.cut.commit
    if asked not in (None, cut):
        msg = f"{was_cut(marker)}, not at {asked}"
        raise UsageError(msg, hint="a branch is cut once; bring changes with release picks")
    if kept is not None and kept.cut != marker.cut:
        msg = f"the folder says: {was_cut(kept)}; {remote.name} says: {was_cut(marker)}"
        raise NotQualifiedError(msg, hint="which is right? remove the other")
    if seen.branch is None:
        msg = f"{was_cut(marker)}, and {remote.name} does not have {marker.branch} any more"
        hint = f"git push {remote.name} {cut}:refs/heads/{marker.branch} brings it back"
        raise NotQualifiedError(msg, hint=hint)
    if not is_ancestor(remote.repository, cut, seen.branch):
        msg = f"{was_cut(marker)}, and {marker.branch} does not have that commit any more"
        raise NotQualifiedError(msg, hint=f"it was rewritten: it is at {seen.branch} now")
    return CutPlan(kind="known", version=request.version, state=kept or marker)


def _proposed(ranking: Ranking | None, seen: Seen, remote: Remote) -> tuple[str, tuple[str, ...]]:
    """The best commit that main has, and its reason behind a blank; notes on others."""
    notes: list[str] = []
    for health in ranking.candidates if ranking else ():
        sha, number = health.build.sha, health.build.number
        if _on_main(sha, seen.main, remote):
            reasons = "; ".join(point.reason for point in health.findings)
            text = f"{sha} greenest build {number} with {health.points:g} points: {reasons}"
            return text, tuple(notes)
        notes.append(f"{sha[:10]} (build {number}) is not on {remote.base} any more")
    return "", tuple(notes)


def _on_main(sha: str, main: str, remote: Remote) -> bool:
    """Whether main was at a commit once; what was merged into it from a side never was."""
    if find_commit(remote.repository, sha) is None:
        return False
    if not is_ancestor(remote.repository, sha, main):
        return False
    later = git(remote.repository, "rev-list", "--first-parent", f"{sha}..{main}").split()
    return not later or git(remote.repository, "rev-parse", f"{later[-1]}^").strip() == sha


def _check_commit(commit: str, seen: Seen, remote: Remote, now: datetime) -> None:
    if not _on_main(commit, seen.main, remote):
        msg = f"{commit} is not on {remote.base} of {remote.name}, whose head is {seen.main}"
        raise UsageError(msg, hint="a release is cut from main only; bring fixes with picks")
    stamp = int(git(remote.repository, "log", "-1", "--format=%ct", commit))
    made = datetime.fromtimestamp(stamp, UTC)
    if made > now:
        msg = f"{commit[:10]} is of {made:%F %H:%M:%S} UTC, and here it is {now:%F %H:%M:%S}"
        raise InfrastructureError(msg, hint="set this machine's clock")


def _deed(plan: CutPlan, office: Office) -> Deed:
    state, cut = plan.state, plan.state.cut
    return Deed(
        version=plan.version,
        outcome="cut",
        reason=cut.reason,
        evidence={
            "commit": cut.commit,
            "proposed": cut.proposed,
            "branch": state.branch,
            "previous": state.previous,
        },
        at=cut.at,
        by=cut.by,
        template=office.announcements.cut,
        words={
            "version": state.version,
            "branch": state.branch,
            "commit": cut.commit[:10],
            "by": cut.by,
            "reason": cut.reason,
            "previous": state.previous,
        },
        told_as="cut",
    )
