"""What helps a queue, in words: arithmetic on its present figures, no guess about its future."""

import math
from dataclasses import dataclass
from typing import Literal

from gauntlet.hud.shell.times import duration

_BARELY_S = 120.0  # agents take a job within seconds; a sample may catch them at it

Level = Literal["good", "watch", "act", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """A queue at its newest sample; None is what nobody recorded. Rates are jobs an hour."""

    waiting: int | None
    idle: int | None
    busy: int | None
    total: int | None
    oldest_wait_s: float | None = None
    came_per_hour: float | None = None
    began_per_hour: float | None = None


@dataclass(frozen=True, slots=True)
class Advice:
    """One or two sentences, and how loudly to say them."""

    level: Level
    text: str


def advise(now: Figures) -> Advice:
    """Say what would help a queue, from its present figures alone."""
    if now.waiting is None:
        return Advice("unknown", "The source does not say how many jobs wait.")
    if now.waiting == 0:
        return Advice("good", f"Nothing to do: no job waits, {_agents(now)}.")
    jobs = f"{_count(now.waiting, 'job')} {'waits' if now.waiting == 1 else 'wait'}"
    if now.total == 0:
        return Advice("act", f"{jobs} and no agent is connected: start agents of this queue.")
    if now.idle:
        return _although_idle(now, jobs)
    return _drain(now, f"{jobs}, {_agents(now)}")


def _although_idle(now: Figures, jobs: str) -> Advice:
    idle = f"{_count(now.idle or 0, 'agent')} {'is' if now.idle == 1 else 'are'} idle"
    if now.oldest_wait_s is None or now.oldest_wait_s <= _BARELY_S:
        return Advice("good", f"{jobs}, and {idle}: they are about to be taken.")
    waited = duration(now.oldest_wait_s)
    return Advice(
        "act",
        f"{jobs}, the oldest for {waited}, although {idle}: agents may be paused, or their tags"
        " do not match what the jobs ask for.",
    )


def _drain(now: Figures, said: str) -> Advice:
    if now.began_per_hour is None or now.waiting is None:
        return Advice("watch", f"{said}: no attempts are recorded that tell how fast it works.")
    if now.began_per_hour == 0:
        return Advice(
            "act", f"{said}, and no job began in the last hours: look at the agents themselves."
        )
    came = now.came_per_hour or 0.0
    gain = now.began_per_hour - came
    rates = f"{now.began_per_hour:.3g} jobs begin and {came:.3g} come in an hour"
    if gain <= 0:
        return Advice("act", f"{said}: {rates}, so that it does not empty.{_to_keep_up(now, gain)}")
    hours = now.waiting / gain
    level: Level = "watch" if hours <= 1 else "act"
    empty = f"at this rate the queue is empty in {duration(3600 * hours)}"
    return Advice(level, f"{said}: {rates}; {empty}.{_to_halve(now, gain)}")


def _to_halve(now: Figures, gain: float) -> str:
    more = _more_agents(now, gain)
    return f" {_count(more, 'more agent')} would halve that." if more else ""


def _to_keep_up(now: Figures, gain: float) -> str:
    more = _more_agents(now, -gain)
    if not more:
        return ""
    return f" {_count(more, 'more agent')} would keep up with what comes, and not more than that."


def _more_agents(now: Figures, jobs_per_hour: float) -> int:
    """How many agents work off that many more jobs an hour, each as fast as those that work now."""
    if not now.busy or not now.began_per_hour:
        return 0
    return math.ceil(round(jobs_per_hour / (now.began_per_hour / now.busy), 6))


def _agents(now: Figures) -> str:
    if now.idle is None or now.total is None:
        return "it is not known how many agents are idle"
    return f"{now.idle} of {_count(now.total, 'agent')} idle"


def _count(number: int, thing: str) -> str:
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"
