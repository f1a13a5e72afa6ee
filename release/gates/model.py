"""What a gate says: its state, its problems one by one, and what it was decided on."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

Trouble = Literal["FAIL", "MISSING", "INCONCLUSIVE"]
State = Literal["PASS", "FAIL", "INCONCLUSIVE", "MISSING", "WAIVED"]

# A gate is as bad as the first of these among its problems.
_ORDER: tuple[Trouble, ...] = ("FAIL", "MISSING", "INCONCLUSIVE")


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing that keeps a gate from passing. ``key`` stays the same from night to night."""

    key: str
    state: Trouble
    message: str
    remedy: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiver:
    """That a person lets named problems of a gate pass, for a time and a reason."""

    gate: str
    covers: tuple[str, ...]
    reason: str
    by: str
    at: datetime
    until: datetime


class PlainGate(TypedDict):
    """A gate as JSON: what ``--json`` prints and what a decision keeps as its evidence."""

    gate: str
    state: State
    problems: list[dict[str, str]]
    waivers: list[dict[str, object]]
    notes: list[str]
    numbers: dict[str, int]
    statistics: list[dict[str, object]]
    evidence: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate of one candidate.

    ``notes`` are what a reader should know though it blocks nothing; ``numbers`` counts what was
    looked at; ``statistics`` are the blocking ones with their numbers; ``evidence`` names builds
    and runs.
    """

    name: str
    problems: tuple[Problem, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    notes: tuple[str, ...] = ()
    numbers: tuple[tuple[str, int], ...] = ()
    statistics: tuple["Statistic", ...] = ()
    evidence: tuple[str, ...] = ()

    @property
    def waived(self) -> frozenset[str]:
        """Keys of problems that somebody let pass."""
        return frozenset(key for waiver in self.waivers for key in waiver.covers)

    @property
    def standing(self) -> tuple[Problem, ...]:
        """Problems that nobody let pass."""
        return tuple(each for each in self.problems if each.key not in self.waived)

    @property
    def state(self) -> State:
        """PASS without problems, WAIVED where each has a waiver, else the worst of the rest."""
        if not self.problems:
            return "PASS"
        states = {problem.state for problem in self.standing}
        return next((state for state in _ORDER if state in states), "WAIVED")

    def plain(self) -> PlainGate:
        """As JSON."""
        return PlainGate(
            gate=self.name,
            state=self.state,
            problems=[_plain_problem(each) for each in self.problems],
            waivers=[_plain_waiver(each) for each in self.waivers],
            notes=list(self.notes),
            numbers=dict(self.numbers),
            statistics=[each.plain() for each in self.statistics],
            evidence=list(self.evidence),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """One blocking statistic of one run; effect and interval in ``unit``, positive: it rose."""

    run_id: str
    key: str
    outcome: str
    adjusted_p: float | None
    """Of this statistic over all its runs, beside all others; None where there is no p-value."""
    effect: float | None
    interval: tuple[float, float] | None
    unit: str
    margin: float | None
    n: int

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "run": self.run_id,
            "statistic": self.key,
            "verdict": self.outcome,
            "effect": self.effect,
            "interval": list(self.interval) if self.interval else None,
            "unit": self.unit,
            "margin": self.margin,
            "n": self.n,
            "adjusted_p": self.adjusted_p,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualification:
    """All gates of one candidate, and whether it may ship."""

    candidate: str
    commit: str
    gates: tuple[GateResult, ...]

    @property
    def qualified(self) -> bool:
        """Whether each gate passed, or was waived."""
        return bool(self.gates) and all(gate.state in {"PASS", "WAIVED"} for gate in self.gates)

    @property
    def outcome(self) -> str:
        """``QUALIFIED`` or ``NOT QUALIFIED``."""
        return "QUALIFIED" if self.qualified else "NOT QUALIFIED"

    @property
    def open_gates(self) -> Sequence[str]:
        """Names of gates that neither passed nor were waived."""
        return [gate.name for gate in self.gates if gate.state not in {"PASS", "WAIVED"}]


def _plain_problem(problem: Problem) -> dict[str, str]:
    return {
        "key": problem.key,
        "state": problem.state,
        "message": problem.message,
        "remedy": problem.remedy,
    }


def _plain_waiver(waiver: Waiver) -> dict[str, object]:
    return {
        "covers": list(waiver.covers),
        "reason": waiver.reason,
        "by": waiver.by,
        "at": waiver.at.isoformat(),
        "until": waiver.until.isoformat(),
    }
