"""Calibration: the client measures a server whose timing is known, under the session's own load.

What it reads there beyond the truth is what it would add to any server's latency, at this
concurrency, on this machine, now.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.client import LoadJob, Target, run_load
from gauntlet.harness.load.known_timing import Distribution, KnownTiming, Truth
from gauntlet.harness.load.metrics import Metric, load_metrics
from gauntlet.harness.load.requests import Ask, PlannedRequest
from gauntlet.harness.load.results import outcomes
from gauntlet.harness.load.seeds import random_ids
from gauntlet.perf_eval.workloads import Deadlines

# The client may add this much of the latency that is judged.
MOST_CLIENT_SHARE = 0.05
TTFT_MS, ITL_MS, TOKENS = 50.0, 10.0, 32
_WAVES = 3
_LEAST_REQUESTS, _MOST_REQUESTS = 48, 4096
_OPEN_S = 2.5
_DEADLINES = Deadlines(connect_s=5, idle_s=5, total_s=15, load_s=60)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One statistic as the client measured it and as it was, in ms."""

    metric: str
    statistic: str
    measured_ms: float
    true_ms: float

    @property
    def error_ms(self) -> float:
        """What the client added (or, negative, took away)."""
        return self.measured_ms - self.true_ms

    @property
    def error_percent(self) -> float:
        """The error in per cent of the truth."""
        return 100 * self.error_ms / self.true_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """How true this client is under one load."""

    load: str
    requests: int
    failed: int
    readings: tuple[Reading, ...]
    lag_p99_ms: float | None
    cpu_us_per_event: float | None

    def error_ms(self, metric: str, statistic: str) -> float | None:
        """Size of the error of one statistic; None where it was not calibrated."""
        for reading in self.readings:
            if (reading.metric, reading.statistic) == (metric, statistic):
                return abs(reading.error_ms)
        return None


def calibrate(
    schedule: Schedule,
    *,
    workdir: Path,
    prompt_tokens: int = 32,
    workers: int | None = None,
    cores: Sequence[int] = (),
    server_core: int | None = None,
    cache: Path | None = None,
) -> Calibration:
    """Measure the known-timing server under a short load of the same shape.

    Closed loops keep their streams, open loops their mean rate. Raises NoCompilerError where the
    server cannot be built, and LoadError where the client fails.
    """
    shape = short_shape(schedule)
    count = len(shape.due_s) if shape.due_s is not None else _closed_requests(shape.streams)
    planned = _requests(count, prompt_tokens)
    workdir.mkdir(parents=True, exist_ok=True)
    with KnownTiming(
        workdir=workdir,
        ttft_ms=TTFT_MS,
        itl_ms=ITL_MS,
        tokens=TOKENS,
        busy=True,
        core=server_core,
        cache=cache,
    ) as server:
        job = LoadJob(
            target=Target.of(server.base_url, "/v1/completions"),
            planned=planned,
            schedule=shape,
            deadlines=_DEADLINES,
            workers=workers,
            cores=cores,
        )
        log = run_load(job, workdir / "load")
        truth = server.truth()
    judged = outcomes(log)
    failed = sum(outcome.result.status != "ok" for outcome in judged)
    metrics = [m for m in load_metrics(log, judged) if m.window == "full"]
    return compare(metrics, truth, load=describe(shape), requests=count, failed=failed)


