"""Histories and nights of a warehouse: read, describe, judge."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any

from gauntlet.analyzer.history.commits import Order, Place
from gauntlet.analyzer.history.describe import describe
from gauntlet.analyzer.history.finding import Finding
from gauntlet.analyzer.history.identity import PREFIX
from gauntlet.analyzer.history.load import HistoryRequest, load_series
from gauntlet.analyzer.history.nightly import (
    NightReport,
    announced_before,
    judge_night,
    missing_findings,
    stale_findings,
)
from gauntlet.analyzer.history.report import (
    Described,
    HistoryReport,
    Rule,
    describe_all,
    judge_history,
    suspects,
)
from gauntlet.analyzer.history.reruns import Session, answer, plan_reruns
from gauntlet.analyzer.history.scores import judge_scores, score_of
from gauntlet.analyzer.measured import Statistic
from gauntlet.warehouse.store import Store

_SCORE_DAYS = 60
_AT_ONCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRequest:
    """What one night is judged by."""

    night: date
    days: int = 400
    rule: Rule = field(default_factory=Rule)
    margin_points: float = 2.0
    branch: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Series with their shapes, and what these say."""

    described: tuple[Described, ...]
    report: HistoryReport


def read_history(
    store: Store, request: HistoryRequest, rule: Rule, *, branch: str = "main"
) -> HistoryReport:
    """Judge the history of every series that is asked for."""
    return read_judged(store, request, rule, branch=branch).report


def read_judged(
    store: Store, request: HistoryRequest, rule: Rule, *, branch: str = "main"
) -> Judged:
    """Judge the history of every series that is asked for, and give the series too."""
    described = describe_all(load_series(store, request), describe)
    report = judge_history(
        described, rule, order=commit_order(store, suspects(described), branch=branch)
    )
    report = _with_reruns(store, report, request.statistics, rule)
    return Judged(described=tuple(described), report=report)


def read_night(store: Store, request: NightRequest) -> tuple[NightReport, list[dict[str, Any]]]:
    """Judge one night; also return the alerts that were recorded until now."""
    asked = HistoryRequest(night=request.night, days=request.days)
    described = describe_all(load_series(store, asked), describe)
    alerts = store.query("alerts", prefix=PREFIX, days=request.days)
    announced = announced_before(alerts, request.night)
    order = commit_order(store, suspects(described), branch=request.branch)
    report = judge_history(described, request.rule, order=order, known=announced)
    report = _with_reruns(store, report, asked.statistics, request.rule)
    rows = store.query("score_history", night=request.night, days=_SCORE_DAYS)
    scores = judge_scores(
        [score_of(row) for row in rows if not row["partial"]],
        request.night,
        margin_points=request.margin_points,
    )
    missing = missing_findings(store.query("missing_points", night=request.night), request.night)
    stale = stale_findings(report, _last_seen(described), request.night)
    findings = (*report.findings, *scores)
    reruns = plan_reruns(request.night, [f for f in findings if (f.loss or 0) > 0 and not f.minor])
    judged = judge_night(
        request.night,
        report,
        scores=scores,
        missing=missing,
        announced=announced,
        reruns=reruns,
    )
    fresh_stale = tuple(finding for finding in stale if finding.subject not in announced)
    return replace(judged, new=(*judged.new, *fresh_stale)), alerts


def commit_order(store: Store, builds: Iterable[str], *, branch: str) -> Order:
    """Places of builds in the merge order, of those that are commits of the branch."""
    commits = sorted(build for build in builds if not build.startswith("sha256:"))
    found: dict[str, Place] = {}
    for start in range(0, len(commits), _AT_ONCE):
        some = ",".join(commits[start : start + _AT_ONCE])
        for row in store.query("commit_positions", commits=some, branch=branch):
            found[row["sha"]] = Place(row["repository"], row["position"])
    return found


def _last_seen(described: Iterable[Described]) -> dict[str, date]:
    """The last night with a number, by series."""
    found: dict[str, date] = {}
    for each in described:
        nights = [n.night for s in each.series.segments for n in s.nights if n.measured]
        if nights:
            key = each.series.series_id
            found[key] = max(found.get(key, date.min), *nights)
    return found


def _with_reruns(
    store: Store, report: HistoryReport, statistics: Sequence[Statistic], rule: Rule
) -> HistoryReport:
    """Let reruns that were measured answer the alarms."""
    alarms = [f for f in report.findings if f.kind == "provisional" and f.commits is not None]
    if not alarms:
        return report
    sessions = _sessions(store, alarms, statistics)
    findings = answer(report.findings, sessions, rule.margin_percent)
    return replace(report, findings=tuple(sorted(findings, key=Finding.rank)))


def _sessions(
    store: Store, alarms: Sequence[Finding], statistics: Sequence[Statistic]
) -> list[Session]:
    ranges = [alarm.commits for alarm in alarms if alarm.commits is not None]
    builds = {build for commits in ranges for build in (commits.after, commits.until) if build}
    rows = store.query(
        "rerun_values",
        recipes=",".join(sorted({alarm.place.recipe for alarm in alarms})),
        builds=",".join(sorted(builds)),
        metrics=",".join("/".join(statistic) for statistic in statistics),
    )
    grouped: dict[tuple[str, ...], dict[str, list[float]]] = {}
    prints: dict[tuple[str, ...], set[str]] = {}
    for row in rows:
        key = (row["run_id"], row["series_id"], row["metric"], row["statistic"])
        build = row["engine_commit"] or row["image_digest"]
        grouped.setdefault(key, {}).setdefault(build, []).append(row["value"])
        prints.setdefault(key, set()).add(row["config_fp"])
    return [
        Session(series_id=key[1], metric=key[2], statistic=key[3], values=values)
        for key, values in grouped.items()
        # Two fingerprints in one session are two configurations: nothing to compare.
        if len(prints[key]) == 1
    ]
