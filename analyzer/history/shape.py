"""The shape of one series: what changed, when, by how much, and how sure that is."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["step", "recovery", "drift", "outlier", "variance"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Something that happened to a series.

    ``index`` is the first point of the new level (of a drift: the first that leaves the old one; of
    an outlier: the outlier itself), ``first`` … ``last`` the points that hold it with 95 %, ``end``
    the first point of the level after a drift, or after the last outlier. Indices count missing
    points. ``effect_percent`` with its interval is the new level against the one before, positive
    where the value rose; of a variance change, the new spread against the one before. ``before``
    and ``after`` are those levels (spreads) in the unit of the series, over ``n_before`` and
    ``n_after`` points.
    """

    kind: Kind
    index: int
    first: int
    last: int
    end: int | None = None
    effect_percent: float
    lower_percent: float
    upper_percent: float
    before: float
    after: float
    n_before: int
    n_after: int
    p_value: float
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """The last one to three points are far from the present level: provisional, to be rerun.

    ``index`` is the suspect, the first of them; ``parent`` the last point of the present level.
    ``z`` is the distance in units of the noise of the level.
    """

    index: int
    parent: int
    points: int
    effect_percent: float
    lower_percent: float
    upper_percent: float
    z: float
    p_value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Stretch:
    """Points ``first`` … ``last`` of a series that lie around one level.

    ``lower`` … ``upper`` is the level's 95 % interval, None where no noise shows it. ``n`` counts
    the points that were measured.
    """

    first: int
    last: int
    value: float
    lower: float | None
    upper: float | None
    n: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """All of one series.

    ``levels`` are its levels in order of time; a ramp lies on none.

    ``level`` and ``noise_percent`` (relative sd of one point) are those of the present level, which
    began at ``level_from``; None where nothing was measured. ``reason`` says why nothing could be
    judged (too short, constant), empty otherwise.
    """

    changes: tuple[Change, ...] = ()
    levels: tuple[Stretch, ...] = ()
    alarm: Alarm | None = None
    level: float | None = None
    level_from: int | None = None
    noise_percent: float | None = None
    n: int = 0
    reason: str = ""
