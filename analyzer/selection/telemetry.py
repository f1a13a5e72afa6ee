"""Telemetry beside result files: did a repetition measure the prefix cache, or a GPU held back?

JSON Lines, one look each: ``t`` (Unix seconds), ``gpu`` (columns of nvidia-smi: utilisation %,
memory MiB, power W, SM clock MHz, temperature °C, throttle bits; a line per GPU) and, under the
name of each server, the counters of its /metrics. Telemetry in the warehouse was judged when it
was measured.
"""

import gzip
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, FiniteFloat

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.json_file import parse_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.conditions import CACHE_MARGIN, UNFIT_BITS, throttle_reasons

_QUERIES = ("vllm:prefix_cache_queries_total",)
# What another server or a store of KV blocks gave is as little computed as what was at hand.
_HITS = ("vllm:prefix_cache_hits_total", "vllm:external_prefix_cache_hits_total")
# `date` has whole seconds, cut off: a file ended up to one later.
_DATE_STEP_S = 1.0
# The counters must have grown by about the prompts of the file, or they are not about it.
_LEAST_OF_PROMPTS, _MOST_OF_PROMPTS = 0.5, 2.0
_GPU_COLUMNS = 6

# Prompt tokens looked up in the prefix cache, and those found there.
Counts = tuple[float, float]


class _Line(StrictModel):
    """One line; what is neither ``t`` nor ``gpu`` is a server."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, dict[str, FiniteFloat] | None]

    t: Annotated[FiniteFloat, Field(ge=0)]
    gpu: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """One look: when (Unix seconds), the throttle bits of all GPUs, each server's counters."""

    at: float
    throttle_bits: int | None
    servers: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One repetition: Unix seconds, the server it asked (empty: not known), its prompt tokens."""

    start: float
    end: float
    server: str
    prompt_tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Reasons to refuse a repetition, and notes about what could not be seen."""

    refused: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def read_looks(path: Path) -> list[Look]:
    """Read a telemetry file (``.jsonl`` or ``.jsonl.gz``) in order of time.

    Raises ConfigError that names the file and line of what is wrong.
    """
    try:
        data = path.read_bytes()
        text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(file=str(path), message=f"cannot be read: {error}")]) from error
    looks = [
        _look(parse_json_model(line, _Line, file=f"{path}:{number}"))
        for number, line in enumerate(text.splitlines(), start=1)
        if line.strip()
    ]
    return sorted(looks, key=lambda look: look.at)


def _look(line: _Line) -> Look:
    extra = line.__pydantic_extra__
    return Look(
        at=line.t,
        throttle_bits=_bits(line.gpu),
        servers={name: counters for name, counters in extra.items() if counters},
    )


def _bits(text: str) -> int | None:
    """Bits of all GPUs together; None where a column is missing or no number."""
    found = None
    for line in text.splitlines():
        columns = [column.strip() for column in line.split(",")]
        if len(columns) != _GPU_COLUMNS:
            continue
        try:
            found = (found or 0) | int(columns[-1], 0)
        except ValueError:
            continue
    return found


def judge_window(window: Window, looks: Sequence[Look]) -> Judged:
    """Say what telemetry has against one repetition."""
    refused: list[str] = []
    notes: list[str] = []
    share = cache_share(window, looks)
    if isinstance(share, str):
        notes.append(share)
    elif share > CACHE_MARGIN:
        said = f"{share:.0%} of prompt tokens came from the prefix cache (telemetry)"
        refused.append(f"warm-cache: {said}")
    inside = [look for look in looks if window.start <= look.at <= window.end]
    bits = [look.throttle_bits for look in inside if look.throttle_bits is not None]
    held = [value & UNFIT_BITS for value in bits if value & UNFIT_BITS]
    if held:
        together = 0
        for value in held:
            together |= value
        why = ", ".join(throttle_reasons(together))
        refused.append(f"throttled: {why} in {len(held)} of {len(bits)} looks (telemetry)")
    return Judged(refused=tuple(refused), notes=tuple(notes))


def cache_share(window: Window, looks: Sequence[Look]) -> float | str:
    """Share of prompt tokens that came from the prefix cache, or why it cannot be told.

    A file's end is known to the second and looks come once a second, so that the repetitions before
    and after may leak in. Of the looks around either end, those count between which the queried
    tokens grew by as nearly as can be the file's own.
    """
    told = [(look.at, counts) for look in looks if (counts := _counts(look, window.server))]
    bases, ends = _before(told, window.start), _after(told, window.end)
    if not bases or not ends:
        return "telemetry: does not cover the repetition, a warm cache is not excluded"
    grown = [(end[0] - base[0], end[1] - base[1]) for base, end in product(bases, ends)]
    queries, hits = grown[-1]
    if window.prompt_tokens is not None:
        queries, hits = _nearest(grown, window.prompt_tokens)
    if queries <= 0 or hits < 0:
        return "telemetry: the server counted no prompt tokens, or started anew"
    if window.prompt_tokens is not None:
        ratio = queries / window.prompt_tokens
        if not _LEAST_OF_PROMPTS <= ratio <= _MOST_OF_PROMPTS:
            counted = (
                f"{queries:.0f} prompt tokens counted, the file has {window.prompt_tokens:.0f}"
            )
            return f"telemetry: is not about this repetition alone ({counted})"
    return hits / queries


def _before(told: Sequence[tuple[float, Counts]], start: float) -> list[Counts]:
    """Counts of the looks that may be the last before a start."""
    surely = [counts for at, counts in told if at <= start]
    perhaps = [counts for at, counts in told if start < at <= start + _DATE_STEP_S]
    return [*surely[-1:], *perhaps]


def _after(told: Sequence[tuple[float, Counts]], end: float) -> list[Counts]:
    """Counts of the looks that may be the first after an end."""
    perhaps = [counts for at, counts in told if end <= at < end + _DATE_STEP_S]
    surely = [counts for at, counts in told if at >= end + _DATE_STEP_S]
    return [*perhaps, *surely[:1]]


def _nearest(grown: Sequence[Counts], tokens: float) -> Counts:
    return min(grown, key=lambda each: abs(each[0] - tokens))


def _counts(look: Look, server: str) -> Counts | None:
    """Queried and answered tokens of one server, or of all where none is named or known by it."""
    servers = [look.servers[server]] if server in look.servers else list(look.servers.values())
    told = [each for each in servers if all(name in each for name in _QUERIES)]
    if not told or len(told) < len(servers):
        return None
    return _sum(told, _QUERIES), _sum(told, _HITS)


def _sum(servers: Sequence[Mapping[str, float]], names: Sequence[str]) -> float:
    return sum(server.get(name, 0.0) for server in servers for name in names)
