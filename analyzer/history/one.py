"""One series that somebody asks about: numbers of their own, or a series of the warehouse."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypedDict

from gauntlet.analyzer.history.describe import describe
from gauntlet.analyzer.history.load import load_one
from gauntlet.analyzer.history.series import Segment, Series
from gauntlet.analyzer.history.shape import Shape
from gauntlet.analyzer.history.single import (
    PlainShape,
    Reading,
    plain_shape,
    point_name,
    shape_lines,
)
from gauntlet.analyzer.measured import Statistic
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.store import open_store


class PlainPoint(TypedDict):
    """One night of a series, as JSON; ``value`` is None where it is missing, with reasons."""

    night: str
    value: float | None
    n: int
    refused: int
    reasons: list[str]
    engine_commit: str
    image_digest: str
    hosts: list[str]
    run_ids: list[str]


class PlainSegment(PlainShape):
    """A segment as JSON."""

    config_fp: str
    differences: list[str]
    points: list[PlainPoint]


class PlainOne(PlainShape):
    """A series of the warehouse as JSON: its last segment, and all of them."""

    series_id: str
    place: str
    metric: str
    statistic: str
    unit: str
    segments: list[PlainSegment]


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """A series of bare numbers with its shape."""

    shape: Shape
    reading: Reading

    def plain(self) -> PlainShape:
        """As JSON."""
        return plain_shape(self.shape, self.reading)

    def lines(self) -> list[str]:
        """For people."""
        return shape_lines(self.shape, self.reading)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stored:
    """A series of the warehouse with the shape of each of its segments."""

    series: Series
    shapes: tuple[Shape, ...]
    readings: tuple[Reading, ...]

    def plain(self) -> PlainOne:
        """As JSON."""
        segments = [
            _plain_segment(segment, shape, reading)
            for segment, shape, reading in zip(
                self.series.segments, self.shapes, self.readings, strict=True
            )
        ]
        return PlainOne(
            **plain_shape(self.shapes[-1], self.readings[-1]),
            series_id=self.series.series_id,
            place=str(self.series.place),
            metric=self.series.statistic.metric,
            statistic=self.series.statistic.statistic,
            unit=self.series.unit,
            segments=segments,
        )

    def lines(self) -> list[str]:
        """For people: each segment with what differs from the one before."""
        lines = [f"{self.series.place}  {' '.join(self.series.statistic)} in {self.series.unit}"]
        each = zip(self.series.segments, self.shapes, self.readings, strict=True)
        for number, (segment, shape, reading) in enumerate(each):
            if number:
                what = ", ".join(map(str, segment.differences)) or "in what no row tells"
                lines.append(f"config-changed on {segment.nights[0].night}: {what}")
            lines += shape_lines(shape, reading, self.series.unit)
        return lines


def _plain_segment(segment: Segment, shape: Shape, reading: Reading) -> PlainSegment:
    points = [
        PlainPoint(
            night=night.night.isoformat(),
            value=night.value if night.measured else None,
            n=night.n,
            refused=night.refused,
            reasons=list(night.reasons),
            engine_commit=night.engine_commit,
            image_digest=night.image_digest,
            hosts=list(night.hosts),
            run_ids=list(night.run_ids),
        )
        for night in segment.nights
    ]
    return PlainSegment(
        **plain_shape(shape, reading),
        config_fp=segment.config_fp,
        differences=[str(difference) for difference in segment.differences],
        points=points,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OneRequest:
    """How one series is read; ``direction`` None is that of the series, or lower."""

    direction: str | None = None
    margin_percent: float = 1.0

    def of_numbers(self, values: Sequence[float]) -> Numbers:
        """Describe bare numbers."""
        reading = Reading(self.direction == "higher", self.margin_percent, point_name)
        return Numbers(shape=describe(values), reading=reading)


def read_one(
    request: OneRequest, series_id: str, *, metric: str, statistic: str, days: int, location: str
) -> Stored:
    """Read and describe a series of the warehouse. Raises UsageError where there is none."""
    wanted = Statistic(metric, statistic)
    with open_store(location) as store:
        series = load_one(store, series_id, wanted, night=utc_now().date(), days=days)
    higher = (request.direction or series.direction) == "higher"
    readings = [
        Reading(higher, request.margin_percent, partial(_night_name, segment))
        for segment in series.segments
    ]
    shapes = tuple(describe(segment.values) for segment in series.segments)
    return Stored(series=series, shapes=shapes, readings=tuple(readings))


def _night_name(segment: Segment, index: int) -> str:
    return segment.nights[index].night.isoformat()
