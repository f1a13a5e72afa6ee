"""Both sides of a comparison and what the analyzer says of them, in one visit to the warehouse."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from gauntlet.analyzer.compare_use import compare_stored
from gauntlet.analyzer.comparison.compare import Comparison
from gauntlet.analyzer.frontier.compare import compare_frontiers
from gauntlet.analyzer.frontier.report import FrontierReport
from gauntlet.analyzer.measured import Measured, Place, Side
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.store import Store

SIDES: tuple[Side, Side] = ("baseline", "candidate")
_LONGEST_SELECTOR = 250
_MOST_DRAWN = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFacts:
    """What one side is: how much was measured, when, on which builds and hosts.

    ``valid`` are the newest of its valid repetitions, as many as distributions are drawn of.
    """

    repetitions: int
    refused: int
    first: str
    last: str
    builds: tuple[str, ...]
    hosts: tuple[str, ...]
    valid: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparePage:
    """Everything that the page shows, but the distributions."""

    comparison: Comparison
    frontiers: FrontierReport
    sides: dict[Side, SideFacts]
    places: dict[Side, frozenset[Place]]


def load_comparison(store: Store, baseline: str, candidate: str) -> ComparePage:
    """Compare what two selectors name. Raises UsageError for what names nothing."""
    for text in (baseline, candidate):
        if len(text) > _LONGEST_SELECTOR:
            msg = f"a selector of {len(text)} characters"
            raise UsageError(msg, hint=f"at most {_LONGEST_SELECTOR}")
    found = compare_stored(store, baseline, candidate)
    return ComparePage(
        comparison=found.comparison,
        frontiers=compare_frontiers(found.measured),
        sides={side: facts_of(found.measured, side) for side in SIDES},
        places={
            side: frozenset(each.place for each in found.measured if each.side == side)
            for side in SIDES
        },
    )


def facts_of(measured: Sequence[Measured], side: Side) -> SideFacts:
    """Say what one side is."""
    mine = [each for each in measured if each.side == side]
    times = sorted(each.started_at for each in mine)
    usable = sorted(
        (each for each in mine if each.status == "valid"), key=lambda each: each.started_at
    )
    return SideFacts(
        repetitions=len(mine),
        refused=sum(each.status != "valid" for each in mine),
        first=times[0],
        last=times[-1],
        builds=_distinct(each.engine_commit or each.image_digest for each in mine),
        hosts=_distinct(each.host for each in mine),
        valid=tuple(each.repetition_id for each in usable)[-_MOST_DRAWN:],
    )


def _distinct(values: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({value for value in values if value}))


def load_distributions(store: Store, sides: dict[Side, SideFacts]) -> pd.DataFrame:
    """Distributions of the requests of both sides, as rows of the query request_quantiles."""
    parts = []
    for side, facts in sides.items():
        rows = store.query("request_quantiles", repetition_ids=",".join(facts.valid))
        parts.append(pd.DataFrame.from_records(rows).assign(side=side))
    return pd.concat([part for part in parts if len(part)] or parts[:1], ignore_index=True)
