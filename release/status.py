"""Where a release stands, and what is next. Pure: what is known and an instant in, words out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.gates.model import GateResult, Problem
from gauntlet.release.gates.record import Recorded
from gauntlet.release.picks.window import Window
from gauntlet.release.state import Candidate, Release

_GOOD = {"PASS", "WAIVED"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateFacts:
    """One candidate, and what is known of it. Without ``recorded``, ``unknown`` says why."""

    candidate: Candidate
    artifacts: GateResult
    recorded: Recorded | None = None
    unknown: str = "not evaluated"

    @property
    def open_gates(self) -> tuple[str, ...]:
        """Recorded gates that neither passed nor were waived, as ``full-ci MISSING``."""
        gates = self.recorded.gates if self.recorded else ()
        return tuple(f"{each.gate} {each.state}" for each in gates if each.state not in _GOOD)

    @property
    def current(self) -> Recorded | None:
        """The recorded evaluation, where it is of the commit that the candidate is at."""
        found = self.recorded
        return found if found is not None and found.commit == self.candidate.commit else None

    @property
    def failed(self) -> tuple[str, ...]:
        """Names of recorded gates that failed: a new candidate is needed, or a waiver."""
        gates = self.current.gates if self.current else ()
        return tuple(each.gate for each in gates if each.state == "FAIL")

    @property
    def artifacts_open(self) -> Sequence[Problem]:
        """What keeps the artifacts from passing, where nobody let it pass."""
        gates = self.current.gates if self.current else ()
        waived = any((each.gate, each.state) == ("artifacts", "WAIVED") for each in gates)
        return () if waived else self.artifacts.problems


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFacts:
    """One release as its folder and the warehouse know it; candidates in order."""

    release: Release
    window: Window
    candidates: tuple[CandidateFacts, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Next:
    """What is next: a command to type, and why."""

    command: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Where a release stands at an instant."""

    facts: ReleaseFacts
    now: datetime
    window_open: bool
    overdue: bool
    """Whether it should have shipped by now, and did not begin to."""
    next: Next

    def lines(self) -> Iterator[str]:
        """For people."""
        release, window = self.facts.release, self.facts.window
        cut = release.cut
        yield f"{release.version} on {release.branch}"
        yield f"  cut        {cut.commit[:10]} by {cut.by} on {_shown(cut.at)}: {cut.reason}"
        if release.publishing is None:
            yield f"  window     {window.line(self.now)}"
            yield f"  ships      {window.shown(window.ships)}"
        if self.overdue:
            yield "  overdue    no candidate shipped in time: nothing ships until one qualifies"
        if release.picks:
            yield f"  waiting    {_number(len(release.picks), 'pick')} in no candidate yet"
        for each in self.facts.candidates:
            yield from _candidate_lines(each)
        if release.published:
            done = release.published
            yield f"  published  {done.candidate} by {done.by} on {_shown(done.at)}"
        elif release.publishing:
            begun = release.publishing
            yield f"  publishing {begun.candidate}, begun by {begun.by} on {_shown(begun.at)}"
        if release.rolled_back:
            back = release.rolled_back
            yield f"  rolled back to {back.back_to} by {back.by} on {_shown(back.at)}"
        yield f"  next       {self.next.command}   ({self.next.why})"

    def plain(self) -> dict[str, object]:
        """As JSON."""
        release, window = self.facts.release, self.facts.window
        return {
            "version": release.version,
            "branch": release.branch,
            "previous": release.previous or None,
            "cut": release.cut.model_dump(mode="json"),
            "window": {
                "open": self.window_open,
                "closes": window.closes.isoformat(),
                "ships": window.ships.isoformat(),
                "overdue": self.overdue,
            },
            "picks_waiting": [pick.model_dump(mode="json") for pick in release.picks],
            "candidates": [_plain_candidate(each) for each in self.facts.candidates],
            "publishing": _plain(release.publishing),
            "published": _plain(release.published),
            "rolled_back": _plain(release.rolled_back),
            "next": {"command": self.next.command, "why": self.next.why},
        }


def describe(facts: ReleaseFacts, now: datetime) -> Status:
    """Say where a release stands and what is next.

    Raises InfrastructureError where this machine's clock is behind the cut.
    """
    begun = facts.release.publishing is not None
    return Status(
        facts=facts,
        now=now,
        window_open=facts.window.is_open(now),
        overdue=not begun and now >= facts.window.ships,
        next=_next(facts),
    )


def _plain(model: StrictModel | None) -> dict[str, object] | None:
    return None if model is None else model.model_dump(mode="json")


