"""Incidents as lines for people."""

from collections.abc import Iterable, Sequence

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.evidence import count
from gauntlet.analyzer.incidents.incident import Difference, Incident
from gauntlet.analyzer.incidents.recorded import Ended
from gauntlet.analyzer.incidents.update import Picture

_SHOWN = 10


def picture_lines(found: Picture) -> Iterable[str]:
    """A short list: what is open, what has ended, what is ignored."""
    if not found.incidents:
        yield f"{found.branch}: no open incident in {found.builds} built commits"
    for incident in found.incidents:
        yield from _short(incident)
    if found.ended:
        yield "ended"
        yield from (_ended(each) for each in found.ended)
    if found.ignored:
        yield "ignored"
        yield from (f"  {each.incident_id}  {each.summary}" for each in found.ignored)


def incident_lines(incident: Incident) -> Iterable[str]:
    """One incident, whole."""
    yield f"{incident.incident_id}  {incident.status}  {incident.failure_class}"
    yield f"  {incident.line or incident.signature}"
    yield f"  jobs        {_some(incident.jobs)}"
    if incident.tests:
        yield f"  tests       {_some(incident.tests)}"
    yield f"  first bad   {incident.first_bad}"
    yield f"  last good   {incident.last_good or 'not known'}"
    last = f"{incident.last_seen_at:%Y-%m-%d %H:%M}"
    yield f"  since       {incident.opened_at:%Y-%m-%d %H:%M} UTC, seen last {last}"
    if incident.url:
        yield f"  newest run  {incident.url}"
    if incident.suspects:
        yield f"  suspects    {len(incident.suspects)}, oldest first"
        yield from (f"    {_commit(commit)}" for commit in incident.suspects[:_SHOWN])
    if incident.differences:
        yield "  what changed between its last pass and its first failure"
        yield from (f"    {_difference(each)}" for each in incident.differences[:_SHOWN])
    if incident.culprit is not None:
        proof = "verified" if incident.culprit.verified else "not verified"
        yield f"  culprit     {_commit(incident.culprit.commit)} ({proof})"
    if incident.search is not None:
        yield f"  search      {incident.search.outcome}, {count(incident.search.runs, 'run')}"
    if incident.revert_url:
        yield f"  revert      {incident.revert_url}"
    yield f"  next        {incident.next_step.step}: {incident.next_step.reason}"
    yield from (f"  because     {reason}" for reason in incident.reasons)


def _short(incident: Incident) -> Iterable[str]:
    yield f"{incident.incident_id}  {incident.status:<9}  {incident.failure_class}"
    yield f"  {incident.summary}"
    good = incident.last_good[:10] if incident.last_good else "not known"
    suspects = f", {len(incident.suspects)} suspects" if len(incident.suspects) > 1 else ""
    yield f"  first bad {incident.first_bad[:10]}, last good {good}{suspects}"
    if incident.culprit is not None:
        proof = "verified" if incident.culprit.verified else "not verified"
        yield f"  culprit {_commit(incident.culprit.commit)} ({proof})"
    yield f"  next: {incident.next_step.step}: {incident.next_step.reason}"


def _ended(each: Ended) -> str:
    word = "fixed" if each.change == "fixed" else "gone"
    return f"  {each.recorded.incident_id}  {word}: {each.reason}"


def _commit(commit: Commit) -> str:
    number = f" #{commit.pull_request}" if commit.pull_request else ""
    title = commit.title.removesuffix(f" (#{commit.pull_request})")
    return f"{commit.sha[:10]}{number} {title} ({commit.author})"


def _difference(each: Difference) -> str:
    came = f", out {each.released_at:%Y-%m-%d %H:%M}" if each.released_at else ""
    return f"{each.kind} {each.name}: {each.before or 'absent'} -> {each.after or 'absent'}{came}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"
