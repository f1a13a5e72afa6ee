"""Is it chance? The first bad and the last good commit are run again, before anybody searches."""

from collections import Counter, defaultdict, deque
from contextlib import closing
from dataclasses import dataclass

from gauntlet.analyzer.culprits.history import short
from gauntlet.analyzer.culprits.incident import IncidentSearch, opened
from gauntlet.analyzer.culprits.incident_case import SearchSettings
from gauntlet.analyzer.culprits.journal import Journal
from gauntlet.analyzer.culprits.model import Prober, ProbeResult
from gauntlet.analyzer.culprits.seen import Told, told_of
from gauntlet.analyzer.culprits.ways import Way
from gauntlet.analyzer.incidents.evidence import CHANCE, chance_of, count
from gauntlet.analyzer.incidents.history import History
from gauntlet.analyzer.incidents.incident import Ending, Incident, Searched
from gauntlet.analyzer.incidents.searched import after, holds, suspicion

EACH = 2
"""Runs of either commit: one failure and one pass are a coin, thrown twice."""
_MOST_TRIES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Ends:
    """How often either end failed and passed when it was run again."""

    bad: Counter[str]
    good: Counter[str] | None


def restart_incident(
    incident: Incident, history: History, way: Way, settings: SearchSettings
) -> IncidentSearch:
    """Run the first bad and the last good commit twice more; confirm the incident, or clear it.

    Raises InfrastructureError and ExternalServiceError where nothing can be run.
    """
    if incident.next_step.step != "restart":
        said = f"its next step is {incident.next_step.step}"
        return IncidentSearch(incident=incident, refused=said)
    if incident.search is not None and holds(incident.search, incident):
        said = f"it was run again already, and nothing new is known: {incident.search.outcome}"
        return IncidentSearch(incident=incident, refused=said)
    told = told_of(incident, history, whole_job=way.whole_job)
    shas = tuple(sha for sha in (incident.first_bad, incident.last_good) if sha)
    if refused := way.refusal(told.target, shas):
        return IncidentSearch(incident=incident, refused=refused)
    room = settings.allowance.room(0)
    if settings.allowance.spent(0, 0.0) or (room is not None and room < EACH * len(shas)):
        return IncidentSearch(incident=incident, refused="the budget of the night is used up")
    with (
        opened(incident, told, way, settings) as (journal, state),
        way.open(told.target, state, journal) as prober,
    ):
        runs, made = _run(shas, prober, journal)
    ends = Ends(bad=_counted(runs, shas[0]), good=_counted(runs, shas[1]) if shas[1:] else None)
    if not ends.bad.total() or (ends.good is not None and not ends.good.total()):
        said = "the machines did not let it run: nothing was learnt"
        return IncidentSearch(incident=incident, refused=said, runs=len(made))
    outcome, reasons = judge_restarts(incident, told, ends)
    search = Searched(
        outcome=outcome, on=suspicion(incident), reasons=tuple(reasons), runs=len(runs)
    )
    return IncidentSearch(
        incident=after(incident, search),
        runs=len(made),
        seconds=sum(result.seconds for result in made),
        reasons=tuple(reasons),
    )


def judge_restarts(incident: Incident, told: Told, ends: Ends) -> tuple[Ending, list[str]]:
    """Say what the new runs make of a suspicion, and why."""
    bad, good = ends.bad, ends.good
    said = [_said(incident.first_bad, bad)]
    if good is not None and incident.last_good is not None:
        said.append(_said(incident.last_good, good))
    if good is not None and good["failed"] >= EACH and not good["passed"] and bad["failed"]:
        return "environment", said
    if bad["passed"] >= EACH and not bad["failed"]:
        return "cleared", said
    if bad["passed"] or (good is not None and good["failed"]):
        return "unclear", said
    if good is None:
        return "confirmed", [*said, "it never passed, and fails each time it is run"]
    streak = told.streak
    chance = chance_of(
        incident.failures + bad["failed"],
        flakes=streak.flakes if streak else 0,
        passes=(streak.passes_before if streak else incident.passes) + good["passed"],
    )
    outcome: Ending = "confirmed" if chance <= CHANCE else "unclear"
    return outcome, [*said, f"chance alone would bring that with a probability of {chance:.2g}"]


def _run(
    shas: tuple[str, ...], prober: Prober, journal: Journal
) -> tuple[list[ProbeResult], list[ProbeResult]]:
    """Run each commit until it has told twice, side by side; all runs, and those made now."""
    runs: list[ProbeResult] = []
    made: list[ProbeResult] = []
    for _ in range(_MOST_TRIES):
        told: dict[str, int] = defaultdict(int)
        for run in runs:
            told[run.sha] += run.outcome in ("failed", "passed")
        wanted = deque(sha for turn in range(EACH) for sha in shas if told[sha] <= turn)
        missing = []
        for sha in wanted:
            known = journal.take(sha)
            if known is None:
                missing.append(sha)
            else:
                runs.append(known)
        if not missing:
            if not wanted:
                break
            continue
        with closing(prober.probe(missing)) as results:
            for result in results:
                journal.add("ends", result)
                runs.append(result)
                made.append(result)
    return runs, made


def _counted(runs: list[ProbeResult], sha: str) -> Counter[str]:
    return Counter(
        run.outcome for run in runs if run.sha == sha and run.outcome in ("failed", "passed")
    )


def _said(sha: str, counted: Counter[str]) -> str:
    runs = count(counted.total(), "run")
    return f"run again, {short(sha)} failed in {counted['failed']} of {runs}"
