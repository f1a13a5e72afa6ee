"""Plans of picks and candidates as text and as JSON."""

from typing import Any

from gauntlet.release.picks.candidate import CandidatePlan
from gauntlet.release.picks.plan import Item
from gauntlet.release.picks.use import PicksPlan, PicksRequest


def picks_lines(plan: PicksPlan, request: PicksRequest, late: tuple[str, ...]) -> list[str]:
    """For people: each change in the order in which it is picked, then the window."""
    lines = [line for item in plan.items for line in _item_lines(item)]
    if not plan.items:
        lines.append("nothing is asked for")
    lines.append(plan.window.line(request.now))
    if late:
        lines.append(f"kept out by it: {', '.join(late)}")
    return lines


def plain_picks(plan: PicksPlan, request: PicksRequest, late: tuple[str, ...]) -> dict[str, Any]:
    """As JSON."""
    return {
        "version": plan.state.version,
        "branch": plan.state.branch,
        "head": plan.standing.head,
        "head_with_picks": plan.head,
        "window": {
            "open": plan.window.is_open(request.now),
            "closes": plan.window.closes.isoformat(),
            "late": list(late),
        },
        "items": [_plain(item) for item in plan.items],
    }


def candidate_lines(plan: CandidatePlan) -> list[str]:
    """For people: what is wrong with the branch, then the candidate."""
    return [*(finding.line() for finding in plan.findings), *plan.lines()]


def plain_candidate(plan: CandidatePlan, *, made: bool) -> dict[str, Any]:
    """As JSON."""
    return {
        "made": made,
        "known": plan.known,
        "candidate": plan.candidate.model_dump(mode="json"),
        "findings": [
            {
                "check": finding.check,
                "level": finding.level,
                "subject": finding.subject,
                "message": finding.message,
                "remedy": finding.remedy,
            }
            for finding in plan.findings
        ],
    }


def _item_lines(item: Item) -> list[str]:
    sha = item.change.sha[:10] if item.change else ""
    title = item.change.title if item.change else ""
    lines = [f"{item.status:11} {item.name:10} {sha:10} {title}".rstrip()]
    return [
        *lines,
        *([f"            {item.reason}"] if item.reason else []),
        *(f"            note: {note}" for note in item.notes),
    ]


def _plain(item: Item) -> dict[str, Any]:
    return {
        "name": item.name,
        "status": item.status,
        "reason": item.reason,
        "commit": item.change.sha if item.change else None,
        "title": item.change.title if item.change else None,
        "pull_request": item.change.pull_request if item.change else None,
        "applied": item.applied or None,
        "conflicts": list(item.conflicts),
        "depends_on": list(item.depends_on),
        "notes": list(item.notes),
    }
