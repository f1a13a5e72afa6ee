"""Hosts that fail more than their peers, as readings. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

from gauntlet.analyzer.alerts.model import Cause, Known, Reading
from gauntlet.analyzer.flakes.hosts import HostAttempt, HostJudgement, judge_hosts

LEAST_BACK = 10
"""A host that was taken out is heard again after so many attempts."""
_PREFIX = "host/"
# What is no accusation by itself is at most an even chance, however the thresholds are set.
_UNPROVEN = 0.5


def host_readings(
    rows: Iterable[Mapping[str, Any]], known: Iterable[Known], now: datetime
) -> tuple[list[Reading], dict[str, set[str]]]:
    """Judge every host against its peers, queue by queue; also returns the hosts of each queue.

    Rows are those of ``fleet_attempts``. What a host did before it was taken out, or before a
    person let it return, does not count any more. A host of several queues has its worst reading.
    """
    since = {
        each.subject.removeprefix(_PREFIX): start
        for each in known
        if each.subject.startswith(_PREFIX) and (start := _counts_from(each, now))
    }
    out = {
        each.subject.removeprefix(_PREFIX)
        for each in known
        if each.evidence.drained and each.evidence.drained.is_out(now)
    }
    attempts: dict[str, list[HostAttempt]] = defaultdict(list)
    hosts: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        queue, host = str(row["queue"]), str(row["host"])
        hosts[queue].add(host)
        if host in since and row["ended_at"] <= since[host]:
            continue
        cause = row["failure_class"]
        attempts[queue].append(
            HostAttempt(
                host, str(row["job_key"]), str(row["sha"]), None if cause is None else str(cause)
            )
        )
    worst: dict[str, Reading] = {}
    for queue, theirs in attempts.items():
        for judged in judge_hosts(theirs):
            if judged.host in out and judged.attempts < LEAST_BACK:
                continue
            reading = _reading(judged, queue)
            before = worst.get(judged.host)
            if reading is not None and (before is None or reading.value > before.value):
                worst[judged.host] = reading
    return list(worst.values()), hosts


def _counts_from(alert: Known, now: datetime) -> datetime | None:
    drained = alert.evidence.drained
    if drained is None:
        return None
    return drained.resumed_at or (drained.at if drained.is_out(now) else None)


def _reading(judged: HostJudgement, queue: str) -> Reading | None:
    """None where a host has too few peers to say anything."""
    if judged.probability is None:
        return None
    # Probability alone is no accusation: it takes several failures in several jobs.
    value = judged.probability if judged.accused else min(judged.probability, _UNPROVEN)
    return Reading(
        measure="bad-host",
        name=judged.host,
        value=round(value, 4),
        reason=f"{judged.host} on {queue}: {judged.reason}",
        causes=(Cause(f"{_PREFIX}{judged.host}"),),
        facts={
            "queue": queue,
            "attempts": judged.attempts,
            "failures": judged.failures,
            "expected": round(judged.expected, 2),
            "accused": judged.accused,
            "jobs": list(judged.job_keys[:5]),
        },
    )
