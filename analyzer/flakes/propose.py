"""Propose issues about flaky tests: one for each cause, never twice, as far as the policy lets."""

import json
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from gauntlet.analyzer.acting.guards import Leave, PastAct, allowed
from gauntlet.analyzer.acting.policy import Limits
from gauntlet.analyzer.flakes.found import Flake
from gauntlet.analyzer.flakes.proposals import DAILY_CAP, Proposal, marker, plan_proposals
from gauntlet.analyzer.reports.model import Entry
from gauntlet.core.errors import GauntletError
from gauntlet.services.codehost.port import CodeHost, Issue
from gauntlet.services.switch import Permit
from gauntlet.services.transport import MaybeDoneError
from gauntlet.warehouse.rows.measurement import DecisionRow
from gauntlet.warehouse.store import Store

_LOGGER = logging.getLogger(__name__)
LABEL = "flaky-test"
_DAY = timedelta(hours=24)
# What was told once is told again only after so long.
_AGAIN = timedelta(days=14)
_MARKER = re.compile(r"<!-- gauntlet-flake: ([0-9a-f]+) -->")
_MODES = ("shadow", "notify", "act")


@dataclass(frozen=True, slots=True, kw_only=True)
class Past:
    """One earlier proposal, by the key of its cause, and how far it went."""

    key: str
    act: PastAct


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """What came of one proposal: ``opened``, or ``proposed`` with what held it back."""

    proposal: Proposal
    leave: Leave
    outcome: str
    url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """What there is to record and to report; ``held_back`` are causes left out, with why."""

    made: tuple[Made, ...]
    rows: tuple[DecisionRow, ...]
    entries: tuple[Entry, ...]
    held_back: Mapping[str, str]

    def plain(self) -> dict[str, object]:
        """As JSON."""
        return {
            "proposals": [
                {
                    "key": each.proposal.key,
                    "title": each.proposal.title,
                    "body": each.proposal.body,
                    "labels": list(each.proposal.labels),
                    "subjects": list(each.proposal.subjects),
                    "minutes_lost": round(each.proposal.minutes_lost, 1),
                    "outcome": each.outcome,
                    "mode": each.leave.mode,
                    "stops": list(each.leave.stops),
                    "url": each.url,
                }
                for each in self.made
            ],
            "held_back": dict(self.held_back),
        }

    def lines(self) -> Iterable[str]:
        """As text for people."""
        if not self.made:
            yield "nothing to propose"
        for each in self.made:
            where = f": {each.url}" if each.url else f" ({each.leave.mode})"
            yield f"{each.outcome}{where}  {each.proposal.title}"
            yield from (f"  {stop}" for stop in each.leave.stops)
        for key, reason in sorted(self.held_back.items()):
            yield f"not proposed  {key}: {reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """With what proposals are made; without a host none can be opened."""

    limits: Limits
    permit: Permit
    now: datetime
    host: CodeHost | None = None
    run_id: str = ""
    dry_run: bool = False


def propose_flakes(
    flakes: Sequence[Flake], signatures: Mapping[str, str], past: Sequence[Past], desk: Desk
) -> Proposed:
    """Propose the costliest flakes that nobody knows yet; open issues where that is allowed.

    An open issue is known by its marker, and covers the tests that it lists. Where the host cannot
    be read nothing is opened: it might be there already.
    """
    issues, problem = _open_issues(desk.host)
    texts = [issue.text for issue in issues]
    known = {key for text in texts for key in _MARKER.findall(text)}
    told = {
        each.key
        for each in past
        if desk.now - each.act.at < _AGAIN and _reached(each.act, desk.limits)
    }
    opened = {each.key for each in past if each.act.mode == "act" and _today(each.act, desk.now)}
    plan = plan_proposals(
        flakes,
        signatures=signatures,
        open_keys=known | told,
        covered=_covered(flakes, texts),
        opened_today=len(opened),
        cap=min(DAILY_CAP, desk.limits.per_day),
    )
    acts = _by_cause(past)
    made = []
    for proposal in plan.proposals:
        objections = [problem] if problem and desk.limits.mode == "act" else []
        leave = allowed(desk.limits, desk.permit, acts, desk.now, objections=objections)
        found = _make(proposal, leave, desk)
        made.append(found)
        if found.outcome == "opened":
            acts.append(PastAct(subject=proposal.key, at=desk.now, mode="act", outcome="opened"))
    return Proposed(
        made=tuple(made),
        rows=tuple(row for each in made for row in _rows(each, desk)),
        entries=tuple(_entry(each) for each in made if each.leave.mode != "shadow"),
        held_back=plan.held_back,
    )


def read_signatures(store: Store, *, branch: str, days: int) -> dict[str, str]:
    """Read the usual signature of each failing test and job, by subject."""
    rows = store.query("failure_signatures", branch=branch, days=days)
    return {f"{row['kind']}/{row['name']}": str(row["signature"]) for row in rows}


def past_proposals(rows: Iterable[Mapping[str, Any]]) -> list[Past]:
    """Earlier proposals, from rows of decisions; what is none of ours is left out."""
    found = []
    for row in rows:
        try:
            evidence = json.loads(row["evidence"])
        except ValueError:
            continue
        keys = _MARKER.findall(str(evidence.get("marker", "")))
        if keys:
            act = PastAct(
                subject=str(row["subject"]),
                at=row["at"],
                mode=row["mode"] if row["outcome"] == "opened" else _less(row["mode"]),
                outcome=str(row["outcome"]),
            )
            found.append(Past(key=keys[0], act=act))
    return found


def _less(mode: str) -> Any:  # noqa: ANN401
    """A proposal that was not opened has not acted, whatever it might have done."""
    return "notify" if mode == "act" else mode


def _by_cause(past: Sequence[Past]) -> list[PastAct]:
    """One act for each cause and time, however many tests it is about."""
    return list({(each.key, each.act.at): each.act for each in past}.values())


def _reached(act: PastAct, limits: Limits) -> bool:
    """Whether it went as far then as it may go now; what may now be opened is proposed anew."""
    return _MODES.index(act.mode) >= _MODES.index(limits.mode)


def _today(act: PastAct, now: datetime) -> bool:
    return timedelta() <= now - act.at < _DAY


def _open_issues(host: CodeHost | None) -> tuple[Sequence[Issue], str]:
    if host is None:
        return (), "no code host is given, so no issue can be opened"
    try:
        return host.open_issues(LABEL), ""
    except GauntletError as error:
        return (), f"the open issues cannot be read: {error.message}"


def _covered(flakes: Sequence[Flake], texts: Sequence[str]) -> set[str]:
    """Subjects in quarantine, and those that stand in an open issue."""
    found = {flake.subject for flake in flakes if flake.quarantined}
    for flake in flakes:
        name = flake.recorded.nodeid or flake.recorded.job_key
        if any(f"`{name}`" in text.replace("\\|", "|") for text in texts):
            found.add(flake.subject)
    return found


def _make(proposal: Proposal, leave: Leave, desk: Desk) -> Made:
    if not leave.may_act or desk.dry_run or desk.host is None:
        return Made(proposal=proposal, leave=leave, outcome="proposed", url=None)
    try:
        url = _open(proposal, desk.host).url
    except GauntletError as error:
        _LOGGER.warning("%s: %s", proposal.title, error.message)
        held = replace(leave, mode="notify", stops=(*leave.stops, error.message))
        return Made(proposal=proposal, leave=held, outcome="proposed", url=None)
    return Made(proposal=proposal, leave=leave, outcome="opened", url=url)


def _open(proposal: Proposal, host: CodeHost) -> Issue:
    """Open the issue once: one whose answer was lost is found by its marker."""
    try:
        return host.open_issue(title=proposal.title, body=proposal.body, labels=proposal.labels)
    except MaybeDoneError:
        for issue in host.open_issues(LABEL):
            if marker(proposal.key) in issue.text:
                return issue
        raise


def _rows(made: Made, desk: Desk) -> Iterable[DecisionRow]:
    proposal = made.proposal
    for subject in proposal.subjects:
        row = DecisionRow.of(
            desk.run_id,
            "annotation",
            subject,
            made.outcome,
            reason="; ".join(made.leave.stops) or proposal.title,
            evidence={
                "marker": marker(proposal.key),
                "url": made.url,
                "title": proposal.title,
                "minutes_lost": round(proposal.minutes_lost, 1),
                "stops": list(made.leave.stops),
            },
            at=desk.now,
            blocking=False,
        )
        yield row.model_copy(update={"mode": made.leave.mode})


def _entry(made: Made) -> Entry:
    proposal = made.proposal
    facts = [f"about {proposal.minutes_lost:.0f} minutes lost"]
    facts += [f"not opened: {stop}" for stop in made.leave.stops]
    links = (("issue", made.url),) if made.url else ()
    command = f"gauntlet quarantine add '{proposal.subjects[0]}' --owner OWNER --reason REASON"
    return Entry(
        key=f"flake/{proposal.key}",
        title=proposal.title,
        facts=tuple(facts),
        links=links,
        command=command,
    )
