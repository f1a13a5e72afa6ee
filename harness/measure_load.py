"""One repetition of a load workload: send, judge, make the rows."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, Problem
from gauntlet.harness.context import Measured, Measurement
from gauntlet.harness.load.arrivals import Schedule, schedule
from gauntlet.harness.load.calibrate import Calibration, client_bound
from gauntlet.harness.load.client import CLIENT_NAME, LoadJob, Target, run_load
from gauntlet.harness.load.metrics import Goodput, Metric, load_metrics
from gauntlet.harness.load.prompts import dataset_digest, plan_requests
from gauntlet.harness.load.requests import PlannedRequest, chains_of, plan_digest
from gauntlet.harness.load.results import Outcome, RequestResult, failures_of, outcomes
from gauntlet.harness.load.trace_prompts import ideal_hit_share
from gauntlet.harness.validity import judge_cache, judge_dispatch, judge_failures, judge_reads
from gauntlet.perf_eval.workloads import ClosedArrivals, Workload
from gauntlet.warehouse.rows.measurement import MetricRow, RepetitionStatus, RequestRow

PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
# With more failures than this the rest measures a server that was relieved of work.
MOST_FAILED_SHARE = 0.05
# What is judged where nothing says so.
DEFAULT_JUDGED = (("ttft_ms", "mean"), ("tpot_ms", "p50"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a load repetition is measured under, and judged by, beyond its workload.

    ``folder`` keeps the raw log; None: it is read and dropped. ``warm_up`` sends the workload's
    warm-up first. ``judged`` are the (metric, statistic) pairs that the client must not distort.
    ``watch`` is called all the while and ends the load by raising. ``server_hit_share`` is asked
    for the cache hits of the repetition where answers do not tell them. ``expected_hits`` is the
    share that the same texts had when they were new, for prompts whose tokens nobody here counts.
    """

    folder: Path | None = None
    warm_up: bool = True
    calibration: Calibration | None = None
    judged: Sequence[tuple[str, str]] = DEFAULT_JUDGED
    goodput: Goodput | None = None
    workers: int | None = None
    watch: Callable[[], object] = lambda: None
    server_hit_share: Callable[[], float | None] = lambda: None
    expected_hits: float | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadPlan:
    """All of a repetition that is decided before it begins."""

    target: Target
    planned: list[PlannedRequest]
    schedule: Schedule


def plan_load(measurement: Measurement, workload: Workload, proxy: str | None = None) -> LoadPlan:
    """Plan one repetition. Raises ConfigError for bad data."""
    endpoint = measurement.engine.endpoint
    seed = measurement.seed_of(workload.name)
    planned = plan_requests(workload, model=endpoint.model, seed=seed)
    target = Target.of(endpoint.base_url, PATHS[workload.endpoint], proxy=proxy)
    return LoadPlan(target=target, planned=planned, schedule=schedule_of(workload, planned, seed))


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One repetition as it was measured, before it becomes rows."""

    plan: LoadPlan
    outcomes: list[Outcome]
    metrics: list[Metric]
    status: RepetitionStatus
    reasons: tuple[str, ...]
    started_at: datetime
    ended_at: datetime


def measure_load(
    measurement: Measurement, workload: Workload, conditions: Conditions | None = None
) -> Measured:
    """Run one repetition and return its rows.

    Raises what ``conditions.watch`` raises (EngineDeath), and LoadError where the client fails.
    """
    under = conditions or Conditions(warm_up=measurement.slot.pair == 0)
    return load_rows(measurement, workload, run_repetition(measurement, workload, under))


def run_repetition(measurement: Measurement, workload: Workload, under: Conditions) -> Loaded:
    """Plan, warm up, send and judge one repetition; raises as :func:`measure_load` does."""
    plan = plan_load(measurement, workload, under.proxy)
    if under.warm_up:
        _warm_up(measurement, workload, plan, under)
    started_at = utc_now()
    job = LoadJob(
        target=plan.target,
        planned=plan.planned,
        schedule=plan.schedule,
        deadlines=workload.deadlines,
        workers=under.workers,
    )
    log = run_load(job, under.folder, watch=under.watch)
    ended_at = utc_now()
    judged = outcomes(log)
    metrics = load_metrics(log, judged, goodput=under.goodput)
    metrics.append(_ideal_metric(plan.planned))
    results = [outcome.result for outcome in judged]
    status, reasons = judge_repetition(results, metrics, workload, under)
    return Loaded(
        plan=plan,
        outcomes=judged,
        metrics=metrics,
        status=status,
        reasons=reasons,
        started_at=started_at,
        ended_at=ended_at,
    )


def load_rows(measurement: Measurement, workload: Workload, loaded: Loaded) -> Measured:
    """Make the rows of one repetition."""
    results = [outcome.result for outcome in loaded.outcomes]
    failed = len(failures_of(results))
    plan = loaded.plan
    repetition = measurement.row(
        workload,
        status=loaded.status,
        reasons=loaded.reasons,
        client=CLIENT_NAME,
        client_path="direct" if plan.target.direct else "aiohttp",
        dataset_digest=dataset_digest(workload),
        plan_digest=plan_digest(plan.planned, plan.schedule.due_s or ()),
        started_at=loaded.started_at,
        ended_at=loaded.ended_at,
        completed=len(results) - failed,
        failed=failed,
    )
    rows = (
        *_metric_rows(measurement, workload.name, loaded.metrics),
        *_request_rows(measurement, workload.name, results),
    )
    return Measured(repetition=repetition, rows=rows)


def judge_results(results: Sequence[RequestResult]) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Decide whether a repetition measured anything, and say why not.

    Not one success: failed. More than 5 % failures: invalid, because refusing work makes a
    server look fast.
    """
    return judge_failures(failures_of(results), len(results), most_share=MOST_FAILED_SHARE)


