"""Decisions of an evaluation as rows, and what was recorded read back."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pydantic import ConfigDict, ValidationError

from gauntlet.core.errors import InvalidMeasurementError, UsageError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.artifacts import Artifact
from gauntlet.release.gates.model import GateResult, Problem, Qualification, State, Trouble
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import Store


def qualification_rows(
    result: Qualification, *, artifacts: Sequence[Artifact], previous: str, at: datetime, by: str
) -> list[DecisionRow]:
    """Make the append-only rows of one evaluation: one per gate, and the release decision."""
    rows = [
        DecisionRow.of(
            result.candidate,
            "gate",
            gate.name,
            gate.state,
            reason=_reason(gate),
            evidence=gate.plain(),
            at=at,
        )
        for gate in result.gates
    ]
    opened = ", ".join(result.open_gates)
    rows.append(
        DecisionRow.of(
            result.candidate,
            "release",
            "release",
            result.outcome,
            reason=f"gates not passed: {opened}" if opened else "every gate passed or was waived",
            evidence={
                "gates": {gate.name: gate.state for gate in result.gates},
                "commit": result.commit,
                "previous": previous,
                "artifacts": [each.model_dump(mode="json") for each in artifacts],
            },
            at=at,
        )
    )
    return [row.model_copy(update={"actor": by}) for row in rows]


def waiver_row(
    candidate: str,
    commit: str,
    gate: str,
    problems: Sequence[Problem],
    *,
    reason: str,
    by: str,
    at: datetime,
    until: datetime,
) -> DecisionRow:
    """Make the row of a waiver; it covers the named problems and no other."""
    evidence = {
        "commit": commit,
        "covers": [problem.key for problem in problems],
        "messages": [problem.message for problem in problems],
    }
    row = DecisionRow.of(
        candidate,
        "waiver",
        f"gate/{gate}",
        "waived",
        reason=reason,
        evidence=evidence,
        at=at,
        blocking=False,
    )
    return row.model_copy(update={"actor": by, "expires_at": until})


class _KeptProblem(StrictModel):
    key: str
    state: Trouble
    message: str
    remedy: str = ""


class _KeptWaiver(StrictModel):
    covers: tuple[str, ...]
    reason: str
    by: str
    at: datetime
    until: datetime


class KeptGate(StrictModel):
    """One gate as a decision keeps it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    gate: str
    state: State
    problems: tuple[_KeptProblem, ...] = ()
    waivers: tuple[_KeptWaiver, ...] = ()
    notes: tuple[str, ...] = ()
    numbers: Mapping[str, int] = {}
    statistics: tuple[Mapping[str, Any], ...] = ()
    evidence: tuple[str, ...] = ()

    def problem_keys(self) -> set[str]:
        """Keys of all problems, waived or not."""
        return {problem.key for problem in self.problems}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """The newest evaluation of a candidate."""

    candidate: str
    outcome: str
    commit: str
    at: datetime
    by: str
    gates: tuple[KeptGate, ...]


class _KeptRelease(StrictModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    gates: Mapping[str, State]
    commit: str = ""


def recorded(store: Store, candidate: str) -> Recorded:
    """Read the newest evaluation of a candidate.

    Raises UsageError where there is none, InvalidMeasurementError where it cannot be read.
    """
    rows = store.query("run_decisions", run_id=candidate)
    last = next((r for r in rows if (r["kind"], r["subject"]) == ("release", "release")), None)
    if last is None:
        msg = f"no gate was evaluated for {candidate} in {store.location}"
        raise UsageError(msg, hint=f"release gate {candidate}")
    try:
        kept = _KeptRelease.model_validate(json.loads(last["evidence"]))
        gates = tuple(
            KeptGate.model_validate(json.loads(row["evidence"]))
            for row in rows
            if row["kind"] == "gate" and row["subject"] in kept.gates
        )
    except (ValueError, ValidationError) as error:
        msg = f"the gates of {candidate} cannot be read: {str(error).splitlines()[0]}"
        hint = f"evaluate them again: release gate {candidate}"
        raise InvalidMeasurementError(msg, hint=hint) from error
    return Recorded(
        candidate=candidate,
        outcome=last["outcome"],
        commit=kept.commit,
        at=last["decided_at"],
        by=last["actor"],
        gates=gates,
    )


def _reason(gate: GateResult) -> str:
    if not gate.problems:
        return "passed"
    if gate.state == "WAIVED":
        return "; ".join(
            f"waived by {w.by} until {w.until:%Y-%m-%d}: {w.reason}" for w in gate.waivers
        )
    return "; ".join(problem.message for problem in gate.standing)
