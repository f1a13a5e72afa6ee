"""What an alert is called, so that the next night does not announce the same step again."""

from collections.abc import Iterable, Sequence

from gauntlet.analyzer.history.series import Night, Series

PREFIX = "history/"
# The place of a step moves a little while points come in.
_TOLERANCE = 2


def subject_of(series: Series, nights: Sequence[Night], index: int, *, rose: bool) -> str:
    """Name a change by its series, its direction and the build before it."""
    return f"{_stem(series, rose=rose)}/{_start(nights, index)}"


def recognise(
    series: Series, nights: Sequence[Night], index: int, *, rose: bool, known: Iterable[str]
) -> str:
    """Find the known subject of the same series and direction within two points, or make one."""
    stem = _stem(series, rose=rose)
    starts = {s.removeprefix(f"{stem}/") for s in known if s.startswith(f"{stem}/")}
    measured = [n for n, night in enumerate(nights) if night.measured]
    here = _rank(measured, index)
    distances = [
        (abs(_rank(measured, place + 1) - here), start)
        for place, night in enumerate(nights)
        for start in _names(night)
        if start in starts
    ]
    near = [found for found in distances if found[0] <= _TOLERANCE]
    return f"{stem}/{min(near)[1]}" if near else f"{stem}/{_start(nights, index)}"


def _stem(series: Series, *, rose: bool) -> str:
    return f"{PREFIX}{series.key}/{'rise' if rose else 'fall'}"


def _start(nights: Sequence[Night], index: int) -> str:
    """The build before a change; its night where no row names the build."""
    before = next((night for night in reversed(nights[:index]) if night.measured), None)
    return "start" if before is None else _names(before)[0]


def _names(night: Night) -> tuple[str, ...]:
    return (night.build, night.night.isoformat()) if night.build else (night.night.isoformat(),)


def _rank(measured: Sequence[int], index: int) -> int:
    """How many points were measured before one."""
    return sum(place < index for place in measured)
