"""The culprit of an incident: what its history tells, then the runs that are still needed."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gauntlet.analyzer.culprits.answer import Answer, answer
from gauntlet.analyzer.culprits.folders import owned
from gauntlet.analyzer.culprits.history import short
from gauntlet.analyzer.culprits.incident_case import (
    Plan,
    SearchSettings,
    header_of,
    plan_search,
    seen_of,
)
from gauntlet.analyzer.culprits.investigation import CERTAIN, Case, Investigation
from gauntlet.analyzer.culprits.journal import Journal
from gauntlet.analyzer.culprits.run import Drive
from gauntlet.analyzer.culprits.seen import Told
from gauntlet.analyzer.culprits.ways import Way
from gauntlet.analyzer.incidents.history import History
from gauntlet.analyzer.incidents.incident import Culprit, Incident, Searched
from gauntlet.analyzer.incidents.searched import after, holds, knowledge
from gauntlet.core.ids import digest

_KEY = 10
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentSearch:
    """What came of one incident: ``incident`` as it is now, and why.

    ``refused`` says why nothing was run; ``runs`` and ``seconds`` are those that were made now.
    """

    incident: Incident
    answer: Answer | None = None
    refused: str = ""
    runs: int = 0
    seconds: float = 0.0
    reasons: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there is something to record."""
        return not self.refused and self.incident.search is not None

    def plain(self) -> dict[str, object]:
        """As JSON."""
        search = self.incident.search
        return {
            "id": self.incident.incident_id,
            "outcome": search.outcome if self.changed and search else None,
            "refused": self.refused or None,
            "culprit": self.incident.culprit.plain() if self.incident.culprit else None,
            "next": {
                "step": self.incident.next_step.step,
                "reason": self.incident.next_step.reason,
            },
            "reasons": list(self.reasons),
            "runs": self.runs,
            "seconds": round(self.seconds, 3),
            "answer": self.answer.plain() if self.answer else None,
        }

    def lines(self) -> list[str]:
        """As text for people."""
        head = f"{self.incident.incident_id}  {self.incident.summary}"
        if self.refused:
            return [head, f"  not searched: {self.refused}"]
        lines = [head, *(f"  {line}" for line in (self.answer.lines() if self.answer else ()))]
        said = set(self.answer.reasons) if self.answer else set()
        lines += [f"  {reason}" for reason in self.reasons if reason not in said]
        step = self.incident.next_step
        return [*lines, f"  next: {step.step}: {step.reason}"]


def search_incident(
    incident: Incident, history: History, way: Way, settings: SearchSettings
) -> IncidentSearch:
    """Search the commits of an incident until its culprit is proven, or cannot be.

    Nothing is said of a commit below CERTAIN, or without the proof. What is known already is not
    searched again. Raises InfrastructureError and ExternalServiceError where nothing can be run.
    """
    refused = refusal(incident)
    if refused:
        return IncidentSearch(incident=incident, refused=refused)
    plan = plan_search(incident, history, way, settings)
    if isinstance(plan, str):
        return IncidentSearch(incident=incident, refused=plan)
    with opened(incident, plan.told, way, settings) as (journal, state):
        case = replace(plan.case, seen=seen_of(plan.told, plan.case, journal.evidence))
        investigation = Investigation(case)
        with way.open(plan.told.target, state, journal) as prober:
            drive = Drive(
                investigation,
                prober,
                journal,
                settings.budget,
                settings.tell,
                allowance=settings.allowance,
            )
            drive.run()
    found = investigation.conclusion.found
    told = answer(
        investigation,
        tuple(one.reasons for one in plan.prior),
        drive.spent,
        stopped=drive.stopped,
        reproduce=way.reproduce(
            plan.told.target, case.at(found[0].place).sha if found else incident.first_bad
        ),
    )
    made = drive.made
    return replace(
        _concluded(incident, told, plan, way, case), runs=made.runs, seconds=made.seconds
    )


