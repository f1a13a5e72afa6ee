"""An incident after runs were made for it: what it is now, and what comes next. Pure."""

from collections.abc import Mapping
from dataclasses import replace

from gauntlet.analyzer.incidents.evidence import forward
from gauntlet.analyzer.incidents.incident import Ending, Incident, NextStep, Searched
from gauntlet.core.ids import digest

_KEY = 12
_NOTHING_MORE: Mapping[Ending, str] = {
    "culprit": "the culprit is proven: take it back or repair it",
    "nobody": "the first bad commit passes when it is run again",
    "range": "no run can tell the suspects that are left apart: a person has to decide",
    "cleared": "it passes when it is run again: chance, so far",
    "unclear": "runs of one commit differ: it is flaky, so far",
}
# Only what is no chance is searched for its culprit.
_CONFIRMS = frozenset({"confirmed", "culprit", "range", "exhausted"})


def knowledge(incident: Incident) -> str:
    """Name what is known of who broke it: further failures tell nothing new of that."""
    known: list[object] = [incident.last_good, incident.first_bad, incident.kind]
    known += [[commit.sha for commit in incident.suspects], list(incident.tests)]
    return digest(known)[:_KEY]


def suspicion(incident: Incident) -> str:
    """Name what is known of whether it is chance: further failures do tell."""
    return f"{knowledge(incident)}-{incident.failures}-{incident.passes}"


def holds(search: Searched, incident: Incident) -> bool:
    """Whether nothing that matters has come to be known since a search."""
    return search.on in (knowledge(incident), suspicion(incident))


def after(incident: Incident, search: Searched) -> Incident:
    """The incident as a search leaves it: its status, its next step, and the reasons."""
    return replace(
        incident,
        status="confirmed" if search.outcome in _CONFIRMS else incident.status,
        next_step=_next(incident, search),
        reasons=(*incident.reasons, *(r for r in search.reasons if r not in incident.reasons)),
        search=search,
    )


def _next(incident: Incident, search: Searched) -> NextStep:
    if search.outcome in ("confirmed", "exhausted"):
        return forward(incident.suspects, incident.first_bad)
    if search.outcome == "environment":
        reason = "the last good commit fails as well now: compare what both ran with"
        at = tuple(sha for sha in (incident.last_good, incident.first_bad) if sha)
        return NextStep(step="compare", reason=reason, at=at)
    return NextStep(step="none", reason=_NOTHING_MORE[search.outcome])
