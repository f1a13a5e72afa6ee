"""Our own client behind the same port: run as a process of its own, so that its cost compares."""

import json
import sys
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from gauntlet import __version__
from gauntlet.core.yaml_file import StrictModel
from gauntlet.harness.clients.port import ClientLoad, Invocation
from gauntlet.warehouse.results.bench_report import BenchReport, Value
from gauntlet.warehouse.results.identity import UnreadableResultError

_RESULT = "own.json"
# Ours counts gaps between events as itl_chunk_ms; that is what the others call ITL.
_NAMES = {"itl_chunk_ms": "itl_ms"}
_TAKEN = ("ttft_ms", "tpot_ms", "itl_chunk_ms", "e2e_ms")
_RATES = ("requests_per_s", "input_tokens_per_s", "output_tokens_per_s", "total_tokens_per_s")


class OwnMetric(StrictModel):
    """One of ``harness.load.metrics.Metric``."""

    name: str
    statistic: str
    window: Literal["full", "steady"]
    value: float | None


class OwnReport(StrictModel):
    """What ``own_run`` writes: a load of our own client, judged.

    ``load_cpu_s`` (of the workers, without their start) and ``load_rss_kib`` (of all) are those of
    the load itself: the answers are judged when it is over, in the process that started it.
    """

    version: str
    model: str
    started_at: datetime
    duration_s: float | None
    asked: int
    completed: int
    failures: dict[str, int]
    input_tokens: int
    output_tokens: int
    concurrency: int | None
    load_cpu_s: float
    load_rss_kib: int
    metrics: tuple[OwnMetric, ...]


@dataclass(frozen=True, slots=True)
class OwnClient:
    """``harness.load``; ``workers`` None: as many as it would take by itself."""

    workers: int | None = None
    name: str = "own"

    def available(self) -> str | None:
        """It is always there."""
        return None

    def version(self) -> str:
        """Ours."""
        return __version__

    def plan(self, load: ClientLoad, folder: Path) -> Invocation:
        """Plan one run; the load goes as one JSON argument."""
        job = {
            "base_url": load.base_url,
            "model": load.model,
            "requests": load.requests,
            "input_tokens": load.input_tokens,
            "output_tokens": load.output_tokens,
            "concurrency": load.concurrency,
            "rate": load.rate,
            "seed": load.seed,
            "stagger_s": load.stagger_s,
            "idle_s": load.idle_s,
            "workers": self.workers,
        }
        result = folder / _RESULT
        argv = (sys.executable, "-m", "gauntlet.harness.clients.own_run", json.dumps(job))
        return Invocation(argv=(*argv, str(result)), result=result)

    def read(self, text: str, file: str) -> BenchReport:
        """Read what ``own_run`` wrote."""
        try:
            said = OwnReport.model_validate_json(text)
        except ValidationError as error:
            msg = f"{file}: not a result of our own client: {error.errors()[0]['msg']}"
            raise UnreadableResultError(msg) from error
        return own_report(said)


def own_report(said: OwnReport) -> BenchReport:
    """Our own result in the words that all clients share."""
    failures = ", ".join(f"{count} {name}" for name, count in sorted(said.failures.items()))
    settings = {
        "failures": failures,
        "load_cpu_s": f"{said.load_cpu_s:.6f}",
        "load_rss_kib": str(said.load_rss_kib),
    }
    return BenchReport(
        client="gauntlet-load",
        client_version=said.version,
        model=said.model,
        started_at=said.started_at,
        duration_s=said.duration_s,
        asked=said.asked,
        completed=said.completed,
        failed=sum(said.failures.values()),
        input_tokens=said.input_tokens,
        output_tokens=said.output_tokens,
        concurrency=said.concurrency,
        values=tuple(
            Value(
                field=f"{metric.name}.{metric.statistic}",
                metric=_NAMES.get(metric.name, metric.name),
                statistic="mean" if metric.name in _RATES else metric.statistic,
                window=metric.window,
                value=metric.value,
            )
            for metric in said.metrics
            if metric.value is not None and metric.name in (*_TAKEN, *_RATES)
        ),
        requests=(),
        settings=settings,
        problems=(),
    )
