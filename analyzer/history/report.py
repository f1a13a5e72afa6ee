"""What happened to many series: findings that share one error budget, and where each one stands."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import TypedDict

from gauntlet.analyzer.history.adjust import benjamini_hochberg
from gauntlet.analyzer.history.commits import Order
from gauntlet.analyzer.history.finding import Finding, PlainFinding
from gauntlet.analyzer.history.series import Segment, Series
from gauntlet.analyzer.history.shape import Shape
from gauntlet.analyzer.history.single import unjudged
from gauntlet.analyzer.history.words import (
    Told,
    alarm_finding,
    change_finding,
    configuration_finding,
    hole_finding,
)
from gauntlet.analyzer.measured import Place, Statistic
from gauntlet.analyzer.verdict import Outcome

Describe = Callable[[Sequence[float]], Shape]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What counts: a loss of ``margin_percent``, with this share of false ones among findings."""

    margin_percent: float = 1.0
    false_discovery_rate: float = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """A series with the shape of each of its segments."""

    series: Series
    shapes: tuple[Shape, ...]

    def pairs(self) -> Iterable[tuple[Segment, Shape]]:
        """Segments with their shapes."""
        return zip(self.series.segments, self.shapes, strict=True)


class PlainState(TypedDict):
    """Where a series stands, as JSON."""

    series_id: str
    place: str
    metric: str
    statistic: str
    verdict: Outcome
    reason: str
    level: float | None
    unit: str
    since: str | None
    noise_percent: float | None
    n: int
    missing: int


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Where a series stands: the present level, in ``unit``, and since when it holds.

    ``noise_percent`` is the relative deviation of one night, ``missing`` counts nights without a
    number.
    """

    series_id: str
    place: Place
    statistic: Statistic
    verdict: Outcome
    reason: str
    level: float | None
    unit: str
    since: date | None
    noise_percent: float | None
    n: int
    missing: int

    def plain(self) -> PlainState:
        """As JSON."""
        return PlainState(
            series_id=self.series_id,
            place=str(self.place),
            metric=self.statistic.metric,
            statistic=self.statistic.statistic,
            verdict=self.verdict,
            reason=self.reason,
            level=self.level,
            unit=self.unit,
            since=None if self.since is None else self.since.isoformat(),
            noise_percent=self.noise_percent,
            n=self.n,
            missing=self.missing,
        )


class PlainHistory(TypedDict):
    """A report as JSON."""

    findings: list[PlainFinding]
    series: list[PlainState]


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryReport:
    """Findings in the order in which they are read, and the state of every series."""

    findings: tuple[Finding, ...]
    states: tuple[State, ...]

    def plain(self) -> PlainHistory:
        """As JSON."""
        return PlainHistory(
            findings=[finding.plain() for finding in self.findings],
            series=[state.plain() for state in self.states],
        )


def describe_all(series: Iterable[Series], describe: Describe) -> list[Described]:
    """Describe every segment of every series."""
    return [
        Described(series=one, shapes=tuple(describe(s.values) for s in one.segments))
        for one in series
    ]


def suspects(described: Iterable[Described]) -> set[str]:
    """Builds around anything that happened: those whose merge order is worth a question."""
    found: set[str] = set()
    for each in described:
        for segment, shape in each.pairs():
            spans = [(change.first, change.last) for change in shape.changes]
            if shape.alarm is not None:
                spans.append((shape.alarm.index, shape.alarm.index))
            for first, last in spans:
                before = [night for night in segment.nights[:first] if night.measured][-1:]
                after = [night for night in segment.nights[last:] if night.measured][:1]
                found |= {night.build for night in (*before, *after) if night.build}
    return found


def judge_history(
    described: Sequence[Described],
    rule: Rule,
    *,
    order: Order | None = None,
    known: Collection[str] = (),
) -> HistoryReport:
    """Turn shapes into findings.

    ``order`` are the places of commits in the merge order, ``known`` the subjects of alerts that
    were recorded: a change near one of them goes on under its name.
    """
    places: Mapping[str, Sequence[str]] = _by_series(known)
    found: list[Finding] = []
    for each in described:
        told = Told(
            series=each.series, order=order or {}, known=tuple(places.get(each.series.key, ()))
        )
        for segment, shape in each.pairs():
            found += [change_finding(told, segment, shape, n) for n in range(len(shape.changes))]
            if shape.alarm is not None and segment.live:
                found.append(alarm_finding(told, segment, shape))
    found = _adjusted(found, described, rule)
    found += _once_a_place(described)
    findings = tuple(sorted(found, key=Finding.rank))
    return HistoryReport(findings=findings, states=tuple(_states(described, findings)))


def _by_series(known: Collection[str]) -> dict[str, list[str]]:
    """Subjects by the series that they are about: history/SERIES/METRIC/STATISTIC/WAY/START."""
    found: dict[str, list[str]] = {}
    for subject in known:
        found.setdefault("/".join(subject.split("/")[1:4]), []).append(subject)
    return found


def _adjusted(
    found: Sequence[Finding], described: Sequence[Described], rule: Rule
) -> list[Finding]:
    """Adjust p-values over all segments, and decide what counts.

    Alarms are a family of their own: each segment that is in use has one at most. Outliers are left
    out, being expected.
    """
    quiet = sum(
        not any(change.kind != "outlier" for change in shape.changes)
        for each in described
        for shape in each.shapes
    )
    live = sum(segment.live for each in described for segment in each.series.segments)
    alarms = [f for f in found if f.kind == "provisional"]
    outliers = [f for f in found if f.kind == "outlier"]
    changes = [f for f in found if f.kind not in ("provisional", "outlier")]
    return [
        *_with(changes, len(changes) + quiet, rule),
        *_with(alarms, max(live, len(alarms)), rule),
        *(replace(finding, margin=rule.margin_percent, minor=True) for finding in outliers),
    ]


def _with(found: Sequence[Finding], tests: int, rule: Rule) -> list[Finding]:
    adjusted = benjamini_hochberg(
        [f.p_value if f.p_value is not None else 1.0 for f in found], tests
    )
    return [_judged(each, p, rule) for each, p in zip(found, adjusted, strict=True)]


def _judged(finding: Finding, adjusted_p: float, rule: Rule) -> Finding:
    # A step is seen sooner than its size: until its interval leaves 0, it accuses nobody.
    open_size = finding.kind != "provisional" and (finding.lower or 0) <= 0 <= (finding.upper or 0)
    chance = adjusted_p > rule.false_discovery_rate or open_size
    small = finding.loss is not None and abs(finding.loss) < rule.margin_percent
    reason = finding.reason
    if finding.kind in ("regression", "provisional") and small:
        reason += f"; below the margin of {rule.margin_percent:g} %, for information"
    elif finding.kind == "regression" and open_size:
        reason += "; the size is not certain yet"
    elif finding.kind == "regression" and chance:
        reason += f"; so many series show as much by chance (adjusted p {adjusted_p:.2g})"
    return replace(
        finding,
        adjusted_p=adjusted_p,
        margin=rule.margin_percent,
        reason=reason,
        blocking=finding.kind == "regression" and not small and not chance,
        minor=small or (chance and finding.kind != "provisional"),
    )


def _once_a_place(described: Sequence[Described]) -> list[Finding]:
    """Changes of configuration and holes: the same for all statistics of a place."""
    found: dict[str, Finding] = {}
    for each in described:
        series = each.series
        for before, after in zip(series.segments, series.segments[1:], strict=False):
            finding = configuration_finding(series, before, after)
            found.setdefault(finding.subject, finding)
        for segment in series.segments:
            hole = hole_finding(series, segment)
            if hole is not None:
                found.setdefault(hole.subject, hole)
    return list(found.values())


def _states(described: Sequence[Described], findings: Sequence[Finding]) -> list[State]:
    by_series: dict[tuple[str, Statistic], list[Finding]] = {}
    for finding in findings:
        by_series.setdefault((finding.series_id, finding.statistic), []).append(finding)
    states = []
    for each in described:
        series = each.series
        mine = by_series.get((series.series_id, series.statistic), [])
        live = [pair for pair in each.pairs() if pair[0].live] or list(each.pairs())[-1:]
        segment, shape = max(live, key=lambda pair: _last_night(pair[0]))
        verdict, reason = _verdict(mine, shape)
        since = None if shape.level_from is None else segment.nights[shape.level_from].night
        states.append(
            State(
                series_id=series.series_id,
                place=series.place,
                statistic=series.statistic,
                verdict=verdict,
                reason=reason or f"same since {since}",
                level=shape.level,
                unit=series.unit,
                since=since,
                noise_percent=shape.noise_percent,
                n=shape.n,
                missing=sum(not night.measured for night in segment.nights),
            )
        )
    return states


def _last_night(segment: Segment) -> date:
    return max((night.night for night in segment.nights if night.measured), default=date.min)


def _verdict(findings: Sequence[Finding], shape: Shape) -> tuple[Outcome, str]:
    """The word for a series, and why, where it is not simply the same."""
    held = [finding for finding in findings if finding.open]
    for finding in held:
        if finding.kind == "regression" and finding.blocking:
            return "worse", finding.reason
    for finding in held:
        if finding.kind == "provisional":
            return "inconclusive", finding.reason
    if shape.level is None:
        return "missing", shape.reason
    for finding in held:
        if finding.kind == "improvement" and abs(finding.effect or 0) >= (finding.margin or 0):
            return "better", finding.reason
    open_because = unjudged(shape)
    return ("inconclusive", open_because) if open_because else ("same", "")
