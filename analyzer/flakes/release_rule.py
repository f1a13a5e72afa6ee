"""When a test may leave quarantine: after enough clean runs in a row, or at its expiry."""

import math
from collections.abc import Sequence

WRONG = 0.05
"""Probability with which a flake that is as bad as ever may pass all runs that are asked for."""


def clean_runs_needed(rate: float, *, wrong: float = WRONG) -> int:
    """How many passes in a row a test of this failure rate has only with probability ``wrong``.

    n = ln(wrong) / ln(1 - rate), rounded up. Raises ValueError for a rate outside 0 to 1.
    """
    if not 0 < rate <= 1:
        msg = f"a failure rate is more than 0 and at most 1, not {rate}"
        raise ValueError(msg)
    if rate == 1:
        return 1
    return math.ceil(round(math.log(wrong) / math.log1p(-rate), 9))


def clean_runs_asked(rate: float, failures: int) -> int:
    """How many passes in a row are asked for after ``failures`` in quarantine.

    Each failure starts the count anew, and a flake that may try often enough passes in the end:
    each new try is granted a third of the probability of the one before.
    """
    return clean_runs_needed(rate, wrong=WRONG / 3**failures)


def clean_runs(failed: Sequence[bool]) -> int:
    """Passes in a row at the end of what ran in quarantine."""
    count = 0
    for bad in reversed(failed):
        if bad:
            break
        count += 1
    return count
