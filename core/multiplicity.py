"""Many tests at once: what one of them is worth beside all the others."""

from collections.abc import Sequence


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for their number (Holm 1979); the order is kept.

    The chance that any true null hypothesis has an adjusted p-value below a level is at most that
    level, however the tests depend on each other.
    """
    count = len(p_values)
    order = sorted(range(count), key=lambda index: p_values[index])
    adjusted = [0.0] * count
    running = 0.0
    for rank, index in enumerate(order):
        running = max(running, min(1.0, (count - rank) * p_values[index]))
        adjusted[index] = running
    return adjusted
