"""When chains of requests start: pure functions of the arrivals, a count and a seed."""

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gauntlet.harness.load.seeds import generator
from gauntlet.perf_eval.workloads import (
    Arrivals,
    BurstArrivals,
    ClosedArrivals,
    ConstantArrivals,
    GammaArrivals,
    PoissonArrivals,
    RampArrivals,
    TimedArrivals,
)

_STAGGER_EACH_S = 0.02
_MOST_STAGGER_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """When each chain starts.

    ``due_s`` has one entry per chain, in order, or is None in a closed loop of ``streams`` streams
    that start ``stagger_s`` (one each). ``max_in_flight`` 0: nothing holds an open loop back.
    """

    due_s: tuple[float, ...] | None
    streams: int = 0
    stagger_s: tuple[float, ...] = ()
    max_in_flight: int = 0

    @property
    def label(self) -> str:
        """How the load is to be called: closed, open or burst."""
        if self.due_s is None:
            return "closed"
        return "burst" if not any(self.due_s) and len(self.due_s) > 1 else "open"


def schedule(
    arrivals: Arrivals, chains: int, *, seed: int, timestamps_s: Sequence[float | None] = ()
) -> Schedule:
    """Schedule ``chains`` chains; ``timestamps_s`` are those that the data give.

    Deterministic in all arguments. Raises ValueError where timed arrivals lack a timestamp.
    """
    if isinstance(arrivals, ClosedArrivals):
        streams = min(arrivals.concurrency, chains)
        return Schedule(due_s=None, streams=streams, stagger_s=_stagger(arrivals, streams))
    due = _due_times(arrivals, chains, generator("arrivals", seed), timestamps_s)
    return Schedule(due_s=tuple(due), max_in_flight=arrivals.max_concurrency or 0)


def _stagger(arrivals: ClosedArrivals, streams: int) -> tuple[float, ...]:
    spread = arrivals.stagger_s
    if spread is None:
        spread = min(_MOST_STAGGER_S, _STAGGER_EACH_S * (streams - 1))
    return tuple(spread * stream / streams for stream in range(streams))


def _due_times(
    arrivals: Arrivals,
    chains: int,
    rng: random.Random,
    timestamps_s: Sequence[float | None],
) -> list[float]:
    if isinstance(arrivals, TimedArrivals):
        return _timed(arrivals, timestamps_s)
    if isinstance(arrivals, BurstArrivals):
        return [0.0] * chains
    if isinstance(arrivals, RampArrivals):
        return list(_ramp(arrivals, chains, rng))
    gaps: dict[type, Callable[[], float]] = {
        ConstantArrivals: lambda: 1 / arrivals.rate,  # type: ignore[union-attr]
        PoissonArrivals: lambda: rng.expovariate(arrivals.rate),  # type: ignore[union-attr]
        GammaArrivals: lambda: rng.gammavariate(
            arrivals.burstiness,  # type: ignore[union-attr]
            1 / (arrivals.rate * arrivals.burstiness),  # type: ignore[union-attr]
        ),
    }
    draw = gaps[type(arrivals)]
    due, clock = [], 0.0
    for _ in range(chains):
        due.append(clock)
        clock += draw()
    return due


def _timed(arrivals: TimedArrivals, timestamps_s: Sequence[float | None]) -> list[float]:
    known = [each for each in timestamps_s if each is not None]
    if len(known) < len(timestamps_s) or not known:
        missing = len(timestamps_s) - len(known)
        msg = f"{missing} of {len(timestamps_s)} requests have no timestamp to be sent at"
        raise ValueError(msg)
    first = min(known)
    return [(each - first) * arrivals.time_scale for each in known]


def _ramp(arrivals: RampArrivals, chains: int, rng: random.Random) -> Iterator[float]:
    """Invert the integral of the rate: arrival ``i`` comes when ``i`` requests are due.

    The rate goes from ``r0`` to ``r1`` within the time T in which all chains fit: for a linear
    ramp T = 2 n / (r0 + r1), for an exponential one T = n ln(r1 / r0) / (r1 - r0).
    """
    r0, r1 = arrivals.start_rate, arrivals.end_rate
    done = 0.0
    for _ in range(chains):
        yield _ramp_time(done, chains, r0, r1, arrivals.shape)
        done += rng.expovariate(1.0) if arrivals.gaps == "poisson" else 1.0


def _ramp_time(done: float, total: int, r0: float, r1: float, shape: str) -> float:
    if math.isclose(r0, r1):
        return done / r0
    if shape == "linear":
        slope = (r1 - r0) / (2 * total / (r0 + r1))
        under = r0 * r0 + 2 * slope * done
        # Beyond the end of a falling ramp the last rate goes on.
        if under <= 0 or done > total:
            return 2 * total / (r0 + r1) + (done - total) / r1
        return (math.sqrt(under) - r0) / slope
    growth = (r1 - r0) / total
    inside = 1 + growth * done / r0
    if inside <= 0 or done > total:
        return math.log(r1 / r0) / growth + (done - total) / r1
    return math.log(inside) / growth
