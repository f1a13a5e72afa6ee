"""The step that acts: quarantines that end, reverts of proven culprits, and what became of them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from gauntlet.analyzer.acting.permit import permit_of
from gauntlet.analyzer.flakes.edges import check_quarantines
from gauntlet.analyzer.flakes.from_store import FlakesRequest
from gauntlet.analyzer.flakes.propose import Proposed
from gauntlet.analyzer.flakes_propose import propose_from_store
from gauntlet.analyzer.incidents.evidence import count
from gauntlet.analyzer.incidents.history import Mainline
from gauntlet.analyzer.incidents.load import load_history, load_recorded
from gauntlet.analyzer.incidents.update import record_reverts
from gauntlet.analyzer.nightly.journal import NightFolder
from gauntlet.analyzer.nightly.look import look_at
from gauntlet.analyzer.nightly.night import Night, Told
from gauntlet.analyzer.reverts.proposal import past_acts
from gauntlet.analyzer.reverts.record import fate
from gauntlet.analyzer.reverts.use import Made, Workshop, make_reverts
from gauntlet.core.clock import utc_now
from gauntlet.services.codehost.port import CodeHost, PullRequest
from gauntlet.services.switch import Permit
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import open_store

REVERTS = "reverts.json"
_FLAKE_DAYS = 14
# Who closes a draft to repair the culprit instead lands that a little later.
_REPAIR = timedelta(days=14)


def act(night: Night, folder: NightFolder) -> Told:
    """Follow earlier reverts up, propose new ones, and end quarantines whose time has come."""
    # After what the probes recorded: the newest word about an incident counts.
    night = replace(night, now=utc_now())
    permit = permit_of(night.policy, night.host)
    followed = follow_up(night)
    made = _reverts(night, permit)
    issues = _issues(night)
    folder.save(REVERTS, [_plain(each) for each in made])
    changes = check_quarantines(night.location, branch=night.branch, dry_run=night.dry_run)
    opened = sum(each.outcome == "opened" for each in made)
    told = [
        f"{count(len(made), 'revert')} proposed, {opened} opened",
        f"{count(len(followed), 'earlier one')} ended",
        f"{count(len(issues.made), 'issue')} about flaky tests",
        f"{count(len(changes), 'quarantine')} looked at",
    ]
    return Told(detail="; ".join(told))


def _reverts(night: Night, permit: Permit) -> Sequence[Made]:
    with open_store(night.location) as store:
        history = load_history(store, branch=night.branch, commits=night.commits, now=night.now)
        rows = store.query("decisions_of_kind", kind="revert", days=365)
    shop = Workshop(
        policy=night.policy,
        permit=permit,
        mainline=history.mainline,
        now=night.now,
        repository=night.repository,
        host=night.host,
        run_id=night.run_id,
    )
    known = [i for i in look_at(night).incidents if i.culprit is not None]
    made = make_reverts(known, past_acts(rows), shop, dry_run=night.dry_run)
    news = [each.row for each in made if _is_news(each.row, rows)]
    if not night.dry_run and news:
        _record(night, news, "reverts")
        record_reverts(
            [(each.proposal.incident, each.url) for each in made if each.url],
            night.location,
            at=night.now,
            run_id=night.run_id,
        )
    return made


def _is_news(row: DecisionRow, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether the newest word about a commit says something else; ``rows`` are newest first."""
    last = next((known for known in rows if known["subject"] == row.subject), None)
    said = (row.outcome, row.mode, row.reason)
    return last is None or said != (last["outcome"], last["mode"], last["reason"])


def _issues(night: Night) -> Proposed:
    request = FlakesRequest(branch=night.branch, days=_FLAKE_DAYS)
    return propose_from_store(
        night.location,
        request,
        night.policy,
        night.host,
        dry_run=night.dry_run,
        run_id=night.run_id,
    )


def follow_up(night: Night) -> list[DecisionRow]:
    """Ask what became of drafts that were opened, and record what has ended."""
    if night.host is None:
        return []
    with open_store(night.location) as store:
        rows = store.query("decisions_of_kind", kind="revert", days=365)
        fixed = {
            each.incident_id: str(each.evidence.get("fixed_by") or "")
            for each in load_recorded(store)
            if each.outcome == "fixed"
        }
        history = load_history(store, branch=night.branch, commits=night.commits, now=night.now)
    newest = {row["subject"]: row for row in reversed(rows)}
    waiting = [row for row in newest.values() if row["outcome"] == "opened"]
    found = list(_ended(night, night.host, waiting, fixed, history.mainline))
    if found and not night.dry_run:
        _record(night, found, "reverts-ended")
    return found


def _ended(
    night: Night,
    host: CodeHost,
    waiting: Iterable[dict[str, Any]],
    fixed: dict[str, str],
    mainline: Mainline,
) -> Iterable[DecisionRow]:
    for row in waiting:
        evidence = json.loads(row["evidence"])
        change = host.pull_request_of(str(evidence["branch"]))
        fixed_by = fixed.get(str(evidence.get("incident", "")), "")
        became = fate(
            change,
            fixed_by=fixed_by or None,
            culprit_touched=_touches(fixed_by, row["subject"].removeprefix("commit/"), mainline),
            repair_may_come=str(evidence.get("incident", "")) not in fixed
            and night.now - row["at"] < _REPAIR,
        )
        if became is None:
            continue
        ended = DecisionRow.of(
            night.run_id,
            "revert",
            str(row["subject"]),
            became,
            reason=_why(change, fixed_by),
            evidence={**evidence, "fixed_by": fixed_by or None},
            at=night.now,
            blocking=False,
        )
        yield ended.model_copy(update={"mode": row["mode"]})


def _touches(fixed_by: str, culprit: str, mainline: Mainline) -> bool:
    """Whether the repair changed files of the culprit: then the culprit was the right one."""
    commits = {commit.sha: commit for commit in mainline.commits}
    if fixed_by not in commits or culprit not in commits:
        return False
    return bool(set(commits[fixed_by].paths) & set(commits[culprit].paths))


def _why(change: PullRequest | None, fixed_by: str) -> str:
    where = change.url if change else "the draft"
    by = f", fixed by {fixed_by[:10]}" if fixed_by else ""
    return f"{where} is {change.state if change else 'gone'}{by}"


def _record(night: Night, rows: Sequence[DecisionRow], what: str) -> None:
    deliver(night.location, [decision_batch(night.run_id, what, rows, night.now)])


def _plain(each: Made) -> dict[str, Any]:
    return {
        "incident": each.proposal.incident.incident_id,
        "culprit": each.proposal.culprit.sha,
        "outcome": each.outcome,
        "mode": each.row.mode,
        "stops": each.row.reason,
        "url": each.url,
        "title": each.title,
        "body": each.body,
    }
