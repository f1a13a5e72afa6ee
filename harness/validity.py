"""When a repetition measured nothing that may be compared."""

from collections import Counter
from collections.abc import Sequence

from gauntlet.warehouse.conditions import CACHE_MARGIN
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


def judge_cache(
    hit_share: float | None, *, ideal: float | None, at_most: float | None = None
) -> tuple[str, ...]:
    """Reasons why a repetition measured the prefix cache rather than the engine.

    ``hit_share`` is the share of prompt tokens that the server answered from its cache, None where
    it does not say. ``ideal`` is what the prompts make possible by themselves: an unlimited cache,
    empty at first. More than that was left by an earlier repetition. ``at_most`` takes its place
    where the recipe gives it.
    """
    allowed = at_most if at_most is not None else None if ideal is None else ideal + CACHE_MARGIN
    if hit_share is None or allowed is None or hit_share <= allowed:
        return ()
    source = "the recipe allows" if at_most is not None else "the prompts themselves allow"
    share = f"{hit_share:.1%} of the prompt tokens came from the prefix cache"
    return (f"warm-cache: {share}, {source} {allowed:.1%}",)


def judge_reads(lag_p90_ms: float | None, gap_p50_ms: float | None) -> tuple[str, ...]:
    """Reasons why even the kernel's stamps do not help: reads waited longer than a token takes.

    A read that holds several segments has the stamp of the last one only.
    """
    if lag_p90_ms is None or gap_p50_ms is None or lag_p90_ms <= gap_p50_ms:
        return ()
    waited = f"a tenth of the reads waited over {lag_p90_ms:.1f} ms for the client"
    return (f"client-bound: {waited}, longer than the {gap_p50_ms:.1f} ms between tokens",)


def judge_dispatch(late_p99_ms: float | None, ttft_p50_ms: float | None) -> tuple[str, ...]:
    """Reasons why an open loop was none: requests left the client too late to call it so."""
    if late_p99_ms is None or ttft_p50_ms is None or late_p99_ms <= max(5.0, 0.1 * ttft_p50_ms):
        return ()
    late = f"1 % of the requests left over {late_p99_ms:.1f} ms behind schedule"
    return (f"client-bound: {late} (TTFT: {ttft_p50_ms:.1f} ms)",)
