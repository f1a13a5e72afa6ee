"""What one night's number varies by, learnt from the nights before: for sides of two sessions."""

import math
from collections.abc import Sequence
from datetime import date

from gauntlet.analyzer.comparison.effects import Noise
from gauntlet.analyzer.comparison.objectives import Spot
from gauntlet.analyzer.history.describe import describe
from gauntlet.analyzer.history.load import HistoryRequest, load_series
from gauntlet.analyzer.measured import Measured, Statistic
from gauntlet.warehouse.store import Store

LEAST_NIGHTS = 8
"""Fewer nights of one level say too little about their noise."""

_DAYS = 120


def noise_of_sessions(
    store: Store, measured: Sequence[Measured], statistics: Sequence[Statistic], *, until: date
) -> dict[tuple[Spot, Statistic], Noise]:
    """Noise between nights of what was measured, where history knows enough nights of it.

    Steps of the level are no noise: it is the spread around the present one.
    """
    kept = [each for each in measured if not each.session and each.place.recipe]
    recipes = tuple(sorted({each.place.recipe for each in kept}))
    if not recipes:
        return {}
    nights = {row["recipe"] for row in store.query("history_nights", night=until, days=_DAYS)}
    known = tuple(recipe for recipe in recipes if recipe in nights)
    if not known:
        return {}
    request = HistoryRequest(night=until, days=_DAYS, recipes=known, statistics=tuple(statistics))
    wanted = {(Spot.of(each.place), each.config_fp) for each in kept}
    found = {}
    for series in load_series(store, request):
        spot = Spot.of(series.place)
        for segment in series.segments:
            if (spot, segment.config_fp) in wanted:
                noise = _noise([night.value for night in segment.nights])
                if noise is not None:
                    found[spot, series.statistic] = noise
    return found


def _noise(values: Sequence[float]) -> Noise | None:
    shape = describe(values)
    if shape.level_from is None or not shape.noise_percent:
        return None
    nights = sum(not math.isnan(value) for value in values[shape.level_from :])
    if nights < LEAST_NIGHTS:
        return None
    return Noise(sd=math.log1p(shape.noise_percent / 100), df=nights - 1, source=f"{nights} nights")
