"""Frontiers of two things of which more is better: interactivity (x) and throughput per GPU (y).

Pure. Functions take x and y with points along the last axis and any number of axes before it; a
point that is NaN is not there.
"""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


class Corner(NamedTuple):
    """Where an area is counted from, in the units of the points.

    The origin, 0 tokens/s for a user and 0 tokens/s of a GPU, is no choice that data could make
    look good, and both sides share it whatever they reach.
    """

    interactivity: float = 0.0
    throughput_per_gpu: float = 0.0


ORIGIN = Corner()


def pareto(x: Array, y: Array) -> Mask:
    """Say which points no other one dominates.

    A point is dominated where another is at least as good in both and better in one; of equal
    points none dominates the other.
    """
    return np.logical_not(dominated(x, y, by_x=x, by_y=y))


def dominated(x: Array, y: Array, *, by_x: Array, by_y: Array) -> Mask:
    """Say which points are dominated by one of others; points that are not there are not."""
    one_x, one_y = x[..., :, None], y[..., :, None]
    other_x, other_y = by_x[..., None, :], by_y[..., None, :]
    as_good = (other_x >= one_x) & (other_y >= one_y)
    better = (other_x > one_x) | (other_y > one_y)
    found: Mask = np.any(as_good & better, axis=-1)
    return found


def hypervolume(x: Array, y: Array, reference: Corner = ORIGIN) -> Array:
    """Area that the points dominate, from ``reference`` on: tokens/s/user x tokens/s/GPU.

    At each interactivity, the best throughput of the points that offer at least that much counts.
    """
    width = np.nan_to_num(np.maximum(x - reference.interactivity, 0.0), nan=0.0)
    height = np.nan_to_num(np.maximum(y - reference.throughput_per_gpu, 0.0), nan=0.0)
    height = np.where(width > 0, height, 0.0)
    order = np.argsort(-width, axis=-1, kind="stable")
    width = np.take_along_axis(width, order, axis=-1)
    best = np.maximum.accumulate(np.take_along_axis(height, order, axis=-1), axis=-1)
    steps = width - np.concatenate([width[..., 1:], np.zeros_like(width[..., :1])], axis=-1)
    area: Array = (steps * best).sum(axis=-1)
    return area


def hypervolume_ratio(
    baseline: tuple[Array, Array], candidate: tuple[Array, Array], reference: Corner = ORIGIN
) -> Array:
    """Candidate's area over the baseline's; NaN where the baseline has none."""
    area = hypervolume(*baseline, reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio: Array = np.where(area > 0, hypervolume(*candidate, reference) / area, np.nan)
    return ratio


def throughput_at(x: Array, y: Array, interactivity: float) -> Array:
    """Throughput per GPU that a frontier gives at one interactivity, NaN where it does not reach.

    Between the frontier's neighbours both axes are read on a log scale, which keeps the curve
    falling. Nothing is read beyond the ends.
    """
    flat_x, flat_y = x.reshape(-1, x.shape[-1]), y.reshape(-1, y.shape[-1])
    front = pareto(flat_x, flat_y) & np.isfinite(flat_x) & np.isfinite(flat_y)
    found = np.full(len(flat_x), np.nan)
    target = np.log(interactivity)
    for row, keep in enumerate(front):
        if not keep.any():
            continue
        at, height = np.log(flat_x[row, keep]), np.log(flat_y[row, keep])
        order = np.argsort(at)
        if at[order[0]] <= target <= at[order[-1]]:
            found[row] = np.exp(np.interp(target, at[order], height[order]))
    return found.reshape(x.shape[:-1])


def common_range(
    baseline: tuple[Array, Array], candidate: tuple[Array, Array]
) -> tuple[float, float] | None:
    """Interactivities that both frontiers reach; None where there are none, or a single one."""
    ends = []
    for x, y in (baseline, candidate):
        front = x[pareto(x, y) & np.isfinite(x)]
        if not front.size:
            return None
        ends.append((float(front.min()), float(front.max())))
    low, high = max(end[0] for end in ends), min(end[1] for end in ends)
    return (low, high) if low < high else None


def equal_interactivities(
    baseline: tuple[Array, Array], candidate: tuple[Array, Array], count: int = 3
) -> list[float]:
    """A few interactivities inside the common range, evenly spaced on a log scale.

    They are rounded to two digits where that keeps them inside.
    """
    common = common_range(baseline, candidate)
    if common is None:
        return []
    low, high = common
    found = []
    for share in np.arange(1, count + 1) / (count + 1):
        exact = float(np.exp((1 - share) * np.log(low) + share * np.log(high)))
        rounded = float(f"{exact:.2g}")
        found.append(rounded if low < rounded < high else exact)
    return list(dict.fromkeys(found))


def at_equal_interactivity(
    baseline: tuple[Array, Array], candidate: tuple[Array, Array], count: int = 3
) -> dict[float, float]:
    """Candidate's throughput over the baseline's at a few interactivities that both reach."""
    return {
        at: float(throughput_at(*candidate, at) / throughput_at(*baseline, at))
        for at in equal_interactivities(baseline, candidate, count)
    }