def _next(facts: ReleaseFacts) -> Next:
    release = facts.release
    version = release.version
    if release.rolled_back:
        return Next(command="release cut vX.Y.Z", why="it was rolled back: users wait for the next")
    if release.published:
        return Next(command=f"release verify {version}", why="it is published")
    if release.publishing:
        why = f"publishing of {release.publishing.candidate} was begun and is not finished"
        return Next(command=f"release publish {version}", why=why)
    if not facts.candidates:
        return Next(command=f"release candidate {version}", why="it has no candidate yet")
    if release.picks:
        why = f"{_number(len(release.picks), 'pick')} in no candidate yet"
        return Next(command=f"release candidate {version}", why=why)
    return _next_of_candidate(version, facts.candidates[-1])


def _next_of_candidate(version: str, facts: CandidateFacts) -> Next:
    name = facts.candidate.name
    if not facts.candidate.artifacts:
        command = f"release plan {name} --pipeline"
        why = f"nothing of it was collected: build it, then release build {name} --collect FOLDER"
        return Next(command=command, why=why)
    if problems := facts.artifacts_open:
        return _next_of_artifacts(name, problems)
    found = facts.current
    if found is None:
        why = "its gates were evaluated at another commit" if facts.recorded else facts.unknown
        return Next(command=f"release gate {name}", why=why)
    if found.outcome == "QUALIFIED":
        return Next(command=f"release publish {version}", why=f"{name} qualifies")
    if facts.failed:
        why = (
            f"{', '.join(facts.failed)} failed: mend it on main, then"
            f" release picks {version} CHANGE --blocker REASON"
        )
        return Next(command=f"release why {name} {facts.failed[0]}", why=why)
    why = f"open: {', '.join(facts.open_gates)}; evaluate again when the data is there"
    return Next(command=f"release gate {name}", why=why)


def _next_of_artifacts(name: str, problems: Sequence[Problem]) -> Next:
    # What is bad needs other work than what is not there yet.
    first = next((each for each in problems if each.state == "FAIL"), problems[0])
    kind, _, cell = first.key.partition("/")
    more = f" (and {len(problems) - 1} more)" if len(problems) > 1 else ""
    why = f"{first.message}{more}"
    if first.state == "FAIL":
        return Next(command=f"release build {name}", why=f"{why}: this checks again what is mended")
    if kind == "smoke":
        return Next(command=f"release smoke {name} --cell {cell}", why=why)
    if kind == "cell":
        return Next(command=f"release build {name} --collect FOLDER", why=why)
    return Next(command=f"release build {name}", why=why)


def _candidate_lines(facts: CandidateFacts) -> Iterator[str]:
    made = facts.candidate
    new = f", {_number(len(made.picks), 'new pick')}" if made.picks else ""
    yield f"  {made.name:10} {made.commit[:10]} by {made.by} on {_shown(made.at)}{new}"
    gate = facts.artifacts
    counted = ", ".join(f"{count} {what}" for what, count in gate.numbers)
    trouble = f"; {_number(len(gate.problems), 'problem')}" if gate.problems else ""
    yield f"             artifacts {gate.state} ({counted}){trouble}"
    yield f"             gates {_gates(facts)}"


def _gates(facts: CandidateFacts) -> str:
    found = facts.recorded
    if found is None:
        return facts.unknown
    opened = f" (open: {', '.join(facts.open_gates)})" if facts.open_gates else ""
    stale = "" if facts.current else f", at another commit: {found.commit[:10]}"
    return f"{found.outcome}{opened}, evaluated by {found.by} on {_shown(found.at)}{stale}"


def _plain_candidate(facts: CandidateFacts) -> dict[str, object]:
    made, found = facts.candidate, facts.recorded
    return {
        "name": made.name,
        "commit": made.commit,
        "by": made.by,
        "at": made.at.isoformat(),
        "picks": len(made.picks),
        "artifacts": {
            "state": facts.artifacts.state,
            **dict(facts.artifacts.numbers),
            "problems": [each.message for each in facts.artifacts.problems],
        },
        "gates": None
        if found is None
        else {
            "outcome": found.outcome,
            "commit": found.commit,
            "at": found.at.isoformat(),
            "by": found.by,
            "states": {each.gate: each.state for each in found.gates},
        },
        "not_evaluated": facts.unknown if found is None else None,
    }


def _shown(at: datetime) -> str:
    return f"{at:%F %H:%M} UTC"


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'s' * (count != 1)}"
