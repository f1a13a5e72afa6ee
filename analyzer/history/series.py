"""One statistic of one place over its nights, cut where the configuration changes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from typing import Literal

from gauntlet.analyzer.measured import Place, Statistic

Direction = Literal["lower", "higher"]
NOT_MEASURED = "not measured"
NO_VALUE = "measured, but without this number"
_RECENT_NIGHTS = 7
"""A fingerprint that was measured in the last nights of its series is still in use."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """One build on one night, at one place: the median of its valid repetitions.

    ``value`` is NaN where nothing valid was measured, and ``reasons`` say why. ``n`` counts valid
    repetitions, ``refused`` the others.
    """

    night: date
    began: datetime | None = None
    value: float = math.nan
    n: int = 0
    refused: int = 0
    reasons: tuple[str, ...] = ()
    engine_commit: str = ""
    image_digest: str = ""
    hosts: tuple[str, ...] = ()
    run_ids: tuple[str, ...] = ()

    @property
    def measured(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self.value)

    @property
    def build(self) -> str:
        """What the build is called by: its commit, else its image; empty where neither is known."""
        return self.engine_commit or self.image_digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One setting that two configurations have different; None where one lacks it."""

    setting: str
    before: str | None
    after: str | None

    def __str__(self) -> str:
        """As people write it: ``OMP_NUM_THREADS 8 -> 16``."""
        return f"{self.setting} {_shown(self.before)} -> {_shown(self.after)}"


def _shown(value: str | None) -> str:
    if value is None:
        return "unset"
    return value if len(value) <= 40 else f"{value[:37]}..."


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """The nights under one fingerprint and driver, in order; only these are compared.

    ``differences`` are those from the segment before; empty where it is the first one, and where
    the fingerprint differs in something that no row tells. ``live``: measured lately.
    """

    config_fp: str
    driver: str
    configuration: Mapping[str, str]
    nights: tuple[Night, ...]
    differences: tuple[Difference, ...] = ()
    live: bool = True

    @property
    def values(self) -> list[float]:
        """Values by night, NaN where there is none."""
        return [night.value for night in self.nights]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Segments in the order in which their fingerprints appeared.

    A fingerprint that comes back goes on with its own nights; two machines that take turns have
    two live segments.
    """

    series_id: str
    place: Place
    statistic: Statistic
    unit: str
    direction: Direction
    segments: tuple[Segment, ...]

    @property
    def higher_is_better(self) -> bool:
        """Whether a rise is good."""
        return self.direction == "higher"

    @property
    def key(self) -> str:
        """Name in subjects of decisions."""
        return f"{self.series_id}/{self.statistic.metric}/{self.statistic.statistic}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """What one fingerprint of one place was measured on, before values are laid on it."""

    series_id: str
    place: Place
    config_fp: str
    driver: str
    configuration: Mapping[str, str]
    builds: Mapping[int, Night]


@dataclass(frozen=True, slots=True, kw_only=True)
class Values:
    """One statistic of one line: (value, number of valid repetitions) by build."""

    statistic: Statistic
    unit: str
    direction: Direction
    by_build: Mapping[int, tuple[float, int]] = field(default_factory=dict)


def series_of_place(
    lines: Sequence[Line],
    values: Sequence[Values | None],
    calendar: Sequence[date],
) -> Series | None:
    """Join the lines of one place into one series of one statistic.

    ``values`` stand beside their lines, None where a line has none of this statistic; ``calendar``
    are the nights on which anything was measured, in order. None where no line has values.
    """
    held = [(line, v) for line, v in zip(lines, values, strict=True) if v is not None]
    if not held:
        return None
    held.sort(key=lambda pair: min(_order(night) for night in pair[0].builds.values()))
    seen = sorted({night.night for line, _ in held for night in line.builds.values()})
    recent = seen[-_RECENT_NIGHTS:][0]
    segments: list[Segment] = []
    for line, value in held:
        others = {n.night for o, _ in held if o is not line for n in o.builds.values()}
        live = max(night.night for night in line.builds.values()) >= recent
        segment = Segment(
            config_fp=line.config_fp,
            driver=line.driver,
            configuration=line.configuration,
            nights=_nights(line, value, calendar, others, open_end=live),
            live=live,
        )
        if segments:
            told = differences(segments[-1].configuration, segment.configuration)
            segment = replace(segment, differences=told)
        segments.append(segment)
    line, value = held[-1]
    return Series(
        series_id=line.series_id,
        place=line.place,
        statistic=value.statistic,
        unit=value.unit,
        direction=value.direction,
        segments=tuple(segments),
    )


def _order(night: Night) -> tuple[date, float]:
    return night.night, night.began.timestamp() if night.began else 0.0


def _nights(
    line: Line, values: Values, calendar: Sequence[date], others: set[date], *, open_end: bool
) -> tuple[Night, ...]:
    """The nights of a segment, with holes where others were measured and this was not."""
    found = [_valued(night, values.by_build.get(b)) for b, night in line.builds.items()]
    own = {night.night for night in found}
    last = max(calendar) if open_end else max(own)
    holes = [
        Night(night=night, reasons=(NOT_MEASURED,))
        for night in calendar
        if min(own) < night <= last and night not in own and night not in others
    ]
    return tuple(sorted([*found, *holes], key=_order))


def _valued(night: Night, value: tuple[float, int] | None) -> Night:
    if value is None:
        return replace(night, reasons=night.reasons or (NO_VALUE,))
    return replace(night, value=value[0], n=value[1])


def differences(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[Difference, ...]:
    """Which settings differ, by name."""
    return tuple(
        Difference(setting=name, before=before.get(name), after=after.get(name))
        for name in sorted({*before, *after})
        if before.get(name) != after.get(name)
    )
