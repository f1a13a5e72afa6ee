"""Points of two sides as arrays of units by points. Pure."""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from gauntlet.analyzer.frontier.comparable import SIDES
from gauntlet.analyzer.frontier.points import FrontierPoint, Unit
from gauntlet.analyzer.frontier.resample import Sample, Sides


def sides_of(points: Sequence[FrontierPoint], *, across: bool = False) -> Sides:
    """Lay points out as arrays; paired where both sides have the same units of a session."""
    by_side = {side: [point for point in points if point.side == side] for side in SIDES}
    units = [{point.unit for point in by_side[side]} for side in SIDES]
    both = sorted(unit for unit in units[0] & units[1] if unit.session)
    columns = [sorted({point.point for point in by_side[side]}) for side in SIDES]
    paired = bool(both) and not across
    rows = [both, both] if paired else [sorted(each) for each in units]
    samples = [
        _sample(by_side[side], rows[index], columns[index]) for index, side in enumerate(SIDES)
    ]
    baseline, candidate = _masked(*samples) if paired else samples
    return Sides(baseline=baseline, candidate=candidate, paired=paired, matched=not across)


def _sample(
    points: Sequence[FrontierPoint], units: Sequence[Unit], columns: Sequence[str]
) -> Sample:
    """Mean logs by unit and point; a unit that measured a point twice has their mean."""
    cells: dict[tuple[Unit, str], list[tuple[float, float]]] = defaultdict(list)
    for point in points:
        logs = (float(np.log(point.interactivity)), float(np.log(point.throughput_per_gpu)))
        cells[point.unit, point.point].append(logs)
    grid = np.full((2, len(units), len(columns)), np.nan)
    for row, unit in enumerate(units):
        for column, name in enumerate(columns):
            if found := cells.get((unit, name)):
                grid[:, row, column] = np.mean(found, axis=0)
    return Sample(interactivity=grid[0], throughput=grid[1])


def _masked(baseline: Sample, candidate: Sample) -> list[Sample]:
    """A pair counts at a point only where both of its turns do, and not at all without a point."""
    lacking = np.isnan(baseline.interactivity) | np.isnan(candidate.interactivity)
    rows = ~lacking.all(axis=1)
    return [
        Sample(
            interactivity=np.where(lacking, np.nan, each.interactivity)[rows],
            throughput=np.where(lacking, np.nan, each.throughput)[rows],
        )
        for each in (baseline, candidate)
    ]
