"""Many series at once: how many findings are chance."""

from collections.abc import Sequence


def benjamini_hochberg(p_values: Sequence[float], tests: int) -> list[float]:
    """Adjust p-values of ``tests`` tests, of which those not given found nothing.

    The share of false findings among those with an adjusted value of at most *q* is *q* on
    average (Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57). The order is kept. Raises
    ValueError where there are more p-values than tests.
    """
    count = len(p_values)
    if count > tests:
        msg = f"{count} p-values of {tests} tests"
        raise ValueError(msg)
    order = sorted(range(count), key=lambda index: p_values[index])
    adjusted = [1.0] * count
    running = 1.0
    for rank in range(count, 0, -1):
        index = order[rank - 1]
        # Rounding may not make it smaller than it was.
        running = min(running, max(p_values[index], p_values[index] * tests / rank))
        adjusted[index] = running
    return adjusted
