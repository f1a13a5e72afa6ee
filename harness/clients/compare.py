"""Run several clients on the same loads, in turn, and set their figures side by side."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

from gauntlet.harness.clients.port import ClientLoad, ClientResult, LoadClient
from gauntlet.harness.clients.run import run_client
from gauntlet.harness.load.known_timing import Distribution, KnownTiming, Truth

# What differences are looked for in: metric, statistic, its name for people.
JUDGED = (
    ("ttft_ms", "mean", "TTFT mean"),
    ("ttft_ms", "p99", "TTFT p99"),
    ("tpot_ms", "mean", "TPOT mean"),
    ("output_tokens_per_s", "mean", "tokens/s"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What to run: every client on every load, ``repetitions`` times, each at most ``limit_s``."""

    clients: Sequence[LoadClient]
    loads: Sequence[ClientLoad]
    repetitions: int = 1
    limit_s: float = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One client's turn, planned; ``load`` has a seed that no other turn has."""

    client: LoadClient
    load: ClientLoad
    point: int
    repetition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRun:
    """One turn, done. ``truth`` is what a known-timing server did meanwhile."""

    load: ClientLoad
    point: int
    repetition: int
    result: ClientResult
    truth: Truth | None = None


def turns(comparison: Comparison) -> Iterator[Turn]:
    """Plan every turn: repetitions interleaved, the first client of each one rotating.

    A client that is not there has one turn for each load, so that it is told and not repeated. No
    turn repeats another's seed: two clients that make equal prompts would warm the cache for one
    another.
    """
    number = 0
    for point, load in enumerate(comparison.loads):
        for repetition in range(comparison.repetitions):
            first = repetition % len(comparison.clients)
            for client in (*comparison.clients[first:], *comparison.clients[:first]):
                if repetition and client.available() is not None:
                    continue
                seeded = replace(load, seed=load.seed + number)
                number += 1
                yield Turn(client=client, load=seeded, point=point, repetition=repetition)


def compare(
    comparison: Comparison,
    folder: Path,
    *,
    server: KnownTiming | None = None,
    tell: Callable[[ClientRun], object] = lambda _: None,
) -> list[ClientRun]:
    """Run all turns; ``server`` is asked for the truth after each. ``tell`` hears of each."""
    runs = []
    for turn in turns(comparison):
        if server is not None:
            server.reset()
        place = folder / f"{turn.point}-{turn.repetition}-{turn.client.name}"
        result = run_client(turn.client, turn.load, place, limit_s=comparison.limit_s)
        run = ClientRun(
            load=turn.load,
            point=turn.point,
            repetition=turn.repetition,
            result=result,
            truth=server.truth() if server is not None else None,
        )
        runs.append(run)
        tell(run)
    return runs


def medians(runs: Sequence[ClientRun], metric: str, statistic: str) -> float | None:
    """Median of a statistic over the valid runs that have it."""
    values = _values(runs, metric, statistic)
    return median(values) if values else None


def _values(runs: Sequence[ClientRun], metric: str, statistic: str) -> list[float]:
    found = (run.result.value(metric, statistic) for run in runs if run.result.status == "ok")
    return [value for value in found if value is not None]


def error_percent(run: ClientRun, metric: str, statistic: str) -> float | None:
    """How far a client was from the truth, in per cent of it; None where either is unknown."""
    if run.truth is None or run.result.status != "ok":
        return None
    truths: Mapping[str, Distribution | None] = {
        "ttft_ms": run.truth.ttft_ms,
        "itl_ms": run.truth.itl_ms,
    }
    measured, known = run.result.value(metric, statistic), truths.get(metric)
    if measured is None or known is None:
        return None
    true: float = known[statistic]  # type: ignore[literal-required]
    return 100 * (measured - true) / true


def differences(runs: Sequence[ClientRun]) -> str:
    """Say in one line which clients differ from the first by more than the repetitions do."""
    groups = by_client(runs)
    names = [name for name, own in groups.items() if any(r.result.status == "ok" for r in own)]
    if len(names) < 2:
        return "fewer than two clients measured anything: nothing to compare"
    first, others = names[0], names[1:]
    if min(_valid(groups[name]) for name in names) < 2:
        return "one valid repetition has no spread: --repetitions 3 tells differences from noise"
    found = [
        text
        for name in others
        for metric, statistic, label in JUDGED
        if (text := _difference(groups[first], groups[name], metric, statistic, f"{name} {label}"))
    ]
    if not found:
        return f"no difference from {first} exceeds the spread of the repetitions"
    return f"beyond the spread of the repetitions, against {first}: {'; '.join(found)}"


def _valid(runs: Sequence[ClientRun]) -> int:
    return sum(run.result.status == "ok" for run in runs)


def _difference(
    one: Sequence[ClientRun], other: Sequence[ClientRun], metric: str, statistic: str, label: str
) -> str:
    mine, theirs = _values(one, metric, statistic), _values(other, metric, statistic)
    if len(mine) < 2 or len(theirs) < 2:
        return ""
    gap = median(theirs) - median(mine)
    spread = max(max(mine) - min(mine), max(theirs) - min(theirs))
    return f"{label} {100 * gap / median(mine):+.1f} %" if abs(gap) > spread else ""


def by_client(runs: Sequence[ClientRun]) -> dict[str, list[ClientRun]]:
    """Group runs by client, in the order of the first repetition."""
    names = dict.fromkeys(run.result.client for run in runs)
    return {name: [run for run in runs if run.result.client == name] for name in names}
