"""When a repetition measured nothing that may be compared."""

from collections import Counter
from collections.abc import Sequence

from gauntlet.warehouse.rows.measurement import RepetitionStatus

_CLASSES_SHOWN = 3


def judge_failures(
    failures: Sequence[str], total: int, *, most_share: float
) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Judge a repetition of ``total`` requests by the classes of those that failed.

    No success at all: failed. More than ``most_share`` failures: invalid. Fewer: valid, with the
    reason noted.
    """
    if not total:
        return "failed", ("nothing came back",)
    if not failures:
        return "valid", ()
    commonest = Counter(failures).most_common(_CLASSES_SHOWN)
    kinds = ", ".join(f"{count} {kind}" for kind, count in commonest)
    reason = (f"{len(failures)} of {total} requests failed ({kinds})",)
    if len(failures) == total:
        return "failed", reason
    return ("invalid" if len(failures) > most_share * total else "valid"), reason
