"""Whether two sides of a sweep may be compared at all, and what of them. Pure."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from gauntlet.analyzer.frontier.points import FrontierPoint, gpus_of
from gauntlet.analyzer.measured import Measured, Side
from gauntlet.analyzer.verdict import Outcome

SIDES: tuple[Side, Side] = ("baseline", "candidate")


class Unusable(NamedTuple):
    """Why a band is not compared."""

    outcome: Outcome
    reason: str


def gpus_by_side(measured: Sequence[Measured]) -> dict[Side, set[int | None]]:
    """How many GPUs each side's valid repetitions had; None is among them where one is unknown."""
    return {
        side: {gpus_of(each) for each in measured if each.side == side and each.status == "valid"}
        for side in SIDES
    }


def common_points(points: Sequence[FrontierPoint]) -> list[FrontierPoint]:
    """Those at points that both sides have."""
    names = [{point.point for point in points if point.side == side} for side in SIDES]
    return [point for point in points if point.point in names[0] & names[1]]


def why_unusable(
    measured: Sequence[Measured],
    points: Sequence[FrontierPoint],
    usable: Sequence[FrontierPoint],
    *,
    across: bool,
) -> Unusable | None:
    """Say why a band is not compared; None where it is."""
    for side in SIDES:
        mine = [each for each in measured if each.side == side]
        refused = [each for each in mine if each.status != "valid"]
        if not any(point.side == side for point in points):
            if refused:
                why = f"{len(refused)} of {len(mine)} repetitions of the {side} unusable"
                return Unusable("invalid", f"{why}: {'; '.join(refused[0].reasons)}")
            what = "median TPOT and throughput" if mine else "anything of this sweep"
            return Unusable("missing", f"the {side} has not measured {what}")
    if not usable:
        return Unusable("missing", "the sides have no point in common")
    gpus = gpus_by_side(measured)
    # One side whose GPUs are known cannot be held against one whose are not.
    unknown = [side for side in SIDES if None in gpus[side]]
    if unknown and any(counts - {None} for counts in gpus.values()):
        hint = f"say them with ;gpus=N behind the selector of the {unknown[0]}"
        return Unusable("missing", f"the number of GPUs of the {unknown[0]} is not known: {hint}")
    return None if across else _changed(measured, {point.point for point in usable})


def _changed(measured: Sequence[Measured], points: set[str]) -> Unusable | None:
    prints: dict[str, dict[Side, set[str]]] = defaultdict(lambda: defaultdict(set))
    for each in measured:
        if each.status == "valid" and each.place.point in points:
            prints[each.place.point][each.side].add(each.config_fp)
    changed = sorted(p for p, sides in prints.items() if sides["baseline"] != sides["candidate"])
    if not changed:
        return None
    why = f"the configuration differs between the sides at {len(changed)} of {len(prints)} points"
    return Unusable("config-changed", f"{why}, such as {changed[0] or 'the only one'}")


def what_is_left_out(points: Sequence[FrontierPoint], usable: Sequence[FrontierPoint]) -> list[str]:
    """What only one side has measured is left out, and said."""
    kept = {point.point for point in usable}
    notes = []
    for side in SIDES:
        alone = sorted({p.point for p in points if p.side == side} - kept)
        if alone:
            notes.append(f"only the {side} has {', '.join(alone)}, left out")
    return notes
