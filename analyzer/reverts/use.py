"""Propose reverts of proven culprits: as far as policy, switch and rails allow, and on record."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from gauntlet.analyzer.acting.guards import PastAct
from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.history import Mainline
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.reverts import text
from gauntlet.analyzer.reverts.branch import RevertBranch, plan_revert, push_branch
from gauntlet.analyzer.reverts.proposal import Proposal, decision, propose
from gauntlet.core.errors import GauntletError
from gauntlet.services.codehost.port import CodeHost, PullRequest
from gauntlet.services.switch import Permit
from gauntlet.warehouse.rows.measurement import DecisionRow

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """With what reverts are made. Without a repository or a host nothing can be opened."""

    policy: Policy
    permit: Permit
    mainline: Mainline
    now: datetime
    repository: Path | None = None
    host: CodeHost | None = None
    run_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of one proposal: how far it went, and what a person needs to go on."""

    proposal: Proposal
    outcome: str
    """``opened``, ``proposed``, or ``conflicts`` where it does not apply."""
    title: str
    body: str
    branch: RevertBranch | None
    url: str | None
    row: DecisionRow


def make_reverts(
    incidents: Sequence[Incident], past: Sequence[PastAct], shop: Workshop, *, dry_run: bool = False
) -> list[Made]:
    """Propose one revert for each incident whose culprit is known, most certain first.

    Whatever goes wrong with one does not keep the others back; it stays proposed, with the reason.
    """
    done = list(past)
    made = []
    for incident in incidents:
        proposal = propose(
            incident,
            shop.policy.revert,
            shop.permit,
            done,
            shop.now,
            change=_change(incident, shop),
            reverted=_is_reverted(incident, shop.mainline),
        )
        if proposal is None:
            continue
        found = _make(proposal, shop, dry_run=dry_run)
        made.append(found)
        done.append(
            PastAct(
                subject=proposal.subject,
                at=shop.now,
                mode=found.row.mode,
                incident_id=incident.incident_id,
            )
        )
    return made


def _make(proposal: Proposal, shop: Workshop, *, dry_run: bool) -> Made:
    incident, culprit = proposal.incident, proposal.culprit
    stops = list(proposal.leave.stops)
    act = proposal.leave.may_act and not dry_run
    branch, url, outcome = None, None, "proposed"
    body = text.body(culprit, incident, shop.policy.chat.hud_url)
    try:
        if shop.repository is not None:
            branch = plan_revert(
                shop.repository,
                culprit.sha,
                base=_base(shop),
                name=proposal.branch,
                message=text.commit_message(culprit, incident),
                keep=act,
            )
            if not branch.clean:
                outcome = "conflicts"
                body = f"{body}\n\n{text.plan_text(branch, _titles(branch, shop.mainline))}"
            elif act:
                url = _open(proposal, shop, body)
                outcome = "opened"
    except GauntletError as error:
        _LOGGER.warning("revert of %s: %s", culprit.sha[:10], error.message)
        stops.append(error.message)
    plan: dict[str, Any] = {}
    if branch is not None:
        plan = {"order": list(branch.order), "conflicts": list(branch.conflicts)}
    row = decision(
        proposal, shop.now, outcome=outcome, run_id=shop.run_id, url=url, plan=plan, stops=stops
    )
    return Made(
        proposal=proposal,
        outcome=outcome,
        title=text.title(culprit),
        body=body,
        branch=branch,
        url=url,
        row=row,
    )


def _open(proposal: Proposal, shop: Workshop, body: str) -> str:
    if shop.repository is None or shop.host is None:
        msg = "no code host is given, so no draft was opened"
        raise GauntletError(msg)
    where = shop.policy.repository
    push_branch(shop.repository, where.remote, proposal.branch)
    opened = shop.host.open_draft(
        title=text.title(proposal.culprit), body=body, head=proposal.branch, base=where.base
    )
    return opened.url


def _base(shop: Workshop) -> str:
    """The head of the branch as it was last fetched; a local branch may be anything."""
    where = shop.policy.repository
    return f"refs/remotes/{where.remote}/{where.base}"


def _change(incident: Incident, shop: Workshop) -> PullRequest | None:
    """The culprit's pull request; where it cannot be read nobody is known to have opted out."""
    number = incident.culprit.commit.pull_request if incident.culprit else None
    if number is None or shop.host is None:
        return None
    try:
        return shop.host.pull_request(number)
    except GauntletError as error:
        _LOGGER.warning("pull request %s: %s", number, error.message)
        return None


def _is_reverted(incident: Incident, mainline: Mainline) -> bool:
    """Whether the branch has taken the culprit back, and not taken that back in its turn."""
    if incident.culprit is None:
        return False
    gone = incident.culprit.commit.sha
    undone = False
    for commit in mainline.commits[mainline.positions.get(gone, -1) + 1 :]:
        if commit.reverts and gone.startswith(commit.reverts):
            gone, undone = commit.sha, not undone
    return undone


def _titles(branch: RevertBranch, mainline: Mainline) -> list[str]:
    commits: dict[str, Commit] = {commit.sha: commit for commit in mainline.commits}
    return [commits[sha].title if sha in commits else "" for sha in branch.order]
