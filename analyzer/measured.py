"""One repetition as the analyzer sees it, wherever it came from: the warehouse or files."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Side = Literal["baseline", "candidate", "single"]
Status = Literal["valid", "invalid", "failed"]


class Statistic(NamedTuple):
    """A statistic of a metric: ``tpot_ms``, ``p50``."""

    metric: str
    statistic: str


class Place(NamedTuple):
    """Where a number was measured: numbers of different places are never compared.

    Each series (one line over time) has one place; the fingerprint is not part of it, so that a
    change of configuration is seen and named instead of looking like an absence.
    """

    recipe: str
    workload: str
    point: str
    model: str
    accelerator: str

    def __str__(self) -> str:
        """As people write it, leaving out what is empty."""
        return " ".join(part for part in self if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One load repetition.

    ``session`` names the run whose turns were interleaved, empty where none were; ``pair`` counts
    pairs of turns within it (two pairs are a block A B B A) and ``position`` its turns.
    ``prompts`` is the digest of the exact prompts and times, empty where unknown. ``values`` holds
    what was observed, in the unit of the metric's name, None where nothing was.
    """

    repetition_id: str
    place: Place
    side: Side
    session: str
    pair: int
    position: int
    status: Status
    reasons: tuple[str, ...] = ()
    config_fp: str
    settings: Mapping[str, str] = field(default_factory=dict)
    host: str = ""
    driver: str = ""
    engine_commit: str = ""
    image_digest: str = ""
    started_at: str = ""
    prompts: str = ""
    completed: int = 0
    failed: int = 0
    values: Mapping[Statistic, float | None] = field(default_factory=dict)
