"""Traces in Mooncake's format: read with every row checked, or generated from a seed.

A row is ``{"timestamp": ms, "input_length": tokens, "output_length": tokens, "hash_ids": [...]}``;
equal leading hash ids mean an equal prompt prefix, one id per block of tokens.
Format: Qin et al., Mooncake (FAST 2025).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel
from gauntlet.perf_eval.jsonl import read_jsonl

NATIVE_BLOCK = 512


class TraceRow(StrictModel):
    """One arrival; the timestamp is in milliseconds from the trace's own start."""

    timestamp: float = Field(ge=0)
    input_length: int = Field(ge=1)
    output_length: int = Field(ge=1)
    hash_ids: tuple[int, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request to send: when (seconds from start), what, and how long an answer."""

    at_s: float
    prompt_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...]


def read_trace(path: Path) -> list[TraceRow]:
    """Read a JSONL trace; raise one ConfigError naming the bad lines (the first ten)."""
    return read_jsonl(path, TraceRow)


def generate_trace(rows: int, seed: int) -> list[TraceRow]:
    """Generate a chat-like trace: bursty arrivals, conversations that share growing prefixes.

    Deterministic in ``rows`` and ``seed``. Mean gap 1.5 s; a fifth of the rows starts a new
    conversation, the others continue one of the last eight, whose prompt is then their prefix.
    """
    rng = random.Random(f"gauntlet-trace:{seed}")  # noqa: S311 - a workload, not a secret
    clock = 0.0
    next_id = 1
    system_block = 0
    recent: list[tuple[int, ...]] = []
    trace = []
    for _ in range(rows):
        clock += rng.gammavariate(0.7, 1500 / 0.7)
        if not recent or rng.random() < 0.2:
            prefix: tuple[int, ...] = (system_block,)
        else:
            prefix = rng.choice(recent[-8:])
        blocks = prefix
        for _ in range(rng.choice((1, 1, 2, 3))):
            blocks = (*blocks, next_id)
            next_id += 1
        blocks = blocks[:16]
        recent.append(blocks)
        length = (len(blocks) - 1) * NATIVE_BLOCK + rng.randint(1, NATIVE_BLOCK)
        output = min(2000, max(8, round(rng.lognormvariate(5.5, 0.8))))
        trace.append(
            TraceRow(
                timestamp=round(clock),
                input_length=length,
                output_length=output,
                hash_ids=blocks,
            )
        )
    return trace


def slice_arrivals(
    rows: Sequence[TraceRow],
    *,
    skip: int,
    count: int,
    time_scale: float,
    length_scale: float,
    max_output_tokens: int,
) -> list[Arrival]:
    """Cut a slice, move its first arrival to 0 s and scale it.

    Raises ConfigError where the trace ends before the slice does.
    """
    chosen = rows[skip : skip + count]
    if len(chosen) < count:
        msg = f"rows {skip}..{skip + count - 1} asked, the trace has {len(rows)}"
        raise ConfigError([Problem(file="trace", message=msg)])
    start = chosen[0].timestamp
    return [
        Arrival(
            at_s=(row.timestamp - start) / 1000 * time_scale,
            prompt_tokens=max(1, round(row.input_length * length_scale)),
            output_tokens=min(max_output_tokens, max(1, round(row.output_length * length_scale))),
            hash_ids=row.hash_ids,
        )
        for row in chosen
    ]
