"""The use case of ``gauntlet incidents bisect``: one incident, its runs, and the record of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.culprits.history import short
from gauntlet.analyzer.culprits.incident import IncidentSearch, refusal
from gauntlet.analyzer.culprits.incident_case import Plan, SearchSettings, plan_search
from gauntlet.analyzer.culprits.tonight import Night, search_now, settings_of
from gauntlet.analyzer.culprits.ways import Via, Way, way_of
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.incidents.recorded import Continued
from gauntlet.analyzer.incidents.update import IncidentRequest, Look, look, one_of, record_searched
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExitCode, UsageError
from gauntlet.core.proc import terminable
from gauntlet.warehouse.store import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class BisectIncident:
    """What is asked for; ``folder`` keeps the journals."""

    incident_id: str
    policy: Policy
    repo: Path
    folder: Path
    location: str
    via: Via | None = None
    command: tuple[str, ...] = ()
    branch: str = "main"
    commits: int = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPlan:
    """What would be done; ``refused`` says why nothing would be."""

    incident: Incident
    plan: Plan | None
    refused: str = ""

    def plain(self) -> dict[str, object]:
        """As JSON."""
        found = self.plan.plain() if self.plan else {}
        step = self.incident.next_step.step
        return {"id": self.incident.incident_id, "step": step, "refused": self.refused, **found}

    def lines(self) -> list[str]:
        """As text for people."""
        head = f"{self.incident.incident_id}  {self.incident.summary}"
        if self.plan is None:
            return [head, f"  would not be searched: {self.refused}"]
        plan = self.plan.plain()
        target, case = self.plan.told.target, self.plan.case
        known = sum(bool(seen.failed or seen.passed) for seen in case.seen.values())
        lines = [head, f"  job {target.job}, tests: {', '.join(target.tests) or 'the whole job'}"]
        lines.append(f"  {len(case.commits)} suspects after {short(case.good.sha)}")
        lines.append(f"  {known} commits of the range have run before")
        for commit, one in zip(case.commits, self.plan.prior, strict=True):
            because = f": {'; '.join(one.reasons)}" if one.reasons else ""
            lines.append(f"  {one.share:6.1%} {short(commit.sha)} {commit.title}{because}")
        return [*lines, f"  about {plan['expected_runs']:.0f} runs, then the proof"]


def plan_incident(request: BisectIncident) -> IncidentPlan:
    """Say what would be run; runs and records nothing."""
    seen, before = _find(request)
    way = _way(request)
    refused = refusal(before.incident)
    plan = refused or plan_search(before.incident, seen.history, way, _settings(request, seen))
    if isinstance(plan, str):
        return IncidentPlan(incident=before.incident, plan=None, refused=plan)
    return IncidentPlan(incident=before.incident, plan=plan)


def bisect_incident(request: BisectIncident, tell: Callable[[str], None]) -> IncidentSearch:
    """Search one incident, and record what changed; ``tell`` gets a line for every run.

    Raises UsageError for an id that no open incident has, and where a way to run is missing.
    """
    seen, before = _find(request)
    way = _way(request)
    with terminable():
        found = search_now(
            before.incident, seen.history, way, lambda: _settings(request, seen, tell)
        )
    if found.changed:
        record_searched(before, found.incident, request.location, at=utc_now())
    return found


def exit_code(found: IncidentSearch) -> ExitCode:
    """0: a culprit is proven; 3: no commit did it, or nothing was searched; 5: not proven."""
    search = found.incident.search
    if found.refused or search is None or search.outcome in ("nobody", "environment", "cleared"):
        return ExitCode.NOTHING_SELECTED
    return ExitCode.OK if search.outcome == "culprit" else ExitCode.INVALID_MEASUREMENT


def _find(request: BisectIncident) -> tuple[Look, Continued]:
    with open_store(request.location) as store:
        asked = IncidentRequest(branch=request.branch, commits=request.commits, now=utc_now())
        seen = look(store, asked)
    return seen, one_of(seen.picture, request.incident_id)


def _way(request: BisectIncident) -> Way:
    way = way_of(request.policy, request.repo, via=request.via, command=request.command)
    if way is None:
        hint = "give -- COMMAND with {tests} in it, --via buildkite, or probes in --policy"
        raise UsageError("nothing says how to run anything", hint=hint)
    return way


def _settings(
    request: BisectIncident, seen: Look, tell: Callable[[str], None] = lambda _line: None
) -> SearchSettings:
    night = Night(
        probes=request.policy.probes,
        folder=request.folder,
        now=utc_now(),
        repository=request.repo,
        recorded=seen.recorded,
        tell=tell,
    )
    return settings_of(night, asked=True)
