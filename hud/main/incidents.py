"""What is open on main: incidents as the analyzer recorded them, or the jobs that are broken."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from html import escape
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from gauntlet.hud.outcomes import LINK_COLOUR, SHORT_SHA
from gauntlet.hud.shell.links import web_address

_STYLE = (
    ".gi{display:flex;flex-direction:column;gap:8px;font-size:14px}"
    ".gi>div{border-left:4px solid #c2410c;padding:2px 0 2px 12px;line-height:1.5}"
    ".gi code{font-size:13px}"
    ".gi b{font-weight:600}"
    f".gi a{{color:{LINK_COLOUR}}}"
    ".gi small{opacity:.85;font-size:13px}"
)


class _Recorded(BaseModel):
    """What is read of a record; those who made it may have said more."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class Culprit(_Recorded):
    """The commit that is held to have broken it. ``probability`` is from 0 to 1."""

    sha: str
    title: str = ""
    author: str = ""
    pull_request: int | None = None
    probability: float | None = None
    verified: bool = False


class Next(_Recorded):
    """What brings the incident forward."""

    step: str
    reason: str = ""


class Evidence(_Recorded):
    """What an incident rests on, as the analyzer records it."""

    failure_class: str
    signature: str = ""
    jobs: tuple[str, ...] = ()
    first_bad: str | None = None
    last_good: str | None = None
    status: str = "confirmed"
    suspects: tuple[str, ...] = ()
    next: Next | None = None
    culprit: Culprit | None = None
    revert_url: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An open incident; ``evidence`` is None where what was recorded cannot be read."""

    subject: str
    reason: str
    opened_at: datetime
    evidence: Evidence | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Links:
    """Addresses: of a job, of a commit (None where not hosted), of a commit's cell in the grid."""

    job: Callable[[str], str]
    commit: Callable[[str], str | None]
    cell: Callable[[str, str], str]


def incidents_of(rows: Sequence[Mapping[str, Any]]) -> list[Incident]:
    """Shape the rows of ``open_incidents``."""
    return [
        Incident(
            subject=row["subject"],
            reason=row["reason"],
            opened_at=row["opened_at"],
            evidence=_evidence(row["evidence"]),
        )
        for row in rows
    ]


def _evidence(text: str) -> Evidence | None:
    try:
        return Evidence.model_validate_json(text)
    except ValidationError:
        return None  # said on the page, with the sentence that was recorded beside it


def incidents_html(
    incidents: Sequence[Incident], links: Links, ago: Callable[[datetime], str]
) -> str:
    """Draw open incidents below each other."""
    drawn = "".join(f"<div>{_incident(each, links, ago)}</div>" for each in incidents)
    return f'<style>{_STYLE}</style><div class="gi">{drawn}</div>'


def _incident(incident: Incident, links: Links, ago: Callable[[datetime], str]) -> str:
    evidence = incident.evidence
    named = evidence.failure_class.replace("_", " ") if evidence else "incident"
    if evidence is not None and evidence.status != "confirmed":
        named = f"{evidence.status}: {named}"
    first = (
        f"<b>✕ {escape(named)}</b>, opened {escape(ago(incident.opened_at))}: "
        f"{escape(incident.reason)} <small>({escape(incident.subject)})</small>"
    )
    if evidence is None:
        return first + "<br><small>Its evidence cannot be read.</small>"
    lines = [first]
    if evidence.jobs:
        lines.append("Jobs: " + ", ".join(_link(links.job(job), job) for job in evidence.jobs))
    if evidence.signature:
        lines.append(f"<code>{escape(evidence.signature)}</code>")
    lines.append(_culprit(evidence, links))
    if revert := web_address(evidence.revert_url):
        lines[-1] += f' · <a href="{escape(revert)}" target="_blank"><b>its revert</b></a>'
    return "<br>".join(lines)


def _culprit(evidence: Evidence, links: Links) -> str:
    culprit = evidence.culprit
    if culprit is None:
        span = (
            f"first bad {_sha(evidence.first_bad, links)}, last good"
            f" {_sha(evidence.last_good, links)}"
        )
        several = len(evidence.suspects)
        among = f", {several} suspects" if several > 1 else ""
        follows = f" Next: {escape(evidence.next.step)}." if evidence.next else ""
        return f"No culprit yet: {span}{among}.{follows}"
    likely = "" if culprit.probability is None else f", {culprit.probability:.0%} likely"
    proof = "verified by a rerun" if culprit.verified else "not verified"
    by = f" by {escape(culprit.author)}" if culprit.author else ""
    return f"Culprit{likely}, {proof}: {_sha(culprit.sha, links)} {escape(culprit.title)}{by}" + (
        f" (#{culprit.pull_request})" if culprit.pull_request is not None else ""
    )


def broken_html(rows: Sequence[Mapping[str, Any]], links: Links, commits_seen: int) -> str:
    """Draw broken jobs of ``job_streaks``; ``commits_seen`` is how many commits were looked at."""
    drawn = "".join(f"<div>{_broken(row, links, commits_seen)}</div>" for row in rows)
    return f'<style>{_STYLE}</style><div class="gi">{drawn}</div>'


def _broken(row: Mapping[str, Any], links: Links, commits_seen: int) -> str:
    def at(sha: str) -> str:
        return _link(links.cell(sha, row["group_key"]), sha[:SHORT_SHA])

    job = _link(links.job(row["job_key"]), row["job_key"])
    streak = row["failures_in_a_row"]
    times = "once" if streak == 1 else f"{streak} times in a row"
    said = f"<b>✕ {job}</b> failed {times}. First bad {at(row['first_bad'])}"
    between = row["unknown_between"]
    if between is None:
        return f"{said}, with no good one among the newest {commits_seen} commits."
    unknown = "none" if between == 0 else str(between)
    return f"{said}, last good {at(row['last_good'])}, {unknown} unknown between."


def _sha(sha: str | None, links: Links) -> str:
    if not sha:
        return "not known"
    code = f"<code>{escape(sha[:SHORT_SHA])}</code>"
    address = links.commit(sha)
    return f'<a href="{escape(address)}" target="_blank">{code}</a>' if address else code


def _link(address: str, text: str) -> str:
    return f'<a href="{escape(address)}">{escape(text)}</a>'
