"""Makers of readings and of what is recorded; a test names only what it is about."""

from datetime import UTC, datetime, timedelta

from gauntlet.analyzer.alerts.failures import Failure
from gauntlet.analyzer.alerts.hysteresis import NEWS, judge
from gauntlet.analyzer.alerts.model import Evidence, Known, Point, Reading
from gauntlet.analyzer.alerts.record import change_rows, read_recorded
from gauntlet.analyzer.alerts.rules import load_rules

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


def reading(measure, name, *values, now=NOW, **changes):
    """A reading whose last value is now's, each five minutes after the one before.

    One value alone stands for two hours of it.
    """
    series = values if len(values) > 1 else values * 25
    points = tuple(
        Point(now - 5 * MINUTE * ago, float(value))
        for ago, value in zip(range(len(series) - 1, -1, -1), series, strict=True)
    )
    fields = {"reason": f"{measure} of {name}", "series": points, "value": float(values[-1])}
    return Reading(measure=measure, name=name, **fields | changes)


def known(subject, outcome="open", at=NOW - 60 * MINUTE, **changes):
    measure = {"host": "bad-host", "disk": "disk-pressure", "hub": "hub-outage",
               "dependency": "broken-dependency", "nightly": "missing-nightly",
               "spool": "spool-age"}.get(subject.split("/")[0], subject.split("/")[0])  # fmt: skip
    fields = {
        "measure": measure,
        "rule": measure,
        "owner": "fleet",
        "severity": "notify",
        "value": 40.0,
        "unit": "minutes",
        "threshold": 30.0,
        "opened_at": at,
    }
    evidence = Evidence(**fields | changes)
    return Known(subject=subject, outcome=outcome, reason="as before", at=at, evidence=evidence)


class Watch:
    """Looks again and again; what is news is recorded, as by the command."""

    def __init__(self, *alerts):
        self.rows = {}
        self.now = NOW
        self.known = tuple(alerts)
        self.silences = ()

    def look(self, *readings, unread=(), rules=None, minutes=5):
        self.now += minutes * MINUTE
        changes = judge(
            readings,
            unread=unread,
            known=self.known,
            rules=rules or load_rules(),
            silences=self.silences,
            now=self.now,
        )
        self.record(change_rows(changes, self.now))
        return changes

    def record(self, rows):
        before = {each.subject: each for each in self.known}
        found = read_recorded(row.model_dump() for row in rows)
        self.known = tuple((before | {each.subject: each for each in found.alerts}).values())
        self.silences += found.silences

    def news(self, *readings, **options):
        changes = self.look(*readings, **options)
        return [(each.kind, each.subject) for each in changes if each.kind in NEWS]


def failure(job="engine", change="#1", minutes_ago=1, **changes):
    fields = {
        "at": NOW - minutes_ago * MINUTE,
        "queue": "l4-1",
        "host": "l4-1-0",
        "job_key": job,
        "change": change,
        "failure_class": "dependency",
        "signature": "no matching distribution for attn-kernels",
        "line": "ERROR: No matching distribution found for attn-kernels",
        "took_s": 30.0,
    }
    return Failure(**fields | changes)
