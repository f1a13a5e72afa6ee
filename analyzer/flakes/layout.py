"""Lines for people."""

from collections.abc import Sequence
from datetime import datetime

from gauntlet.analyzer.flakes.found import Flake
from gauntlet.analyzer.flakes.quarantine import Change, Quarantine


def flake_lines(flakes: Sequence[Flake], *, everything: bool) -> list[str]:
    """One block of two lines per history: what and how much, then why."""
    shown = [f for f in flakes if everything or f.judgement.state in ("broken", "flaky")]
    if not shown:
        rest = f"; {len(flakes)} that failed are neither: --all shows them" if flakes else ""
        return [f"no test or job is broken or flaky{rest}"]
    lines = []
    for flake in shown:
        lines += _block(flake)
    hidden = len(flakes) - len(shown)
    if hidden:
        lines.append(f"{hidden} more failed and are neither broken nor flaky: --all shows them")
    return lines


def _block(flake: Flake) -> list[str]:
    judged, recorded = flake.judgement, flake.recorded
    rate = f"{judged.rate.mean:.1%} ({judged.rate.low:.1%} to {judged.rate.high:.1%})"
    cost = "cost unknown" if flake.minutes_lost is None else f"{flake.minutes_lost:.0f} min lost"
    where = recorded.queue if recorded.kind == "job" else f"{recorded.job_key}, {recorded.queue}"
    head = f"{judged.state:8}{flake.subject}  [{where}]  {rate}, {cost}"
    why = "; ".join(judged.reasons)
    facts = [why]
    if flake.since:
        facts.append(f"since {flake.since[:12]}")
    if flake.clean_runs_needed:
        facts.append(f"{flake.clean_runs_needed} clean runs would clear it")
    if flake.owner:
        facts.append(f"owner {flake.owner} ({flake.owner_from})")
    if flake.quarantined:
        end = flake.quarantined_until
        facts.append(f"in quarantine until {end:%F}" if end else "in quarantine without an end")
    return [head, f"        {'; '.join(facts)}"]


def quarantine_lines(quarantines: Sequence[Quarantine], now: datetime) -> list[str]:
    """One line per quarantine."""
    if not quarantines:
        return ["nothing is in quarantine"]
    return [_quarantine_line(each, now) for each in quarantines]


def _quarantine_line(quarantine: Quarantine, now: datetime) -> str:
    end = "no end" if quarantine.expires_at is None else f"until {quarantine.expires_at:%F %R}"
    over = "  EXPIRED: it blocks again" if quarantine.expired(now) else ""
    owner = quarantine.evidence.owner or "nobody"
    return f"{quarantine.subject}  {end}, owner {owner}: {quarantine.reason}{over}"


def change_lines(changes: Sequence[Change]) -> list[str]:
    """One line per quarantine that was looked at."""
    if not changes:
        return ["nothing is in quarantine"]
    return [f"{c.outcome:9}{c.subject} (owner {c.owner or 'nobody'}): {c.reason}" for c in changes]
