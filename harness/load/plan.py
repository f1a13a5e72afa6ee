"""What workers are told: every byte of every request, when it is due, and the limits.

A plan is data: worker ``k`` reads ``plan-k.json`` and sends slices of ``requests.bin``. Requests
form chains: the turns of a conversation, or a single request. A chain has one request in flight at
a time; its next one is due ``think_ns`` after the one before ended.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

PLAN = "plan-{worker}.json"
REQUESTS = "requests.bin"
EVENTS = "events-{worker}.bin"
BYTES = "bytes-{worker}.bin"
READY = "ready-{worker}"
SUMMARY = "summary-{worker}.json"
GO = "go"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Deadlines in nanoseconds."""

    connect_ns: int
    idle_ns: int
    total_ns: int
    load_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlan:
    """The share of one worker.

    ``requests[i]`` is (index in the whole plan, offset, length, think_ns). ``chains`` lists, per
    chain, the positions in ``requests``. ``due_ns`` has one entry per chain, counted from the
    start, or is empty in a closed loop, where ``streams`` chains are open at any time and stream
    ``s`` opens its first one at ``stagger_ns[s]``. ``max_in_flight`` holds an open loop back
    (0: nothing does).
    """

    host: str
    port: int
    scheme: str
    proxy: str | None
    requests: tuple[tuple[int, int, int, int], ...]
    chains: tuple[tuple[int, ...], ...]
    due_ns: tuple[int, ...]
    streams: int
    stagger_ns: tuple[int, ...]
    max_in_flight: int
    preconnect: int
    limits: Limits
    core: int | None = None

    def write(self, folder: Path, worker: int) -> None:
        """Write the plan of ``worker`` into ``folder``."""
        (folder / PLAN.format(worker=worker)).write_text(json.dumps(asdict(self)), encoding="ascii")

    @classmethod
    def read(cls, folder: Path, worker: int) -> "WorkerPlan":
        """Read what :meth:`write` wrote."""
        raw = json.loads((folder / PLAN.format(worker=worker)).read_text(encoding="ascii"))
        return cls(
            **{
                **raw,
                "requests": tuple(map(tuple, raw["requests"])),
                "chains": tuple(map(tuple, raw["chains"])),
                "due_ns": tuple(raw["due_ns"]),
                "stagger_ns": tuple(raw["stagger_ns"]),
                "limits": Limits(**raw["limits"]),
            }
        )


def share(items: Sequence[int], workers: int, worker: int) -> list[int]:
    """The items of one worker: every ``workers``-th, so that all get early and late ones."""
    return list(items[worker::workers])
