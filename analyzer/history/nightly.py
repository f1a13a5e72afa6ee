"""One night: what is new, what is missing, what goes on; and one outcome."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple, TypedDict

from gauntlet.analyzer.history.finding import Finding, PlainFinding
from gauntlet.analyzer.history.identity import PREFIX
from gauntlet.analyzer.history.report import HistoryReport
from gauntlet.analyzer.history.reruns import RerunPlan
from gauntlet.analyzer.measured import Place, Statistic
from gauntlet.analyzer.verdict import Outcome
from gauntlet.core.errors import InvalidMeasurementError, NotQualifiedError
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow

FRESH_NIGHTS = 14
"""What began earlier is history when it is first seen, such as by the first night of all."""
_RUN = "nightly/"
# A step shows in some statistics of a recipe some nights before the others.
_SAME_CAUSE = timedelta(days=3)
# How much an alert says; a step that was announced as provisional is news once it is confirmed.
_WEIGHT = {"provisional": 1, "not-reproduced": 2}
_NEWS = frozenset(
    {"regression", "provisional", "improvement", "recovery", "config-changed", "drift",
     "variance", "not-reproduced"}
)  # fmt: skip


class Alert(NamedTuple):
    """What was announced: the kind of finding, of which recipe, and when that began."""

    outcome: str
    recipe: str
    night: date


class PlainNight(TypedDict):
    """A night as JSON."""

    night: str
    verdict: Outcome
    reason: str
    new: list[PlainFinding]
    missing: list[PlainFinding]
    joined: list[PlainFinding]
    ongoing: list[PlainFinding]
    unchanged: int
    series: int
    reruns: list[dict[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class NightReport:
    """What one night brought.

    ``new`` was not announced on an earlier night; ``missing`` are expected points without a valid
    repetition; ``joined`` are new losses of a recipe that lost something else on the same nights,
    which was announced; ``ongoing`` are losses that were announced or are old, and still hold.
    """

    night: date
    verdict: Outcome
    reason: str
    new: tuple[Finding, ...]
    missing: tuple[Finding, ...]
    joined: tuple[Finding, ...]
    ongoing: tuple[Finding, ...]
    unchanged: int
    series: int
    reruns: RerunPlan

    @property
    def regressions(self) -> tuple[Finding, ...]:
        """New losses that count."""
        return tuple(f for f in self.new if f.kind == "regression" and f.blocking)

    def plain(self) -> PlainNight:
        """As JSON."""
        return PlainNight(
            night=self.night.isoformat(),
            verdict=self.verdict,
            reason=self.reason,
            new=[finding.plain() for finding in self.new],
            missing=[finding.plain() for finding in self.missing],
            joined=[finding.plain() for finding in self.joined],
            ongoing=[finding.plain() for finding in self.ongoing],
            unchanged=self.unchanged,
            series=self.series,
            reruns=[rerun.model_dump(mode="json") for rerun in self.reruns.reruns],
        )


def judge_night(
    night: date,
    history: HistoryReport,
    *,
    scores: Sequence[Finding],
    missing: Sequence[Finding],
    announced: Mapping[str, Alert],
    reruns: RerunPlan,
) -> NightReport:
    """Sort what is known on one night.

    ``announced`` are the latest alerts of earlier nights by subject.
    """
    fresh: list[Finding] = []
    joining: list[Finding] = []
    ongoing: list[Finding] = []
    causes = [alert for alert in announced.values() if alert.outcome == "regression"]
    for finding in (*history.findings, *scores):
        if finding.kind not in _NEWS or finding.minor or not _in_force(finding):
            continue
        recent = finding.night > night - timedelta(days=FRESH_NIGHTS)
        if recent and _is_news(finding, announced):
            (joining if _joins(finding, causes) else fresh).append(finding)
        elif finding.kind == "regression" and finding.blocking:
            ongoing.append(finding)
    new = tuple(sorted(fresh, key=Finding.rank))
    verdict, reason = _outcome(new, missing, history)
    return NightReport(
        night=night,
        verdict=verdict,
        reason=reason,
        new=new,
        missing=tuple(sorted(missing, key=Finding.rank)),
        joined=tuple(sorted(joining, key=Finding.rank)),
        ongoing=tuple(sorted(ongoing, key=Finding.rank)),
        unchanged=sum(state.verdict == "same" for state in history.states),
        series=len(history.states),
        reruns=reruns,
    )


def _in_force(finding: Finding) -> bool:
    return finding.open or finding.kind == "not-reproduced"


def _joins(finding: Finding, causes: Sequence[Alert]) -> bool:
    """Whether a loss goes with one of the same recipe that was announced."""
    return finding.kind in ("regression", "provisional") and any(
        cause.recipe == finding.place.recipe and abs(cause.night - finding.night) <= _SAME_CAUSE
        for cause in causes
    )


def _is_news(finding: Finding, announced: Mapping[str, Alert]) -> bool:
    alert = announced.get(finding.subject)
    before = None if alert is None else alert.outcome
    if before is None:
        # What was not reproduced is worth a line only to those who were told of it.
        return finding.kind != "not-reproduced"
    return _WEIGHT.get(finding.kind, 3) > _WEIGHT.get(before, 3)


def _outcome(
    new: Sequence[Finding], missing: Sequence[Finding], history: HistoryReport
) -> tuple[Outcome, str]:
    """One word for the night, the gravest first."""
    worse = [finding for finding in new if finding.kind == "regression" and finding.blocking]
    if worse:
        places = {str(finding.place) for finding in worse}
        return "worse", f"{_count(len(worse), 'new regression')} at {_count(len(places), 'point')}"
    if not history.states and not missing:
        return "missing", "the warehouse has no nightly measurement of that time"
    if missing:
        absent = sum(finding.kind == "missing" for finding in missing)
        refused = len(missing) - absent
        verdict: Outcome = "missing" if absent else "invalid"
        return verdict, f"{_count(absent, 'expected point')} not measured, {refused} refused"
    provisional = [f for f in new if f.kind == "provisional" and (f.loss or 0) > 0]
    if provisional:
        alarms = _count(len(provisional), "provisional alarm")
        return "inconclusive", f"{alarms}: rerun before judging"
    return "same", "nothing new that counts"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"


def missing_findings(rows: Iterable[Mapping[str, Any]], night: date) -> list[Finding]:
    """Read rows of missing_points."""
    found = []
    for row in rows:
        absent = row["state"] == "missing"
        why = "was not measured" if absent else f"was refused: {'; '.join(row['reasons'])}"
        place = Place(row["recipe"], row["workload"], row["point"], "", row["accelerator"] or "")
        seen = (
            f"{row['nights_seen']} of the nights before have it, the last at {row['last_seen']:%F}"
        )
        found.append(
            Finding(
                kind="missing" if absent else "invalid",
                subject=f"{PREFIX}{row['series_id']}/missing/{night}",
                reason=f"{why}; {seen}",
                night=night,
                place=place,
                series_id=row["series_id"],
                statistic=Statistic("", ""),
                method="points that the nights before had",
            )
        )
    return found


def stale_findings(
    history: HistoryReport, last_seen: Mapping[str, date], night: date
) -> list[Finding]:
    """Series that nobody expects any more, because they have been missing for so long."""
    found: dict[str, Finding] = {}
    for state in history.states:
        last = last_seen.get(state.series_id)
        if last is None or last >= night - timedelta(days=FRESH_NIGHTS):
            continue
        ago = (night - last).days
        found[state.series_id] = Finding(
            kind="stale",
            subject=f"{PREFIX}{state.series_id}/stale/{last}",
            reason=f"not measured since {last}, {ago} nights ago: retired, or lost?",
            night=last,
            place=state.place,
            series_id=state.series_id,
            statistic=state.statistic,
        )
    return list(found.values())


def announced_before(alerts: Iterable[Mapping[str, Any]], night: date) -> dict[str, Alert]:
    """The latest alert about each subject that was recorded for an earlier night.

    Alerts of the fleet and other people's are told elsewhere: only the history's own are read.
    """
    found = {}
    for row in alerts:
        said = str(row["run_id"]).removeprefix(_RUN)
        own = row["subject"].startswith(PREFIX) and row["run_id"].startswith(_RUN)
        if own and said < night.isoformat():
            evidence = json.loads(row["evidence"])
            found[str(row["subject"])] = Alert(
                outcome=str(row["outcome"]),
                recipe=str(evidence["recipe"]),
                night=date.fromisoformat(evidence["night"]),
            )
    return found


def alert_rows(
    report: NightReport, alerts: Iterable[Mapping[str, Any]], at: datetime
) -> tuple[DecisionRow, ...]:
    """Decisions that this night adds; what it has recorded already is left out."""
    run_id = f"{_RUN}{report.night.isoformat()}"
    recorded = {(row["subject"], row["outcome"]) for row in alerts if row["run_id"] == run_id}
    return tuple(
        DecisionRow.of(
            run_id,
            "alert",
            finding.subject,
            finding.kind,
            reason=finding.reason,
            evidence=finding.plain(),
            at=at,
            blocking=finding.blocking,
        )
        for finding in (*report.new, *report.joined, *report.missing)
        if (finding.subject, finding.kind) not in recorded
    )


def record(
    report: NightReport, alerts: Iterable[Mapping[str, Any]], location: str, at: datetime
) -> None:
    """Record what this night adds, where it adds anything."""
    rows = alert_rows(report, alerts, at)
    if rows:
        deliver(location, [decision_batch(rows[0].run_id, "alerts", rows, at)])


def raise_for(report: NightReport) -> None:
    """End as the night did.

    Raises NotQualifiedError where a regression is new, else InvalidMeasurementError where expected
    points are missing or were refused: what was not measured has not passed.
    """
    if report.regressions:
        worst = report.regressions[0]
        raise NotQualifiedError(f"{report.reason}, such as {worst.place}: {worst.reason}")
    if report.verdict in ("missing", "invalid"):
        raise InvalidMeasurementError(
            report.reason, hint="`gauntlet warehouse query runs` says why"
        )