def compare(
    metrics: Sequence[Metric], truth: Truth, *, load: str, requests: int, failed: int
) -> Calibration:
    """Set what the client measured beside what the server did."""
    found = {(metric.name, metric.statistic): metric.value for metric in metrics}
    pairs: tuple[tuple[str, str, Distribution | None], ...] = (
        ("ttft_ms", "mean", truth.ttft_ms),
        ("ttft_ms", "p50", truth.ttft_ms),
        ("ttft_ms", "p99", truth.ttft_ms),
        ("itl_chunk_ms", "mean", truth.itl_ms),
        ("itl_chunk_ms", "p50", truth.itl_ms),
        ("itl_chunk_ms", "p99", truth.itl_ms),
    )
    readings = []
    for metric, statistic, distribution in pairs:
        measured = found.get((metric, statistic))
        if measured is not None and distribution is not None:
            true: float = distribution[statistic]  # type: ignore[literal-required]
            readings.append(
                Reading(metric=metric, statistic=statistic, measured_ms=measured, true_ms=true)
            )
    return Calibration(
        load=load,
        requests=requests,
        failed=failed,
        readings=tuple(readings),
        lag_p99_ms=found.get(("client_lag_ms", "p99")),
        cpu_us_per_event=found.get(("client_cpu_us_per_event", "mean")),
    )


def client_bound(
    calibration: Calibration, judged: Sequence[tuple[str, str, float]]
) -> tuple[str, ...]:
    """Reasons why judged latencies are the client's own doing; none where they are the server's.

    ``judged`` are (metric, statistic, measured ms). TPOT is compared with the mean gap between
    tokens, E2E with TTFT; other quantiles with that quantile or the mean.
    """
    if calibration.failed:
        share = f"{calibration.failed} of {calibration.requests}"
        return (f"client-bound: {share} requests to the known-timing server failed",)
    reasons = []
    for metric, statistic, value in judged:
        error = _error_for(calibration, metric, statistic)
        if error is not None and error > MOST_CLIENT_SHARE * value:
            reasons.append(
                f"client-bound: the client adds {error:.2f} ms to {metric} {statistic}, over "
                f"{MOST_CLIENT_SHARE:.0%} of the {value:.2f} ms measured ({calibration.load})"
            )
    return tuple(reasons)


def _error_for(calibration: Calibration, metric: str, statistic: str) -> float | None:
    if metric == "tpot_ms":
        return calibration.error_ms("itl_chunk_ms", "mean")
    name = "itl_chunk_ms" if metric.startswith("itl") else "ttft_ms"
    exact = calibration.error_ms(name, statistic)
    return calibration.error_ms(name, "mean") if exact is None else exact


def short_shape(schedule: Schedule) -> Schedule:
    """The same kind of load, a few seconds of it, without long starts."""
    if schedule.due_s is None:
        spread = min(1.0, schedule.stagger_s[-1] if schedule.stagger_s else 0.0)
        streams = schedule.streams
        stagger = tuple(spread * n / streams for n in range(streams))
        return Schedule(due_s=None, streams=streams, stagger_s=stagger)
    span = max(schedule.due_s) or 1.0
    rate = _round_up(max(1.0, len(schedule.due_s) / span))
    count = min(_MOST_REQUESTS, max(_LEAST_REQUESTS, round(rate * _OPEN_S)))
    return Schedule(due_s=tuple(n / rate for n in range(count)))


def _round_up(rate: float) -> float:
    """The next of 1, 1.5, 2, 3, 5, 7 x 10^k: random arrivals of one rate share a calibration."""
    scale = 10 ** math.floor(math.log10(rate))
    return float(next(each * scale for each in (1, 1.5, 2, 3, 5, 7, 10) if each * scale >= rate))


def describe(schedule: Schedule) -> str:
    """The load in words."""
    if schedule.due_s is None:
        return f"{schedule.streams} streams"
    return f"{(len(schedule.due_s) - 1) / max(schedule.due_s):.4g} requests/s"


def _closed_requests(streams: int) -> int:
    return min(_MOST_REQUESTS, max(_LEAST_REQUESTS, _WAVES * streams))


def _requests(count: int, prompt_tokens: int) -> list[PlannedRequest]:
    ask = Ask(model="known-timing")
    prompt = random_ids(prompt_tokens, "calibration")
    body = ask.body(prompt, TOKENS, exact=True)
    return [
        PlannedRequest(index=n, body=body, prompt_tokens=prompt_tokens, output_tokens=TOKENS)
        for n in range(count)
    ]
