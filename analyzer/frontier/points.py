"""From measured repetitions to points of a frontier."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gauntlet.analyzer.measured import Measured, Place, Side, Statistic

THROUGHPUT = Statistic("output_tokens_per_s", "total")
TPOT = Statistic("tpot_ms", "p50")
_REQUESTS = Statistic("requests_per_s", "total")
_INPUT = Statistic("input_tokens_per_s", "total")
_MS_PER_S = 1000.0


class Unit(NamedTuple):
    """What is resampled: a pair of a session, or the n-th repetition where nothing was paired."""

    session: str
    number: int


class Lengths(NamedTuple):
    """Tokens of a prompt and of an answer, on average; 0 where not known."""

    input_tokens: float
    output_tokens: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierPoint:
    """One repetition of one point of a sweep.

    ``throughput_per_gpu``: output tokens/s of the whole system over its GPUs. ``interactivity``:
    output tokens/s that one user sees, 1000 / median TPOT in ms. ``band`` names the lengths.
    """

    side: Side
    band: str
    point: str
    unit: Unit
    repetition_id: str
    throughput_per_gpu: float
    interactivity: float


def frontier_point(measured: Measured, *, band: str, unit: Unit, gpus: int) -> FrontierPoint | None:
    """Make the point of one repetition; None where it did not observe what is drawn."""
    throughput = _positive(measured.values.get(THROUGHPUT))
    tpot = _positive(measured.values.get(TPOT))
    if throughput is None or tpot is None:
        return None
    return FrontierPoint(
        side=measured.side,
        band=band,
        point=measured.place.point,
        unit=unit,
        repetition_id=measured.repetition_id,
        throughput_per_gpu=throughput / gpus,
        interactivity=_MS_PER_S / tpot,
    )


def _positive(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None


def lengths_of(measured: Measured) -> Lengths | None:
    """Lengths as settings say, else as the rates do; None where neither does."""
    settings = measured.settings
    try:
        return Lengths(float(settings["input_tokens"]), float(settings["output_tokens"]))
    except (KeyError, ValueError):
        requests = measured.values.get(_REQUESTS)
        prompts, answers = measured.values.get(_INPUT), measured.values.get(THROUGHPUT)
        if not requests or prompts is None or answers is None:
            return None
        return Lengths(prompts / requests, answers / requests)


def gpus_of(measured: Measured) -> int | None:
    """GPUs of the whole system; None where nothing says."""
    said = measured.settings.get("gpus", "")
    return int(said) if said.isdecimal() and int(said) > 0 else None


def units_of(measured: Sequence[Measured]) -> Mapping[str, Unit]:
    """The unit of each repetition, by its id.

    Without a session, the n-th repetition of every point of a side belongs together: a sweep is
    measured as a whole before it is repeated. Refused ones keep their number.
    """
    found: dict[str, Unit] = {}
    loose: dict[tuple[Side, Place], list[Measured]] = defaultdict(list)
    for each in measured:
        if each.session:
            found[each.repetition_id] = Unit(each.session, each.pair)
        else:
            loose[each.side, each.place].append(each)
    for some in loose.values():
        in_order = sorted(some, key=lambda each: (each.started_at, each.repetition_id))
        found |= {each.repetition_id: Unit("", number) for number, each in enumerate(in_order)}
    return found
