"""The points of a chart. Pure."""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from gauntlet.analyzer.frontier.comparable import SIDES
from gauntlet.analyzer.frontier.geometry import Array, dominated, pareto
from gauntlet.analyzer.frontier.points import FrontierPoint
from gauntlet.analyzer.frontier.report import ShownPoint
from gauntlet.analyzer.measured import Side


def shown_points(points: Sequence[FrontierPoint]) -> tuple[ShownPoint, ...]:
    """One point of a chart for each point of a side: its geometric mean, and where it stands."""
    means: dict[Side, dict[str, tuple[float, float, int]]] = {}
    for side in SIDES:
        mine: dict[str, list[tuple[float, float]]] = defaultdict(list)
        for point in points:
            if point.side == side:
                mine[point.point].append((point.interactivity, point.throughput_per_gpu))
        means[side] = {
            name: (*(float(v) for v in np.exp(np.mean(np.log(some), axis=0))), len(some))  # type: ignore[misc]
            for name, some in mine.items()
        }
    found = []
    for side, other in zip(SIDES, reversed(SIDES), strict=True):
        x, y = _columns(means[side])
        by_x, by_y = _columns(means[other])
        front, beaten = pareto(x, y), dominated(x, y, by_x=by_x, by_y=by_y)
        found += [
            ShownPoint(
                side=side,
                point=name,
                interactivity=mean[0],
                throughput_per_gpu=mean[1],
                n=mean[2],
                on_frontier=bool(front[index]),
                dominated_by_other_side=bool(beaten[index]),
            )
            for index, (name, mean) in enumerate(means[side].items())
        ]
    return tuple(sorted(found, key=lambda p: (p.side, p.interactivity, p.point)))


def _columns(means: Mapping[str, tuple[float, float, int]]) -> tuple[Array, Array]:
    values = np.array([mean[:2] for mean in means.values()], dtype=float).reshape(-1, 2)
    return values[:, 0], values[:, 1]