def refusal(incident: Incident) -> str:
    """Why an incident is not searched; empty where it is."""
    if incident.kind != "commits":
        return f"it is of kind {incident.kind}: no commit is to blame"
    if incident.culprit is not None and incident.culprit.verified:
        return f"its culprit is proven already: {short(incident.culprit.commit.sha)}"
    if not incident.suspects:
        return "no commit is known before which it passed: look further back"
    search = incident.search
    if search is not None and search.outcome in _FINAL and holds(search, incident):
        return f"it was searched already, and nothing new is known since: {search.outcome}"
    return ""


_FINAL = frozenset({"culprit", "range", "nobody", "environment"})


@contextlib.contextmanager
def opened(
    incident: Incident, told: Told, way: Way, settings: SearchSettings
) -> Iterator[tuple[Journal, Path]]:
    """Hold the journal of an incident for one way of running it, and its folder."""
    header = header_of(incident, told, way)
    state = settings.folder / incident.incident_id
    key = digest(header.model_dump(mode="json"))[:_KEY]
    with owned(state), Journal(state / f"{key}.jsonl", header) as journal:
        if journal.continued:
            settings.tell(f"{journal.continued} runs are known from {journal.path}")
        yield journal, state


def _concluded(
    incident: Incident, told: Answer, plan: Plan, way: Way, case: Case
) -> IncidentSearch:
    reasons = [*_reasons(told, plan, way, case), *told.reasons]
    own = {commit.sha for commit in incident.suspects}
    if any(commit.sha not in own for commit, _ in told.culprits[:1]):
        reasons.append(f"{short(incident.first_bad)} failed by chance, before the break")
    proven = [
        (commit, found)
        for commit, found in told.culprits
        if found.proof == "verified" and found.probability >= CERTAIN
    ]
    outcome = told.outcome if proven or told.outcome != "culprit" else "exhausted"
    search = Searched(
        outcome=outcome, on=knowledge(incident), reasons=tuple(reasons), runs=told.runs
    )
    now = after(incident, search)
    if proven:
        commit, found = proven[0]
        culprit = Culprit(commit=commit, probability=found.probability, verified=True)
        now = replace(now, culprit=culprit)
    return IncidentSearch(incident=now, answer=told, reasons=tuple(reasons))


def _reasons(told: Answer, plan: Plan, way: Way, case: Case) -> Sequence[str]:
    what = plan.told.target.job if way.whole_job else ", ".join(plan.told.target.tests)
    where = "at Buildkite, on its own queue" if way.same_queue else "by a command"
    said = []
    for number, (commit, found) in enumerate(told.culprits):
        parent = case.at(found.place - 1)
        one, other = _counted(told, commit.sha, "failed"), _counted(told, parent.sha, "passed")
        name = "culprit" if number == 0 else "another culprit"
        said.append(
            f"{name} {short(commit.sha)}: {one} of it failed and {other} of its parent"
            f" {short(parent.sha)} passed, {where} ({what or plan.told.target.job})"
        )
    match told.outcome:
        case "range":
            ends = f"{short(told.first.sha)}..{short(told.last.sha)}"
            said.append(f"one of {ends}: no run can tell these commits apart")
        case "exhausted":
            shown = [f"{short(c.sha)} {share:.0%}" for c, share, _ in told.suspects[:_SHOWN]]
            said.append(f"not proven; likeliest: {', '.join(shown)}")
            if told.separate:
                said.append(f"a run at {short(told.separate)} would tell most")
        case "nobody":
            said.append(f"{short(case.commits[-1].sha)} passes {where}: no commit broke it")
        case "environment":
            said.append(f"{short(case.good.sha)} fails as well {where}: none of these broke it")
        case "culprit":
            pass
    if plan.told.target.born_red:
        said.append("it never passed: a commit that does not have it counts as one where it does")
    return said


def _counted(told: Answer, sha: str, outcome: str) -> str:
    runs = [step.outcome for step in told.steps if step.sha == sha]
    told_runs = [each for each in runs if each in ("failed", "passed")]
    return f"{told_runs.count(outcome)} of {len(told_runs)} runs"
