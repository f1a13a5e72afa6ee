"""Which repetitions are one sweep, and what it is called. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from gauntlet.analyzer.frontier.points import lengths_of
from gauntlet.analyzer.lengths import length_labels
from gauntlet.analyzer.measured import Measured, Place

# Means over many requests of one workload, whose lengths are drawn.
_SAME_BAND = 0.1


class Sweep(NamedTuple):
    """What one frontier is of; numbers of different ones are never compared."""

    recipe: str
    workload: str
    model: str
    accelerator: str
    band: str


def by_sweep(measured: Sequence[Measured], *, across: bool = False) -> dict[Sweep, list[Measured]]:
    """Group by what is comparable at all, and by length; a place's length is its mean.

    ``across`` recipes too: two configurations may have one each.
    """
    lengths: dict[Place, list[tuple[float, float]]] = defaultdict(list)
    for each in measured:
        if (length := lengths_of(each)) is not None:
            lengths[each.place].append(length)
    means = {
        place: (float(np.mean([i for i, _ in some])), float(np.mean([o for _, o in some])))
        for place, some in lengths.items()
    }
    labels = length_labels(list(means.values()), _SAME_BAND)
    found: dict[Sweep, list[Measured]] = defaultdict(list)
    for each in measured:
        place = each.place
        band = labels[means[place]] if place in means else ""
        recipe = "" if across else place.recipe
        key = Sweep(recipe, place.workload, place.model, place.accelerator, band)
        found[key].append(each)
    return dict(sorted(found.items()))


def subjects_of(sweeps: Iterable[Sweep]) -> dict[Sweep, str]:
    """``frontier/WORKLOAD/BAND``, with what else tells two sweeps apart before the workload."""
    plain = {sweep: f"{workload_of(sweep)}/{sweep.band or 'any'}" for sweep in sweeps}
    names = list(plain.values())
    found = {}
    for sweep, name in plain.items():
        more = (sweep.recipe, sweep.model, sweep.accelerator) if names.count(name) > 1 else ()
        found[sweep] = f"frontier/{' '.join([*filter(None, more), name])}"
    return found


def workload_of(sweep: Sweep) -> str:
    """The workload's name; of files, it ends in the band, which is said once."""
    return sweep.workload.removesuffix(f"-{sweep.band}") if sweep.band else sweep.workload
