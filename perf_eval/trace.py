"""Traces in Mooncake's format: read with every row checked, or generated from a seed.

A row is ``{"timestamp": ms, "input_length": tokens, "output_length": tokens, "hash_ids": [...]}``;
equal leading hash ids mean an equal prompt prefix, one id per block of tokens.
Format: Qin et al., Mooncake (FAST 2025).
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from pydantic import Field

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, read_text
from gauntlet.perf_eval.jsonl import read_jsonl

NATIVE_BLOCK = 512
_LFS_POINTER = "version https://git-lfs"


class TraceRow(StrictModel):
    """One arrival; the timestamp is in milliseconds, and a whole trace may be without any."""

    timestamp: float | None = Field(default=None, ge=0)
    input_length: int = Field(ge=1)
    output_length: int = Field(ge=1)
    hash_ids: tuple[int, ...] = Field(min_length=1)


@dataclass(frozen=True, slots=True)
class Arrival:
    """One request to send: when (seconds from start, if the trace says), what, and how long."""

    at_s: float | None
    prompt_tokens: int
    output_tokens: int
    hash_ids: tuple[int, ...]


def read_trace(path: Path) -> list[TraceRow]:
    """Read a JSONL trace; raise one ConfigError naming the bad lines (the first ten)."""
    if read_text(path).startswith(_LFS_POINTER):
        message = "this is a Git LFS pointer, not the trace; `git lfs pull` fetches it"
        raise ConfigError([Problem(file=str(path), message=message)])
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


def slice_rows(
    rows: Sequence[TraceRow],
    *,
    skip: int = 0,
    count: int | None = None,
    window_s: tuple[float, float] | None = None,
    length_scale: float = 1.0,
    max_output_tokens: int | None = None,
) -> list[Arrival]:
    """Cut ``count`` rows after ``skip`` (None: all), or those of a window in seconds, and scale.

    Times count from the first row's timestamp, so a trace may start at any. Raises ConfigError
    where the trace ends before the slice does, or where timestamps run backwards.
    """
    times = _timestamps(rows)
    if window_s is not None:
        if not times:
            message = "window_s asked, but the trace has no timestamps"
            raise ConfigError([Problem(file="trace", key="window_s", message=message)])
        start, end = (times[0] + 1000 * each for each in window_s)
        picked = [index for index, at in enumerate(times) if start <= at < end]
        wanted = f"seconds {window_s[0]:g}..{window_s[1]:g}"
    else:
        end_row = len(rows) if count is None else skip + count
        picked = list(range(skip, min(end_row, len(rows))))
        wanted = f"rows {skip}..{end_row - 1}"
    if not picked or (count is not None and len(picked) < count):
        span = f" in {(times[-1] - times[0]) / 1000:g} s" if times else ""
        msg = f"{wanted} asked, the trace has {len(rows)} rows{span}"
        raise ConfigError([Problem(file="trace", message=msg)])
    return [
        Arrival(
            at_s=(times[index] - times[picked[0]]) / 1000 if times else None,
            prompt_tokens=max(1, round(rows[index].input_length * length_scale)),
            output_tokens=_bounded(
                max(1, round(rows[index].output_length * length_scale)), max_output_tokens
            ),
            hash_ids=rows[index].hash_ids,
        )
        for index in picked
    ]


def _bounded(value: int, most: int | None) -> int:
    return value if most is None else min(value, most)


def _timestamps(rows: Sequence[TraceRow]) -> list[float]:
    """The timestamps in ms, none where the trace has none; they must not run backwards."""
    times = [row.timestamp for row in rows if row.timestamp is not None]
    if times and len(times) < len(rows):
        bare = next(n for n, row in enumerate(rows, start=1) if row.timestamp is None)
        msg = f"{len(rows) - len(times)} of {len(rows)} rows have no timestamp"
        raise ConfigError([Problem(file="trace", line=bare, message=msg)])
    for number, (one, other) in enumerate(pairwise(times), start=2):
        if other < one:
            msg = f"timestamps run backwards: {one:g} ms, then {other:g} ms"
            raise ConfigError([Problem(file="trace", line=number, message=msg)])
    return times
