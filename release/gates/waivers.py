"""Waivers: what one covers, when it counts, and when one may be given."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.release.gates.ci import SKEW
from gauntlet.release.gates.facts import WaiverFact
from gauntlet.release.gates.model import GateResult, Problem, Waiver
from gauntlet.release.gates.rules import WaiverRules


def apply_waivers(
    gates: Sequence[GateResult],
    waivers: Iterable[WaiverFact],
    rules: WaiverRules,
    commit: str,
    now: datetime,
) -> tuple[GateResult, ...]:
    """Let problems pass that somebody answers for; what does not count is said.

    A waiver covers the problems that it names, and no other that comes later. Of more than the
    policy allows the oldest count.
    """
    by_name = {gate.name: gate for gate in gates}
    used = 0
    for fact in sorted(waivers, key=lambda each: each.at):
        gate = by_name.get(fact.gate)
        if gate is None or fact.outcome != "waived":
            continue
        covers = tuple(p.key for p in gate.standing if p.key in fact.covers)
        why = _why_not(gate.name, fact, rules, commit, now)
        if not why and used + len(covers) > rules.at_most:
            why = f"{rules.at_most} problems at most may be waived"
        if why:
            note = f"the waiver of {fact.by} does not count: {why}"
            by_name[gate.name] = replace(gate, notes=(*gate.notes, note))
        elif covers and fact.until is not None:
            used += len(covers)
            waiver = Waiver(
                gate=gate.name,
                covers=covers,
                reason=fact.reason,
                by=fact.by,
                at=fact.at,
                until=fact.until,
            )
            by_name[gate.name] = replace(gate, waivers=(*gate.waivers, waiver))
    return tuple(by_name.values())


def _why_not(gate: str, fact: WaiverFact, rules: WaiverRules, commit: str, now: datetime) -> str:
    ends = fact.until
    reasons = {
        f"the policy lets nobody waive {gate}": gate in rules.never,
        f"it was given for {fact.commit[:10]}": fact.commit not in {"", commit},
        f"it is of the future ({fact.at:%Y-%m-%d %H:%M}): a clock is wrong": fact.at > now + SKEW,
        "it has no end": ends is None,
    }
    if ends is not None:
        longest = timedelta(days=rules.longest_days)
        reasons |= {
            f"it expired at {ends:%Y-%m-%d %H:%M} UTC": ends <= now,
            f"it is given for more than {rules.longest_days} days": ends - fact.at > longest,
        }
    return next((reason for reason, holds in reasons.items() if holds), "")


def problems_to_waive(
    gates: Sequence[GateResult], name: str, keys: Sequence[str], *, everything: bool
) -> tuple[Problem, ...]:
    """Choose the problems of a gate that a new waiver is to cover.

    Raises UsageError for an unknown gate, for keys that are no problem of it, and for none at all.
    """
    known = {gate.name: gate for gate in gates}
    if name not in known:
        raise unknown_name("gate", name, known)
    standing = {problem.key: problem for problem in known[name].standing}
    if not standing:
        raise UsageError(f"the gate {name} has no problem that could be waived")
    if everything:
        return tuple(standing.values())
    for key in keys:
        if key not in standing:
            raise unknown_name(f"problem of {name}", key, standing)
    if not keys:
        listed = "\n".join(f"  {key}" for key in standing)
        msg = f"which problems of {name}? it has:\n{listed}"
        raise UsageError(msg, hint="name them, or say --all")
    return tuple(standing[key] for key in keys)


def ensure_allowed(
    gates: Sequence[GateResult], name: str, more: int, days: float, rules: WaiverRules
) -> None:
    """Refuse a waiver that the policy does not allow. Raises UsageError."""
    if name in rules.never:
        raise UsageError(f"the policy lets nobody waive {name}", hint="mend what it found")
    if days > rules.longest_days:
        msg = f"{days:g} days are asked for, and the policy allows {rules.longest_days}"
        raise UsageError(msg, hint="give it for less, and again if it must be")
    already = sum(len(gate.waived) for gate in gates)
    if already + more > rules.at_most:
        msg = f"{already} problems are waived, {more} more are asked for: at most {rules.at_most}"
        raise UsageError(msg, hint="this candidate is not good enough")
