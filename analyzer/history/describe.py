"""Describe one series of values: levels, what changed between them, and an alarm at its end."""

from collections.abc import Sequence

from gauntlet.analyzer.history.shape import Shape


def describe(values: Sequence[float], *, false_alarm_rate: float = 0.005) -> Shape:
    """Describe a series in order of time; NaN where a point is missing.

    ``false_alarm_rate`` is the share of unchanged series' last points that raise an alarm. Raises
    ValueError for infinite values.
    """
    raise NotImplementedError
