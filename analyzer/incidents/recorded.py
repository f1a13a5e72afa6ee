"""Incidents that the warehouse knows: which of them go on, and what became of the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.columns import Cell, Column, columns_of, signature_of
from gauntlet.analyzer.incidents.history import History, Run
from gauntlet.analyzer.incidents.incident import Culprit, Incident, Recorded, Searched
from gauntlet.analyzer.incidents.renames import with_old_names
from gauntlet.analyzer.incidents.searched import after, holds
from gauntlet.analyzer.incidents.streaks import is_gone

# A job that did not run at so many built commits is no longer there.
_GONE_AFTER = 30

Change = Literal["fixed", "gone"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """An incident that was open and is not any more.

    ``fixed_in`` are the commits that may have fixed it, oldest first; ``by`` is the one of them
    that says it reverts the culprit, or that is left alone.
    """

    recorded: Recorded
    change: Change
    reason: str
    fixed_in: tuple[Commit, ...] = ()
    by: Commit | None = None


@dataclass(frozen=True, slots=True)
class Continued:
    """An incident that is open, and what the warehouse said of it before, if anything."""

    incident: Incident
    recorded: Recorded | None


def continue_incidents(
    found: Sequence[Incident], recorded: Iterable[Recorded], history: History
) -> tuple[list[Continued], list[Ended]]:
    """Match what is broken now with what was recorded open; say what became of the rest.

    An incident keeps its id, its culprit and its revert while it goes on, whatever else is
    learnt of its range. One that is ignored stays so while it goes on.
    """
    history, renames = with_old_names(history)
    known = [_renamed(each, renames) for each in recorded if each.outcome in ("open", "ignored")]
    left = {each.incident_id: each for each in known}
    continued = []
    for incident in found:
        match = next((each for each in left.values() if _goes_on(incident, each)), None)
        if match is None:
            continued.append(Continued(incident, None))
        else:
            del left[match.incident_id]
            continued.append(Continued(_carried(incident, match, history), match))
    ended = [_ended(each, history) for each in left.values() if each.outcome == "open"]
    return continued, [each for each in ended if each is not None]


def _renamed(recorded: Recorded, renames: Mapping[str, str]) -> Recorded:
    """The same incident with the present names of its jobs."""
    newest = {old: new for new, old in renames.items()}
    jobs = [newest.get(key, key) for key in sorted(recorded.jobs)]
    return replace(recorded, evidence={**recorded.evidence, "jobs": jobs})


def _goes_on(incident: Incident, recorded: Recorded) -> bool:
    """Whether both are the same: the same id, or the same thing failing since the same time."""
    if incident.incident_id == recorded.incident_id:
        return True
    shown = bool(recorded.tests & set(incident.tests)) or recorded.signature == incident.signature
    places = bool(recorded.jobs & set(incident.jobs)) or recorded.signature == incident.signature
    suspects = {commit.sha for commit in incident.suspects} | {incident.first_bad}
    before = set(recorded.evidence.get("suspects", ())) | {recorded.evidence.get("first_bad")}
    # A range that grew apart from the recorded one is another break of the same thing.
    return shown and places and (bool(suspects & before) or not incident.suspects)


def _carried(incident: Incident, recorded: Recorded, history: History) -> Incident:
    """What was found out of an incident stays; a culprit that is no suspect any more does not.

    A search that proved a later commit, because the first failure was a flake, is believed while
    nothing else is known.
    """
    evidence = recorded.evidence
    said, search = evidence.get("culprit"), evidence.get("search")
    commits = {commit.sha: commit for commit in incident.suspects}
    if said and said["verified"] and search and holds(Searched.of(search), incident):
        commits |= {commit.sha: commit for commit in history.mainline.commits}
    culprit = (
        Culprit(
            commit=commits[said["sha"]],
            probability=float(said["probability"]),
            verified=bool(said["verified"]),
        )
        if said and said["sha"] in commits
        else None
    )
    carried = replace(
        incident,
        incident_id=recorded.incident_id,
        culprit=culprit,
        revert_url=evidence.get("revert_url"),
    )
    return _searched(carried, search)


def _searched(incident: Incident, said: Mapping[str, Any] | None) -> Incident:
    """What a search told holds while nothing else is known; a proof as long as it is believed."""
    if not said:
        return incident
    search = Searched.of(said)
    proven = search.outcome == "culprit" and incident.culprit is not None
    return after(incident, search) if proven or holds(search, incident) else incident


def _ended(recorded: Recorded, history: History) -> Ended | None:
    """What became of an incident that shows no streak any more; None while nobody can tell."""
    runs = [run for run in history.runs if run.job_key in recorded.jobs]
    columns = [
        column
        for key in sorted(recorded.jobs)
        for column in _tracks_of(recorded, history, key, runs)
    ]
    there = [column for column in columns if not is_gone(column)]
    if columns and not there:
        return Ended(recorded=recorded, change="gone", reason="what failed does not exist any more")
    fixed = [_fixed(recorded, history, column.cells) for column in there]
    if fixed and all(fixed):
        return max((each for each in fixed if each), key=lambda each: len(each.fixed_in))
    built = {run.sha for run in history.runs}
    since = {run.sha for run in runs}
    order = [commit.sha for commit in history.mainline.commits if commit.sha in built]
    newest = max((index for index, sha in enumerate(order) if sha in since), default=-1)
    if len(order) - 1 - newest >= _GONE_AFTER:
        reason = f"its jobs did not run at the last {len(order) - 1 - newest} built commits"
        return Ended(recorded=recorded, change="gone", reason=reason)
    return None


def _tracks_of(
    recorded: Recorded, history: History, key: str, runs: Iterable[Run]
) -> Iterable[Column]:
    mine = [run for run in runs if run.job_key == key]
    for column in columns_of(history.mainline, key, mine):
        if column.track.name in recorded.tests or (
            column.track.kind == "job"
            and any(
                signature_of(run) == recorded.signature for cell in column.cells for run in cell.bad
            )
        ):
            yield column


def _fixed(recorded: Recorded, history: History, cells: Sequence[Cell]) -> Ended | None:
    """Where the recorded streak ended; it may have broken again since, which is another one."""
    began = history.mainline.positions.get(str(recorded.evidence.get("first_bad")), 0)
    told = [cell for cell in cells if cell.says != "nothing" and cell.position >= began]
    good = next((cell for cell in told if cell.good and not cell.turned_bad), None)
    if good is None:
        return None
    last_bad = max((cell.position for cell in told if cell.position < good.position), default=None)
    if good.bad and last_bad in (None, good.position - 1):
        reason = f"recovered by itself: {good.good[-1].sha[:10]} failed, and passes now"
        return Ended(recorded=recorded, change="fixed", reason=reason)
    commits = history.mainline.between(last_bad, good.position)
    by = _repair(commits, recorded.evidence.get("culprit"), recorded.evidence.get("suspects", ()))
    if by is None:
        reason = f"passes again since {history.mainline.commits[good.position].sha[:10]}"
        reason += f", one of {len(commits)} commits" if len(commits) > 1 else ""
    elif by.reverts:
        reason = f"fixed by {by.sha[:10]}, which reverts {by.reverts[:10]}"
    else:
        reason = f"fixed by {by.sha[:10]}: {by.title}"
    return Ended(recorded=recorded, change="fixed", reason=reason, fixed_in=commits, by=by)


def _repair(
    commits: Sequence[Commit], culprit: Mapping[str, object] | None, suspects: Iterable[str]
) -> Commit | None:
    """The commit that reverts the culprit or a suspect; else the only one that can be it."""
    accused = [str(culprit["sha"])] if culprit else list(suspects)
    for commit in commits:
        if commit.reverts and any(sha.startswith(commit.reverts) for sha in accused):
            return commit
    return commits[0] if len(commits) == 1 else None
