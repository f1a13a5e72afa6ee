"""Rows of candidates, gates and waivers as the page shows them. Pure."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import pandas as pd

from gauntlet.analyzer.verdict import objective_label
from gauntlet.hud import palette
from gauntlet.hud.shell.view import View

_SHORT = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """What keeps a gate from passing, as its decision keeps it."""

    key: str
    state: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """A gate of a candidate; ``waiver`` is the newest one about it, held or not."""

    name: str
    state: str
    reason: str
    decided_at: datetime
    waiver: Mapping[str, Any] | None
    problems: tuple[Problem, ...] = ()

    def waived(self, now: datetime) -> bool:
        """Whether a waiver holds now."""
        if self.waiver is None or self.waiver["outcome"] != "waived":
            return False
        expires = self.waiver["expires_at"]
        return expires is None or expires > now


def candidate_frame(rows: Sequence[Mapping[str, Any]], view: View) -> pd.DataFrame:
    """One line a candidate: its decision, its gates by name, what it is, where to read on."""
    lines = []
    for row in rows:
        waived = {subject.removeprefix("gate/") for subject in row["waived"]}
        gates = dict(zip(row["gates"], row["states"], strict=True))
        shown = {
            f"gate {name}": palette.signed(
                palette.GATES, "WAIVED" if name in waived and state != "PASS" else state
            )
            for name, state in gates.items()
        }
        lines.append(
            {
                "candidate": view.link("releases", candidate=row["run_id"]),
                "decision": palette.signed(palette.DECISIONS, row["outcome"]),
                **shown,
                "version": row["version"] or None,
                "commit": commit_of(row)[:_SHORT] or None,
                "image": (row["image_digest"] or "")[: len("sha256:") + _SHORT] or None,
                "decided": row["at"],
                "why": row["reason"],
            }
        )
    return pd.DataFrame(lines)


def gates_of(decisions: Sequence[Mapping[str, Any]]) -> list[Gate]:
    """Gates of one candidate, from the rows of the query run_decisions, by name."""
    newest: dict[tuple[str, str], Mapping[str, Any]] = {}
    for row in sorted(decisions, key=lambda row: row["decided_at"]):
        newest[row["kind"], row["subject"]] = row
    return [
        Gate(
            name=subject,
            state=row["outcome"],
            reason=row["reason"],
            decided_at=row["decided_at"],
            waiver=newest.get(("waiver", f"gate/{subject}")),
            problems=tuple(_problems(row["evidence"])),
        )
        for (kind, subject), row in sorted(newest.items())
        if kind == "gate"
    ]


def _problems(evidence: str) -> Iterator[Problem]:
    """Problems of a gate of a candidate; gates of single runs keep none."""
    said = json.loads(evidence or "{}")
    listed = said.get("problems", []) if isinstance(said, dict) else []
    for each in listed:
        yield Problem(key=each["key"], state=each["state"], message=each["message"])


def problems(gates: Sequence[Gate]) -> pd.DataFrame:
    """What stands against a candidate, gate by gate."""
    return pd.DataFrame(
        [
            {
                "state": palette.signed(palette.GATES, problem.state),
                "gate": gate.name,
                "why": problem.message,
            }
            for gate in gates
            for problem in gate.problems
        ]
    )


def commit_of(row: Mapping[str, Any]) -> str:
    """The commit of a candidate: as decided on, or as measured."""
    said = json.loads(row["evidence"] or "{}")
    known = said.get("commit") if isinstance(said, dict) else None
    return known or row["commit"] or ""


def blockers(decisions: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Verdicts that hold a gate back, the worse ones first."""
    rank = {"worse": 0, "missing": 1, "invalid": 2, "config-changed": 3, "inconclusive": 4}
    found = [
        row
        for row in decisions
        if row["kind"] == "verdict" and row["blocking"] and row["outcome"] in rank
    ]
    return pd.DataFrame(
        [
            {
                "verdict": palette.signed(palette.VERDICTS, row["outcome"]),
                "objective": objective_label(row["subject"]),
                "why": row["reason"],
            }
            for row in sorted(found, key=lambda row: (rank[row["outcome"]], row["subject"]))
        ]
    )


def artifacts(evidence: str) -> pd.DataFrame:
    """Artifacts that a release decision names, with their digests; empty where it names none."""
    said = json.loads(evidence or "{}")
    listed = said.get("artifacts", []) if isinstance(said, dict) else []
    return pd.DataFrame(
        [
            {name: each.get(name) for name in ("name", "platform", "digest", "size_bytes")}
            for each in listed
        ]
    )
