"""What a load client is to us: a plan, a result file, and what it cost. Pure data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol

from gauntlet.core.errors import UsageError
from gauntlet.core.proc import Usage
from gauntlet.warehouse.results.bench_report import BenchReport

Status = Literal["ok", "invalid", "not installed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientLoad:
    """The load that every client is asked for.

    Closed: ``concurrency`` streams that all start at once, since most clients know no other way
    (``stagger_s`` spreads the start of those that do). Open: ``rate`` requests a second at equal
    gaps, at most ``concurrency`` in flight where that is given too. ``tokenizer`` is a folder with
    the model's ``tokenizer.json``. A stream that is silent for ``idle_s`` has stalled, for clients
    that know the like. Raises UsageError where neither concurrency nor rate is given.
    """

    base_url: str
    model: str
    requests: int
    input_tokens: int
    output_tokens: int
    concurrency: int | None = None
    rate: float | None = None
    seed: int = 0
    tokenizer: Path
    stagger_s: float = 0.0
    idle_s: float = 60.0

    def __post_init__(self) -> None:
        if self.concurrency is None and self.rate is None:
            msg = "a load needs a concurrency or a rate"
            raise UsageError(msg, hint="--concurrency 8, or --rate 4")

    @property
    def label(self) -> str:
        """The load in words."""
        streams = f"{self.concurrency} streams"
        if self.rate is None:
            return streams
        return f"{self.rate:g} requests/s" + (f", at most {streams}" if self.concurrency else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """How a client is started, and the file that it leaves. ``env`` is added to ours."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    result: Path


class LoadClient(Protocol):
    """One load generator. Planning and reading are pure; only ``run_client`` starts anything."""

    @property
    def name(self) -> str:
        """What it is called on the command line."""
        ...

    def available(self) -> str | None:
        """Say how to get it, or None where it is installed."""
        ...

    def version(self) -> str:
        """Its version; empty where it does not tell."""
        ...

    def plan(self, load: ClientLoad, folder: Path) -> Invocation:
        """Plan one run that leaves everything in ``folder``."""
        ...

    def read(self, text: str, file: str) -> BenchReport:
        """Read its result file. Raises UnreadableResultError."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientResult:
    """One run of one client. ``reasons`` say why it is no measurement; each begins with a class."""

    client: str
    version: str
    status: Status
    reasons: tuple[str, ...] = ()
    report: BenchReport | None = None
    usage: Usage | None = None
    seconds: float | None = None
    returncode: int | None = None
    argv: tuple[str, ...] = ()
    tail: str = ""

    def value(self, metric: str, statistic: str) -> float | None:
        """One statistic over the whole run; None where the client does not give it.

        A latency of 0 was never measured: several clients write it where nothing came back.
        """
        for each in self.report.values if self.report else ():
            if (each.metric, each.statistic, each.window) == (metric, statistic, "full"):
                missing = metric.endswith("_ms") and each.value == 0
                return None if missing else each.value
        return None


def absent(client: LoadClient, how: str) -> ClientResult:
    """The result of a client that is not there."""
    return ClientResult(client=client.name, version="", status="not installed", reasons=(how,))


def pinned(argv: Sequence[str], cores: Sequence[int], taskset: str | None) -> tuple[str, ...]:
    """The command confined to ``cores``; as it is without cores, or without taskset."""
    if not cores or taskset is None:
        return tuple(argv)
    return (taskset, "-c", ",".join(map(str, cores)), *argv)
