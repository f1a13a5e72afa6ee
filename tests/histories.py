"""Makers of series and shapes; a test names only what it is about."""

import math
from datetime import UTC, date, datetime, timedelta

from gauntlet.analyzer.history.report import Described
from gauntlet.analyzer.history.series import Line, Night, Values, series_of_place
from gauntlet.analyzer.history.shape import Alarm, Change, Shape
from gauntlet.analyzer.measured import Place, Statistic

FIRST = date(2026, 1, 1)
PLACE = Place("nightly", "random", "concurrency=16", "m", "H200")
TPOT = Statistic("tpot_ms", "p50")
THROUGHPUT = Statistic("output_tokens_per_s", "total")


def night_of(index):
    return FIRST + timedelta(days=index)


def commit_of(index):
    return f"{index:07x}" + "0" * 33


def line(
    indices, *, fp="fp", configuration=None, driver="580", place=PLACE, series_id="s1", **changes
):
    """What one fingerprint was measured on; builds are named by their nights."""
    nights = {
        index: Night(
            night=night_of(index),
            began=datetime.combine(night_of(index), datetime.min.time(), UTC),
            engine_commit=commit_of(index),
            run_ids=(f"run{index}",),
            **changes,
        )
        for index in indices
    }
    return Line(
        series_id=series_id,
        place=place,
        config_fp=fp,
        driver=driver,
        configuration=configuration or {},
        builds=nights,
    )


def values(numbers, first=0, statistic=TPOT, direction="lower", unit="ms"):
    """Values by build; None is left out."""
    return Values(
        statistic=statistic,
        unit=unit,
        direction=direction,
        by_build={first + n: (v, 3) for n, v in enumerate(numbers) if v is not None},
    )


def series(numbers, *, statistic=TPOT, direction="lower", calendar=None, **changes):
    """A series under one fingerprint."""
    count = len(numbers)
    return series_of_place(
        [line(range(count), **changes)],
        [values(numbers, statistic=statistic, direction=direction)],
        calendar or [night_of(index) for index in range(count)],
    )


def change(index=20, effect=5.0, kind="step", **changes):
    fields = {
        "kind": kind,
        "index": index,
        "first": index,
        "last": index,
        "effect_percent": effect,
        "lower_percent": effect - 0.5,
        "upper_percent": effect + 0.5,
        "before": 10.0,
        "after": 10.0 * (1 + effect / 100),
        "n_before": 20,
        "n_after": 10,
        "p_value": 1e-6,
        "method": "made up",
    }
    return Change(**{**fields, **changes})


def alarm(index=29, effect=5.0, **changes):
    fields = {
        "index": index,
        "parent": index - 1,
        "points": 1,
        "effect_percent": effect,
        "lower_percent": effect - 1,
        "upper_percent": effect + 1,
        "z": math.copysign(6.0, effect),
        "p_value": 1e-5,
    }
    return Alarm(**{**fields, **changes})


def shape(*changes, alarm=None, **fields):
    known = {"level": 10.0, "level_from": 0, "noise_percent": 1.0, "n": 30}
    return Shape(changes=changes, alarm=alarm, **{**known, **fields})


def described(*shapes, numbers=(10.0,) * 30, **changes):
    """A series of thirty nights with a shape that is given instead of found."""
    return Described(series=series(list(numbers), **changes), shapes=shapes or (shape(),))
