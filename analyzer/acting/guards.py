"""Guard rails: how far one action may go now. Each rail that stops it is named."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from gauntlet.analyzer.acting.policy import Limits, Mode
from gauntlet.services.switch import Permit

_DAY = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastAct:
    """One earlier action: what it was about, when, and how far it went."""

    subject: str
    at: datetime
    mode: Mode
    outcome: str = ""
    incident_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """How far an action may go. ``stops`` are the rails that hold it back, in words."""

    mode: Mode
    stops: tuple[str, ...]

    @property
    def may_act(self) -> bool:
        """Whether it may be done."""
        return self.mode == "act"


def allowed(
    limits: Limits,
    permit: Permit,
    past: Sequence[PastAct],
    now: datetime,
    *,
    objections: Iterable[str] = (),
) -> Leave:
    """Say how far an action may go.

    ``objections`` are reasons of the action itself, such as a culprit without proof: with one, it
    is only told. Past actions in shadow do not count: nothing was done.
    """
    stops = list(objections)
    if not permit.given:
        stops.append(permit.reason)
    done = sorted(act.at for act in past if act.mode == "act" and act.at <= now)
    today = sum(now - at < _DAY for at in done)
    if today >= limits.per_day:
        stops.append(f"{today} of at most {limits.per_day} in 24 hours were done")
    if done and now - done[-1] < timedelta(minutes=limits.cool_down_minutes):
        stops.append(
            f"the last one was at {done[-1]:%H:%M} UTC: wait {limits.cool_down_minutes} minutes"
        )
    mode: Mode = limits.mode
    if mode == "act" and stops:
        mode = "notify"
    return Leave(mode=mode, stops=tuple(stops))
