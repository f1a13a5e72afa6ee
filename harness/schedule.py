"""The order of a session: A B B A blocks, so that a drift of the machine hits both sides alike."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gauntlet.core.ids import digest

Side = Literal["baseline", "candidate", "single"]
_ORDER: tuple[Side, ...] = ("baseline", "candidate", "candidate", "baseline")
SLOTS_PER_BLOCK = len(_ORDER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One turn of one side. Both turns of a pair send the same prompts."""

    block: int
    pair: int
    position: int
    side: Side


def block_slots(block: int) -> Iterator[Slot]:
    """The four turns of block ``block`` (from 0): pair 2b is A B, pair 2b + 1 is B A."""
    for turn, side in enumerate(_ORDER):
        yield Slot(
            block=block,
            pair=2 * block + turn // 2,
            position=SLOTS_PER_BLOCK * block + turn,
            side=side,
        )


def single_slots(repetitions: int) -> Iterator[Slot]:
    """Turns of a run that compares nothing: one after the other, each a pair of its own."""
    for number in range(repetitions):
        yield Slot(block=number, pair=number, position=number, side="single")


def pair_seed(seed: int, pair: int, task: str = "") -> int:
    """Seed of a pair's prompts for one task: shared by its two sides, unlike any other.

    New prompts for every pair, and for every point of a sweep, keep a prefix cache from answering
    for the engine.
    """
    return int(digest([seed, pair, task])[:12], 16)
