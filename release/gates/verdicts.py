"""Evaluate gates over recorded verdicts. Pure: rows in, results out."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from typing import Any, Literal

from gauntlet.release.gates.qualification import GateRule, Policy
from gauntlet.warehouse.rows.measurement import DecisionRow

State = Literal["PASS", "FAIL", "INCONCLUSIVE", "MISSING"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GateResult:
    """One gate's state, why, and the verdicts that it was decided on."""

    name: str
    state: State
    reasons: tuple[str, ...]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Qualification:
    """The release decision: every gate, and whether all of them passed."""

    policy: str
    gates: tuple[GateResult, ...]

    @property
    def qualified(self) -> bool:
        """Whether every gate passed."""
        return all(gate.state == "PASS" for gate in self.gates)

    @property
    def outcome(self) -> str:
        """``QUALIFIED`` or ``NOT QUALIFIED``."""
        return "QUALIFIED" if self.qualified else "NOT QUALIFIED"

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {"outcome": self.outcome, "gates": [asdict(gate) for gate in self.gates]}

    def lines(self) -> Iterator[str]:
        """As text for people."""
        for gate in self.gates:
            yield f"{gate.state:13} {gate.name}"
            yield from (f"{'':13} {reason}" for reason in gate.reasons)
        yield self.outcome


def evaluate(policy: Policy, decisions: Sequence[Mapping[str, Any]]) -> Qualification:
    """Evaluate a policy over the rows of the query run_decisions."""
    verdicts = [row for row in decisions if row["kind"] == "verdict"]
    gates = tuple(_evaluate_gate(rule, verdicts) for rule in policy.gates)
    return Qualification(policy=policy.name, gates=gates)


def _evaluate_gate(rule: GateRule, verdicts: Sequence[Mapping[str, Any]]) -> GateResult:
    matched = [
        row
        for row in verdicts
        if row["blocking"] and any(fnmatchcase(row["subject"], glob) for glob in rule.verdicts)
    ]
    if not matched:
        reason = f"no blocking verdict matches {', '.join(rule.verdicts)}: not measured, not passed"
        return GateResult(name=rule.name, state="MISSING", reasons=(reason,), evidence=())
    refused = [row for row in matched if row["outcome"] not in rule.accept]
    return GateResult(
        name=rule.name,
        state=_state({row["outcome"] for row in refused}),
        reasons=tuple(f"{row['subject']} is {row['outcome']}: {row['reason']}" for row in refused),
        evidence=tuple(row["subject"] for row in matched),
    )


def _state(refused: set[str]) -> State:
    if not refused:
        return "PASS"
    if "worse" in refused:
        return "FAIL"
    if refused == {"missing"}:
        return "MISSING"
    return "INCONCLUSIVE"


def gate_rows(run_id: str, qualification: Qualification, at: datetime) -> tuple[DecisionRow, ...]:
    """Make the append-only decision rows of one evaluation."""
    rows = [
        DecisionRow.of(
            run_id,
            "gate",
            gate.name,
            gate.state,
            reason="; ".join(gate.reasons),
            evidence=list(gate.evidence),
            at=at,
        )
        for gate in qualification.gates
    ]
    open_gates = [gate.name for gate in qualification.gates if gate.state != "PASS"]
    rows.append(
        DecisionRow.of(
            run_id,
            "release",
            qualification.policy,
            qualification.outcome,
            reason=f"gates not passed: {', '.join(open_gates)}"
            if open_gates
            else "every gate passed",
            evidence={gate.name: gate.state for gate in qualification.gates},
            at=at,
        )
    )
    return tuple(rows)
