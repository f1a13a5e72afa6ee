"""Plan picks for a release's branch, and push what applies: git says what is there."""

from dataclasses import dataclass
from datetime import datetime

from gauntlet.core.errors import ExternalServiceError, NotQualifiedError
from gauntlet.core.git import git
from gauntlet.release.deeds import Deed, Office
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.picks.check import BranchCommit, picks_of, read_branch
from gauntlet.release.picks.facts import Standing, facts_of, look_at_branch
from gauntlet.release.picks.plan import UNPICKED, Item, Wanted, triage
from gauntlet.release.picks.rules import PickRules, Schedule
from gauntlet.release.picks.trial import try_picks
from gauntlet.release.picks.window import Window, check_clock, late_picks, window_of
from gauntlet.release.remote import Remote
from gauntlet.release.state import Pick, Release
from gauntlet.release.version import ReleaseVersion
from gauntlet.services.git_writing import RefUpdate, push_together
from gauntlet.warehouse.rows.measurement import DecisionRow


@dataclass(frozen=True, slots=True, kw_only=True)
class PicksRequest:
    """What is asked for, by whom, and why it may come late."""

    version: ReleaseVersion
    by: str
    now: datetime
    wanted: tuple[Wanted, ...]
    blocker: str = ""
    """The blocker of a candidate that all of it mends."""
    waive: str = ""
    """Why the window does not matter; recorded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PicksPlan:
    """What becomes of what was asked for; ``head`` is the branch with all that applied."""

    state: Release
    standing: Standing
    items: tuple[Item, ...]
    head: str
    window: Window

    @property
    def fresh(self) -> tuple[Item, ...]:
        """What is new on the branch."""
        return tuple(item for item in self.items if item.applied)

    @property
    def left(self) -> tuple[Item, ...]:
        """What was asked for, and does not come."""
        return tuple(item for item in self.items if item.status in UNPICKED)

    def late(self, request: PicksRequest, rules: PickRules) -> tuple[str, ...]:
        """What the closed window keeps out."""
        if self.window.is_open(request.now) or request.waive.strip():
            return ()
        return late_picks(
            ((item.name, item.labels) for item in self.fresh),
            blocker_label=rules.blocker_label,
            blocker=request.blocker.strip(),
        )


def plan_picks(
    request: PicksRequest, remote: Remote, state: Release, standing: Standing, schedule: Schedule
) -> PicksPlan:
    """Sort and try what is asked for. Nothing but unnamed objects of git is made."""
    window = window_of(schedule, state.cut.at)
    check_clock(request.now, state.cut.at, f"{state.version} was cut")
    facts = facts_of(remote, standing, request.wanted, state.cut.commit)
    items = triage(request.wanted, facts)
    tried = try_picks(remote.repository, standing.head, items, standing.main)
    return PicksPlan(
        state=state, standing=standing, items=tried.items, head=tried.head, window=window
    )


def perform_picks(
    plan: PicksPlan,
    request: PicksRequest,
    remote: Remote,
    folder: ReleaseFolder,
    office: Office,
    rules: PickRules,
) -> Release:
    """Push what applied, and keep what the branch has then; return the state.

    May be killed anywhere and run again. Raises NotQualifiedError where the window keeps a pick
    out, ExternalServiceError where somebody else pushed meanwhile: nothing is lost then.
    """
    if late := plan.late(request, rules):
        msg = f"{plan.window.line(request.now)}: {', '.join(late)} cannot be picked any more"
        hint = (
            f"a fix of a candidate's blocker bears the label {rules.blocker_label}, or --blocker"
            " REASON; --waive REASON is recorded"
        )
        raise NotQualifiedError(msg, hint=hint)
    with folder.held():
        state = folder.load()
        if plan.fresh:
            if request.waive.strip() and not plan.window.is_open(request.now):
                office.waive(_waiver(plan, request, state))
            _push(plan, remote)
        commits = read_branch(
            remote.repository,
            cut=state.cut.commit,
            head=plan.head,
            main=plan.standing.main_head,
        )
        return keep_picks(state, commits, request, remote, folder, office)


def keep_picks(
    state: Release,
    commits: tuple[BranchCommit, ...],
    request: PicksRequest,
    remote: Remote,
    folder: ReleaseFolder,
    office: Office,
) -> Release:
    """Bring the state to what git says the branch has, and record what is new in it."""
    waiting = waiting_picks(state, commits, remote)
    if waiting == state.picks:
        return state
    known = {pick.applied for pick in state.picks}
    fresh = [pick for pick in waiting if pick.applied not in known]
    after = state.model_copy(update={"picks": waiting})
    if fresh:
        # Recorded first: killed here, the next run finds it new again.
        office.follow(folder, state, _deed(request, fresh))
    folder.save(after)
    return after


def waiting_picks(
    state: Release, commits: tuple[BranchCommit, ...], remote: Remote
) -> tuple[Pick, ...]:
    """Picks of the branch that are in no candidate yet."""
    picks = picks_of(commits)
    if not state.candidates:
        return picks
    last = state.candidates[-1].commit
    old = set(git(remote.repository, "rev-list", f"{state.cut.commit}..{last}").split())
    return tuple(pick for pick in picks if pick.applied not in old)


def next_candidate(state: Release) -> ReleaseVersion:
    """The candidate that comes next, as far as the folder knows."""
    numbers = [ReleaseVersion.parse(candidate.name).candidate for candidate in state.candidates]
    return ReleaseVersion.parse(state.version).rc(int(max(numbers, default=0)) + 1)


def _push(plan: PicksPlan, remote: Remote) -> None:
    ref = f"refs/heads/{plan.state.branch}"
    old = plan.standing.head
    try:
        push_together(
            remote.repository,
            remote.name,
            [RefUpdate(source=plan.head, target=ref, expected=old)],
        )
    except ExternalServiceError as error:
        there = remote.heads(ref).get(ref, ("", ""))[1]
        if there == plan.head:
            return
        if there == old:
            raise
        who = ""
        if there:
            remote.fetch(ref, there)
            name = git(remote.repository, "log", "-1", "--format=%cn: %s", there).strip()
            who = f" ({name})"
        msg = f"{plan.state.branch} moved from {old[:10]} to {there[:10] or 'nothing'}{who}"
        hint = "somebody else pushed; nothing was pushed over it: run it again"
        raise ExternalServiceError(msg, hint=hint) from error


def _waiver(plan: PicksPlan, request: PicksRequest, state: Release) -> DecisionRow:
    row = DecisionRow.of(
        next_candidate(state).tag,
        "waiver",
        "gate/window",
        "waived",
        reason=request.waive.strip(),
        evidence={
            "closed": plan.window.closes.isoformat(),
            "picks": [item.name for item in plan.fresh],
        },
        at=request.now,
        blocking=False,
    )
    return row.model_copy(update={"actor": request.by})


def _deed(request: PicksRequest, fresh: list[Pick]) -> Deed:
    return Deed(
        version=request.version,
        outcome="picked",
        reason=request.waive.strip() or request.blocker.strip() or "asked for",
        evidence={
            "picks": [pick.model_dump() for pick in fresh],
            "blocker": request.blocker.strip(),
            "waived": request.waive.strip(),
        },
        at=request.now,
        by=request.by,
    )


def look(remote: Remote, folder: ReleaseFolder) -> tuple[Release, Standing]:
    """Read the folder's state and look at the remote. Raises UsageError for what is published."""
    state = folder.load()
    state.ensure_unpublished()
    return state, look_at_branch(remote, state)
