"""What any load generator's result file says, in our names and units."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import Any

from gauntlet.warehouse.rows.measurement import Direction

# Ours: name -> unit, direction.
METRICS: dict[str, tuple[str, Direction]] = {
    "ttft_ms": ("ms", "lower"),
    "tpot_ms": ("ms", "lower"),
    "itl_ms": ("ms", "lower"),
    "e2e_ms": ("ms", "lower"),
    "requests_per_s": ("requests/s", "higher"),
    "goodput_requests_per_s": ("requests/s", "higher"),
    "input_tokens_per_s": ("tokens/s", "higher"),
    "output_tokens_per_s": ("tokens/s", "higher"),
    "total_tokens_per_s": ("tokens/s", "higher"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """One number as the file gave it, in our unit; ``field`` is its key in the file."""

    field: str
    metric: str
    statistic: str
    window: str
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """One request; times in ms, None where it failed before."""

    index: int
    error: str
    prompt_tokens: int | None
    output_tokens: int | None
    sent_ms: float
    ttft_ms: float | None
    itls_ms: Sequence[float]
    e2e_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnMark:
    """Which turn of which block a file is of, where whoever measured it wrote that into it.

    ``variant`` names the server, ``order`` counts the turns of a block from 0.
    """

    variant: str
    block: int
    order: int


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchReport:
    """A result file in plain words. ``problems`` are fields that could not be read at all."""

    client: str
    client_version: str
    model: str
    started_at: datetime | None
    duration_s: float | None
    asked: int | None
    completed: int
    failed: int
    input_tokens: float | None
    output_tokens: float | None
    concurrency: int | None
    values: tuple[Value, ...]
    requests: tuple[Observed, ...]
    settings: Mapping[str, str]
    problems: tuple[str, ...]
    turn: TurnMark | None = None

    @property
    def silent(self) -> int:
        """Requests that the program counts as completed although no token came back."""
        return max(0, sum(bool(each.error) for each in self.requests) - self.failed)


class Reader:
    """Takes numbers out of a foreign object and notes what is no number."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.data = data
        self.problems: list[str] = []

    def number(self, key: str) -> float | None:
        """A number; None where there is none."""
        value = self.data.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            self.problems.append(f"{key}: {value!r} is no number")
            return None
        return float(value)

    def count(self, key: str) -> int | None:
        """A whole number from 0 on; None where there is none."""
        value = self.number(key)
        if value is None:
            return None
        if not math.isfinite(value) or value < 0 or value != int(value):
            self.problems.append(f"{key}: {value} is no count")
            return None
        return int(value)

    def instant(self, key: str, zone: tzinfo) -> datetime | None:
        """An ISO 8601 time; ``zone`` is meant where it gives none."""
        text = self.data.get(key)
        if text is None:
            return None
        try:
            found = datetime.fromisoformat(str(text))
        except ValueError:
            self.problems.append(f"{key}: {text!r} is no ISO 8601 time")
            return None
        return found if found.tzinfo else found.replace(tzinfo=zone)
