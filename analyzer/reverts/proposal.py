"""Whether to propose a revert, how far to go, and what to write down of it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from gauntlet.analyzer.acting.guards import Leave, PastAct, allowed
from gauntlet.analyzer.acting.policy import RevertLimits
from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.incident import Culprit, Incident
from gauntlet.services.codehost.port import PullRequest
from gauntlet.services.switch import Permit
from gauntlet.warehouse.rows.measurement import DecisionRow

_ID = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A revert as it would be proposed."""

    culprit: Commit
    incident: Incident
    leave: Leave
    branch: str

    @property
    def subject(self) -> str:
        """What its decision is about."""
        return f"commit/{self.culprit.sha}"


def propose(
    incident: Incident,
    limits: RevertLimits,
    permit: Permit,
    past: Sequence[PastAct],
    now: datetime,
    *,
    change: PullRequest | None,
    reverted: bool,
) -> Proposal | None:
    """Propose to revert the culprit of an incident; None where it has none or all was said.

    ``change`` is the culprit's pull request, None where it is not known; ``reverted`` says that
    the branch has taken it back already. One draft per incident and per commit, ever.
    """
    if incident.culprit is None or reverted:
        return None
    culprit = incident.culprit.commit
    same = {act.mode for act in past if _same(act, culprit, incident)}
    objections = _objections(incident, incident.culprit, limits, now, change)
    leave = allowed(limits, permit, past, now, objections=objections)
    # What a rail held back is tried again once that lets it; what was only told is told once.
    if "act" in same or (leave.mode in same and not leave.may_act):
        return None
    return Proposal(
        culprit=culprit,
        incident=incident,
        leave=leave,
        branch=f"{limits.branch_prefix}{culprit.sha[:_ID]}",
    )


def decision(
    proposal: Proposal,
    at: datetime,
    *,
    outcome: str,
    run_id: str = "",
    url: str | None = None,
    plan: Mapping[str, Any] | None = None,
    stops: Sequence[str] | None = None,
) -> DecisionRow:
    """The row of a proposal: how far it went, and ``stops``, what held it back."""
    held = list(proposal.leave.stops if stops is None else stops)
    row = DecisionRow.of(
        run_id,
        "revert",
        proposal.subject,
        outcome,
        reason="; ".join(held) or f"{proposal.culprit.sha[:_ID]} broke {proposal.incident.summary}",
        evidence={
            "incident": proposal.incident.incident_id,
            "title": proposal.culprit.title,
            "pull_request": proposal.culprit.pull_request,
            "branch": proposal.branch,
            "url": url,
            "stops": held,
            "plan": dict(plan or {}),
        },
        at=at,
        blocking=False,
    )
    # What was allowed and did not come about was told, not done: it uses up no limit.
    mode = "notify" if proposal.leave.may_act and outcome != "opened" else proposal.leave.mode
    return row.model_copy(update={"mode": mode})


def past_acts(rows: Sequence[Mapping[str, Any]]) -> list[PastAct]:
    """Earlier reverts, from rows of decisions."""
    found = []
    for row in rows:
        try:
            evidence = json.loads(row["evidence"])
        except ValueError:
            evidence = {}
        found.append(
            PastAct(
                subject=str(row["subject"]),
                at=row["at"],
                mode=row["mode"],
                outcome=str(row["outcome"]),
                incident_id=str(evidence.get("incident", "")),
            )
        )
    return found


def _same(act: PastAct, culprit: Commit, incident: Incident) -> bool:
    return act.subject == f"commit/{culprit.sha}" or act.incident_id == incident.incident_id


def _objections(
    incident: Incident,
    culprit: Culprit,
    limits: RevertLimits,
    now: datetime,
    change: PullRequest | None,
) -> list[str]:
    """Reasons of the revert itself for which a person has to decide."""
    found = []
    if not culprit.verified:
        found.append("the culprit is not verified")
    if incident.status != "confirmed":
        found.append("the incident is not confirmed")
    if culprit.commit.reverts:
        found.append(f"the culprit is a revert itself, of {culprit.commit.reverts[:_ID]}")
    landed = culprit.commit.committed_at
    if landed is not None and now - landed > timedelta(days=limits.oldest_days):
        found.append(f"the culprit is older than {limits.oldest_days} days")
    if change is None:
        found.append("its pull request is not known, so nobody can have opted out")
    elif limits.opt_out_label in change.labels:
        found.append(f"its pull request has the label {limits.opt_out_label}")
    return found