def judge_repetition(
    results: Sequence[RequestResult],
    metrics: Sequence[Metric],
    workload: Workload,
    under: Conditions,
) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Judge a repetition by everything that would make its numbers mean something else."""
    status, reasons = judge_results(results)
    if status == "failed":
        return status, reasons
    found = {(m.name, m.statistic): m.value for m in metrics if m.window == "full"}
    ideal = found["ideal_hit_share", "total"]
    against = judge_cache(
        hit_share(metrics, under),
        ideal=under.expected_hits if ideal is None else ideal,
        at_most=workload.hit_rate_at_most,
    )
    against += judge_reads(found["client_lag_ms", "p90"], found["itl_chunk_ms", "p50"])
    if workload.concurrency is None:
        against += judge_dispatch(found["dispatch_lag_ms", "p99"], found["ttft_ms", "p50"])
    if under.calibration is not None:
        values = ((name, stat, found.get((name, stat))) for name, stat in under.judged)
        latencies = [(n, s, v) for n, s, v in values if v is not None and n.endswith("_ms")]
        against += client_bound(under.calibration, latencies)
    return ("invalid" if against else status), (*reasons, *against)


def hit_share(metrics: Sequence[Metric], under: Conditions) -> float | None:
    """Share of prompt tokens from the prefix cache: by the answers, else by the server's count."""
    told = next(m.value for m in metrics if m.name == "prefix_cache_hit_share")
    return under.server_hit_share() if told is None else told


def schedule_of(workload: Workload, planned: Sequence[PlannedRequest], seed: int) -> Schedule:
    """When the planned requests are sent. Raises ConfigError where the data give no times."""
    chains = chains_of(planned)
    timestamps = [chain[0].due_s for chain in chains]
    try:
        return schedule(workload.arrivals, len(chains), seed=seed, timestamps_s=timestamps)
    except ValueError as error:
        key = f"workloads.{workload.name}.arrivals"
        raise ConfigError([Problem(file="recipe", key=key, message=str(error))]) from error


def _ideal_metric(planned: Sequence[PlannedRequest]) -> Metric:
    return Metric(
        name="ideal_hit_share",
        statistic="total",
        value=ideal_hit_share(planned),
        unit="share",
        direction="higher",
        n=len(planned),
    )


def _warm_up(
    measurement: Measurement, workload: Workload, plan: LoadPlan, under: Conditions
) -> None:
    """Send prompts that no measured request has, as many at once as the workload will."""
    if not workload.warmup_requests:
        return
    model, seed = measurement.engine.endpoint.model, measurement.seed_of(workload.name)
    planned = plan_requests(workload, model=model, seed=seed, warmup=True)
    streams = min(len(planned), workload.concurrency or len(planned))
    closed = ClosedArrivals(kind="closed", concurrency=streams)
    job = LoadJob(
        target=plan.target,
        planned=planned,
        schedule=schedule(closed, len(chains_of(planned)), seed=seed),
        deadlines=workload.deadlines,
    )
    run_load(job, watch=under.watch)


def _metric_rows(
    measurement: Measurement, workload: str, metrics: Sequence[Metric]
) -> tuple[MetricRow, ...]:
    return tuple(
        MetricRow(
            **measurement.key(workload),
            workload=workload,
            metric=metric.name,
            statistic=metric.statistic,
            window=metric.window,
            value=metric.value,
            unit=metric.unit,
            direction=metric.direction,
            n=metric.n,
        )
        for metric in metrics
    )


def _request_rows(
    measurement: Measurement, workload: str, results: Sequence[RequestResult]
) -> tuple[RequestRow, ...]:
    rows = []
    key = measurement.key(workload)
    for result in results:
        fields = asdict(result)
        fields["request_index"] = fields.pop("index")
        rows.append(
            RequestRow(
                run_id=key["run_id"],
                repetition_id=key["repetition_id"],
                side=key["side"],
                pair=key["pair"],
                workload=workload,
                **fields,
            )
        )
    return tuple(rows)
