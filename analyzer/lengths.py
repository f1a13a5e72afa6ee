"""Lengths of prompts and answers, and which of them are the same. Pure."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

# (input, output) tokens of a request on average.
Lengths = tuple[float, float]

# What random prompts of one kind differ by from seed to seed.
_SAME = 0.05


def length_labels(lengths: Sequence[Lengths], tolerance: float = _SAME) -> dict[Lengths, str]:
    """Name groups of (input, output) tokens that are the same within ``tolerance``: ``1024x128``.

    Lengths join the group of the next smaller ones that they are close to.
    """
    groups: dict[Lengths, list[Lengths]] = defaultdict(list)
    for each in sorted(set(lengths)):
        first = next((key for key in groups if _close(key, each, tolerance)), each)
        groups[first].append(each)
    names: dict[Lengths, str] = {}
    for members in groups.values():
        name = "x".join(f"{statistics.median(column):.0f}" for column in zip(*members, strict=True))
        names |= dict.fromkeys(members, name)
    return names


def _close(one: Lengths, other: Lengths, tolerance: float) -> bool:
    return all(abs(a - b) <= tolerance * max(a, b) for a, b in zip(one, other, strict=True))
