"""One finding each: what the shape of a series says, with its numbers and in one sentence."""

from collections import Counter
from dataclasses import dataclass
from typing import NamedTuple

from gauntlet.analyzer.history.commits import CommitRange, Order, range_of
from gauntlet.analyzer.history.finding import Finding, FindingKind
from gauntlet.analyzer.history.identity import recognise
from gauntlet.analyzer.history.series import NOT_MEASURED, Night, Segment, Series
from gauntlet.analyzer.history.shape import Change, Shape
from gauntlet.analyzer.verdict import objective_label

_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What sentences about one series need: places of commits, and alerts that were recorded."""

    series: Series
    order: Order
    known: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """The statistic as people read it: ``TPOT p50``."""
        return objective_label("history/" + "/".join(self.series.statistic))

    def loss(self, effect_percent: float) -> float:
        """The effect, positive where it is worse."""
        return -effect_percent if self.series.higher_is_better else effect_percent


class _Said(NamedTuple):
    kind: FindingKind
    sentence: str


def change_finding(told: Told, segment: Segment, shape: Shape, number: int) -> Finding:
    """Say one change of a segment; ``number`` counts them."""
    change = shape.changes[number]
    commits = range_of(segment.nights, change.first, change.last, told.order)
    if change.kind in ("step", "recovery"):
        said = _step(told, segment, change, commits)
    else:
        said = _other(told, segment, change)
    undone = _undone(segment, shape, number)
    loss = None if change.kind == "variance" else told.loss(change.effect_percent)
    closing = f"; undone on {undone.night}" if undone else "" if segment.live else _OUT_OF_USE
    return Finding(
        kind=said.kind,
        subject=_subject(told, segment, change),
        reason=f"{said.sentence}{closing}",
        night=segment.nights[change.index].night,
        place=told.series.place,
        series_id=told.series.series_id,
        statistic=told.series.statistic,
        open=segment.live and undone is None and change.kind != "outlier",
        index=change.index,
        effect=change.effect_percent,
        lower=change.lower_percent,
        upper=change.upper_percent,
        loss=loss,
        n_before=change.n_before,
        n_after=change.n_after,
        before=change.before,
        after=change.after,
        value_unit=told.series.unit,
        p_value=change.p_value,
        method=change.method,
        commits=commits if change.kind in ("step", "recovery") else None,
        noise_percent=shape.noise_percent,
    )


_OUT_OF_USE = "; the configuration is no longer in use"


def _subject(told: Told, segment: Segment, change: Change) -> str:
    subject = recognise(
        told.series,
        segment.nights,
        change.index,
        rose=change.effect_percent > 0,
        known=told.known,
    )
    # Only steps are announced; what else begins at the same build needs a name of its own.
    return subject if change.kind in ("step", "recovery") else f"{subject}/{change.kind}"


def _step(told: Told, segment: Segment, change: Change, commits: CommitRange | None) -> _Said:
    night = segment.nights[change.index].night
    where = f"; it came with {commits}" if commits else ""
    sentence = f"{_moved(told, change)}, on {night}{where}"
    if told.loss(change.effect_percent) > 0:
        back = ", which undoes an earlier gain" if change.kind == "recovery" else ""
        return _Said("regression", f"{sentence}{back}")
    if change.kind == "recovery":
        return _Said("recovery", f"{sentence}; back to the level before")
    return _Said("improvement", sentence)


def _other(told: Told, segment: Segment, change: Change) -> _Said:
    night = segment.nights[change.index].night
    if change.kind == "drift":
        end = len(segment.nights) if change.end is None else change.end
        length = f"{end - change.index} nights from {night} on"
        way = "worse" if told.loss(change.effect_percent) > 0 else "better"
        text = (
            f"no culprit: {told.label} drifted {change.effect_percent:+.1f} % ({way}) over {length}"
        )
        return _Said("drift", text)
    if change.kind == "variance":
        text = f"{told.label} is where it was, but its spread changed by "
        return _Said("variance", f"{text}{change.effect_percent:+.0f} % on {night}")
    count = 1 if change.end is None else max(1, change.end - change.index)
    points = "one night" if count == 1 else f"{count} nights"
    text = f"{told.label} was {change.effect_percent:+.1f} % off for {points} on {night}"
    return _Said("outlier", f"{text}, and came back")


def _moved(told: Told, change: Change) -> str:
    verb = "rose" if change.effect_percent > 0 else "fell"
    low, high = sorted((abs(change.lower_percent), abs(change.upper_percent)))
    if change.lower_percent < 0 < change.upper_percent:
        low = 0.0
    return (
        f"{told.label} {verb} by {abs(change.effect_percent):.1f} % ({low:.1f} to {high:.1f}),"
        f" from {change.before:.4g} to {change.after:.4g} {told.series.unit}"
    )


def _undone(segment: Segment, shape: Shape, number: int) -> Night | None:
    """The night on which a recovery took a step back."""
    if shape.changes[number].kind not in ("step", "recovery"):
        return None
    later = [c for c in shape.changes[number + 1 :] if c.kind in ("step", "recovery")]
    if not later or later[0].kind != "recovery":
        return None
    return segment.nights[later[0].index]


def alarm_finding(told: Told, segment: Segment, shape: Shape) -> Finding:
    """Say the alarm at the end of a segment. Raises ValueError where there is none."""
    alarm = shape.alarm
    if alarm is None:
        msg = "no alarm"
        raise ValueError(msg)
    loss = told.loss(alarm.effect_percent)
    commits = range_of(segment.nights, alarm.index, alarm.index, told.order)
    nights = "the last night is" if alarm.points == 1 else f"the last {alarm.points} nights are"
    way = "worse" if loss > 0 else "better"
    sentence = f"{nights} {abs(alarm.effect_percent):.1f} % {way} in {told.label}"
    sentence += f" ({abs(alarm.z):.1f} deviations), first on {segment.nights[alarm.index].night}"
    rerun = f": rerun {commits}" if commits and loss > 0 else ""
    return Finding(
        kind="provisional",
        subject=recognise(
            told.series,
            segment.nights,
            alarm.index,
            rose=alarm.effect_percent > 0,
            known=told.known,
        ),
        reason=f"{sentence}; provisional{rerun}",
        night=segment.nights[alarm.index].night,
        place=told.series.place,
        series_id=told.series.series_id,
        statistic=told.series.statistic,
        index=alarm.index,
        parent_index=alarm.parent,
        effect=alarm.effect_percent,
        lower=alarm.lower_percent,
        upper=alarm.upper_percent,
        loss=loss,
        n_before=max(0, shape.n - alarm.points),
        n_after=alarm.points,
        before=shape.level,
        value_unit=told.series.unit,
        p_value=alarm.p_value,
        method="distance of the last points from the present level, in its own noise",
        commits=commits,
        noise_percent=shape.noise_percent,
    )


def configuration_finding(series: Series, before: Segment, after: Segment) -> Finding:
    """Say what differs from the segment before; their numbers are not compared."""
    first = min(after.nights, key=lambda night: night.night)
    shown = [str(each) for each in after.differences[:_SHOWN]]
    if len(after.differences) > _SHOWN:
        shown.append(f"{len(after.differences) - _SHOWN} more")
    what = ", ".join(shown) if shown else "in something that no row tells"
    return Finding(
        kind="config-changed",
        subject=f"history/{series.series_id}/config/{after.config_fp}",
        reason=f"config changed on {first.night}: {what}; not compared with the nights before",
        night=first.night,
        place=series.place,
        series_id=series.series_id,
        statistic=series.statistic,
        open=after.live,
        method=f"fingerprint {before.config_fp} -> {after.config_fp}",
        differences=after.differences,
    )


def hole_finding(series: Series, segment: Segment) -> Finding | None:
    """Say which nights of a segment have no number, and why; None where all have one."""
    holes = [night for night in segment.nights if not night.measured]
    if not holes:
        return None
    why = Counter(reason.partition(":")[0] for night in holes for reason in night.reasons)
    reasons = ", ".join(f"{count} {reason}" for reason, count in why.most_common(_SHOWN))
    last = segment.nights[-1]
    absent = all(night.reasons == (NOT_MEASURED,) for night in holes)
    return Finding(
        kind="missing" if absent else "invalid",
        subject=f"history/{series.series_id}/holes/{segment.config_fp}",
        reason=f"{len(holes)} of {len(segment.nights)} nights have no number: {reasons}",
        night=holes[-1].night,
        place=series.place,
        series_id=series.series_id,
        statistic=series.statistic,
        open=segment.live and not last.measured,
        method="nights on which anything was measured",
    )
