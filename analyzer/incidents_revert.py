"""The use case of ``gauntlet incidents revert``: the branch and the words, for a person."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.incidents.history import Mainline
from gauntlet.analyzer.incidents.incident import Incident
from gauntlet.analyzer.reverts import text
from gauntlet.analyzer.reverts.branch import RevertBranch, plan_revert
from gauntlet.core.errors import UsageError

_ID = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A revert that is ready to be pushed, or the order of what has to go first."""

    title: str
    body: str
    branch: RevertBranch

    def plain(self) -> dict[str, Any]:
        """As JSON."""
        return {"title": self.title, "body": self.body, "branch": asdict(self.branch)}


def prepare_revert(
    incident: Incident, mainline: Mainline, repository: Path, policy: Policy, *, dry_run: bool
) -> Prepared:
    """Make the branch that takes an incident's culprit back; in a dry run only try it.

    Raises UsageError where the incident has no proven culprit.
    """
    culprit = incident.culprit
    if culprit is None or not culprit.verified:
        msg = f"{incident.incident_id} has no proven culprit"
        hint = f"gauntlet incidents bisect {incident.incident_id}"
        raise UsageError(msg, hint=hint)
    where = policy.repository
    branch = plan_revert(
        repository,
        culprit.commit.sha,
        base=f"refs/remotes/{where.remote}/{where.base}",
        name=f"{policy.revert.branch_prefix}{culprit.commit.sha[:_ID]}",
        message=text.commit_message(culprit.commit, incident),
        keep=not dry_run,
    )
    body = text.body(culprit.commit, incident, policy.chat.hud_url)
    if not branch.clean:
        titles = {commit.sha: commit.title for commit in mainline.commits}
        plan = text.plan_text(branch, [titles.get(sha, "") for sha in branch.order])
        body = f"{body}\n\n{plan}"
    return Prepared(title=text.title(culprit.commit), body=body, branch=branch)
