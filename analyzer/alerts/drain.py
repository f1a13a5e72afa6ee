"""Which accused hosts are taken out, and how far that may go: a plan, and what carries it out."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import floor

from gauntlet.analyzer.acting.guards import Leave, PastAct, allowed
from gauntlet.analyzer.acting.policy import DrainLimits
from gauntlet.analyzer.alerts.control import AgentControl
from gauntlet.analyzer.alerts.hysteresis import Change
from gauntlet.analyzer.alerts.model import Drained, Known
from gauntlet.core.errors import GauntletError
from gauntlet.services.switch import Permit

_LOGGER = logging.getLogger(__name__)
_PREFIX = "host/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Drain:
    """A host to take out, and how far that may go."""

    host: str
    change: Change
    leave: Leave
    reason: str


def plan_drains(
    changes: Iterable[Change],
    known: Sequence[Known],
    hosts_of: Mapping[str, set[str]],
    limits: DrainLimits,
    permit: Permit,
    now: datetime,
) -> list[Drain]:
    """Plan which hosts are taken out, the most certain first.

    Accused ones only: their alert is open and read now. Of no queue are more than
    ``most_of_queue`` of its hosts out at once, those that are out already included.
    """
    past = past_drains(known)
    out = {
        each.subject.removeprefix(_PREFIX)
        for each in known
        if each.evidence.drained and each.evidence.drained.is_out(now)
    }
    accused = [
        each
        for each in changes
        if each.evidence.measure == "bad-host"
        and each.subject.startswith(_PREFIX)
        and each.kind in ("open", "still", "worse", "silence", "unsilence")
        and each.evidence.facts.get("accused")
    ]
    plans = []
    for change in sorted(accused, key=lambda each: (-each.evidence.value, each.subject)):
        host = change.subject.removeprefix(_PREFIX)
        if host in out:
            continue
        leave = allowed(
            limits, permit, past, now, objections=_objections(change, host, out, hosts_of, limits)
        )
        if _was_said(change.evidence.drained, leave):
            continue
        plans.append(Drain(host=host, change=change, leave=leave, reason=change.reason))
        if leave.may_act:
            out.add(host)
            past.append(PastAct(subject=change.subject, at=now, mode="act"))
    return plans


def past_drains(known: Iterable[Known]) -> list[PastAct]:
    """What was done before, for the rails."""
    return [
        PastAct(subject=each.subject, at=drained.at, mode=drained.mode)
        for each in known
        if (drained := each.evidence.drained) is not None
    ]


def _objections(
    change: Change,
    host: str,
    out: set[str],
    hosts_of: Mapping[str, set[str]],
    limits: DrainLimits,
) -> list[str]:
    found = []
    if change.outcome == "silenced":
        found.append("its alert is silenced")
    queues = [queue for queue, hosts in hosts_of.items() if host in hosts]
    if not queues:
        found.append("nobody knows which queue it serves")
    for queue in queues:
        gone = hosts_of[queue] & out
        most = max(1, floor(limits.most_of_queue * len(hosts_of[queue])))
        if len(gone) >= most:
            everyone = len(hosts_of[queue])
            said = f"{len(gone)} of {everyone} hosts of {queue} are out"
            found.append(f"{said}; at most {most} may be")
    return found


def _was_said(before: Drained | None, leave: Leave) -> bool:
    """Whether the same was recorded already: the same mode, held back by as many rails."""
    if before is None or before.resumed_at is not None or before.mode == "act":
        return False
    return before.mode == leave.mode and len(before.stops) == len(leave.stops)


def take_out(
    drain: Drain, control: AgentControl | None, limits: DrainLimits, now: datetime
) -> Drained:
    """Take a host out where that is allowed; returns what came of it, for the record.

    Agents that are paused already count as done, so that a run that was cut short is continued.
    """
    stops = list(drain.leave.stops)
    if not drain.leave.may_act:
        return Drained(mode=drain.leave.mode, at=now, stops=tuple(stops))
    if control is None:
        stops.append("neither drain.command nor buildkite.organization and its token are given")
        return Drained(mode="notify", at=now, stops=tuple(stops))
    paused: list[str] = []
    try:
        agents = control.agents_of(drain.host)
        if not agents:
            stops.append("no agent of it is connected")
        for agent in agents:
            if not agent.paused:
                control.pause(agent, f"gauntlet: {drain.reason}"[:200])
            paused.append(agent.name)
    except GauntletError as error:
        _LOGGER.warning("host %s: %s", drain.host, error.message)
        stops.append(error.message)
        paused = _look_again(drain.host, control) or paused
    return Drained(
        mode="act" if paused else "notify",
        at=now,
        agents=tuple(paused),
        until=_until(limits, now) if paused else None,
        stops=tuple(stops),
    )


def _look_again(host: str, control: AgentControl) -> list[str]:
    """Which agents are paused after an error that leaves it open."""
    try:
        return [agent.name for agent in control.agents_of(host) if agent.paused]
    except GauntletError as error:
        _LOGGER.warning("host %s: %s", host, error.message)
        return []


def _until(limits: DrainLimits, now: datetime) -> datetime | None:
    """When Buildkite ends the pause by itself; a command's work has no end."""
    return None if limits.command else now + timedelta(minutes=limits.pause_minutes)


def let_return(host: str, control: AgentControl) -> tuple[str, ...]:
    """Let the paused agents of a host have jobs again; returns their names.

    Raises what the control raises: a host that may still be out must not be written off.
    """
    agents = control.agents_of(host)
    for agent in agents:
        control.resume(agent)
    return tuple(agent.name for agent in agents)
