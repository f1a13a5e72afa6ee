"""One repetition of a load workload: send, judge, make the rows."""

from collections.abc import Sequence
from dataclasses import asdict

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ConfigError, Problem
from gauntlet.harness.context import Measured, Measurement
from gauntlet.harness.load.arrivals import Schedule, schedule
from gauntlet.harness.load.client import CLIENT_NAME, LoadJob, Target, run_load
from gauntlet.harness.load.event_reader import LoadLog
from gauntlet.harness.load.metrics import load_metrics
from gauntlet.harness.load.prompts import plan_requests
from gauntlet.harness.load.requests import PlannedRequest, chains_of, plan_digest
from gauntlet.harness.load.results import Outcome, RequestResult, failures_of, outcomes
from gauntlet.harness.validity import judge_failures
from gauntlet.perf_eval.workloads import ClosedArrivals, Workload
from gauntlet.warehouse.rows.measurement import MetricRow, RepetitionStatus, RequestRow

PATHS = {"completions": "/v1/completions", "chat": "/v1/chat/completions"}
# With more failures than this the rest measures a server that was relieved of work.
MOST_FAILED_SHARE = 0.05


def measure_load(measurement: Measurement, workload: Workload) -> Measured:
    """Run one repetition and return its rows; raises EngineError where the engine died."""
    endpoint = measurement.engine.endpoint
    target = Target.of(endpoint.base_url, PATHS[workload.endpoint])
    seed = measurement.pair_seed
    planned = plan_requests(workload, model=endpoint.model, seed=seed)
    plan = schedule_of(workload, planned, seed)
    if measurement.slot.pair == 0:
        # Later turns find a warm engine; each has prompts of its own, so nothing else warms.
        _warm_up(target, workload, endpoint.model, seed)
    started_at = utc_now()
    log = run_load(
        LoadJob(target=target, planned=planned, schedule=plan, deadlines=workload.deadlines)
    )
    ended_at = utc_now()
    judged = outcomes(log)
    results = [outcome.result for outcome in judged]
    status, reasons = judge_results(results)
    failed = len(failures_of(results))
    repetition = measurement.row(
        workload,
        status=status,
        reasons=reasons,
        client=CLIENT_NAME,
        dataset_digest=plan_digest(planned, plan.due_s or ()),
        started_at=started_at,
        ended_at=ended_at,
        completed=len(results) - failed,
        failed=failed,
    )
    metrics = _metric_rows(measurement, workload.name, judged, log)
    requests = _request_rows(measurement, workload.name, results)
    return Measured(repetition=repetition, rows=(*metrics, *requests))


def judge_results(results: Sequence[RequestResult]) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Decide whether a repetition measured anything, and say why not.

    Not one success: failed. More than 5 % failures: invalid, because refusing work makes a
    server look fast.
    """
    return judge_failures(failures_of(results), len(results), most_share=MOST_FAILED_SHARE)


def schedule_of(workload: Workload, planned: Sequence[PlannedRequest], seed: int) -> Schedule:
    """When the planned requests are sent. Raises ConfigError where the data give no times."""
    chains = chains_of(planned)
    timestamps = [chain[0].due_s for chain in chains]
    try:
        return schedule(workload.arrivals, len(chains), seed=seed, timestamps_s=timestamps)
    except ValueError as error:
        key = f"workloads.{workload.name}.arrivals"
        raise ConfigError([Problem(file="recipe", key=key, message=str(error))]) from error


def _warm_up(target: Target, workload: Workload, model: str, seed: int) -> None:
    """Send prompts that no measured request has, as many at once as the workload will."""
    if not workload.warmup_requests:
        return
    planned = plan_requests(workload, model=model, seed=seed, warmup=True)
    streams = min(len(planned), workload.concurrency or len(planned))
    closed = ClosedArrivals(kind="closed", concurrency=streams)
    run_load(
        LoadJob(
            target=target,
            planned=planned,
            schedule=schedule(closed, len(chains_of(planned)), seed=seed),
            deadlines=workload.deadlines,
        )
    )


def _metric_rows(
    measurement: Measurement, workload: str, judged: Sequence[Outcome], log: LoadLog
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
        for metric in load_metrics(log, judged)
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
