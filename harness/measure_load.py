"""One repetition of a load workload: send, judge, make the rows."""

from collections.abc import Sequence
from dataclasses import asdict

from gauntlet.core.clock import utc_now
from gauntlet.harness.context import Measured, Measurement
from gauntlet.harness.load.client import (
    CLIENT_NAME,
    LoadLog,
    Target,
    closed_loop,
    open_loop,
    run_load,
)
from gauntlet.harness.load.metrics import load_metrics
from gauntlet.harness.load.requests import (
    PlannedRequest,
    plan_digest,
    random_requests,
    trace_requests,
)
from gauntlet.harness.load.results import RequestResult, request_results
from gauntlet.harness.validity import judge_failures
from gauntlet.perf_eval.recipe import RandomWorkload, TraceWorkload
from gauntlet.perf_eval.trace import generate_trace, read_trace, slice_arrivals
from gauntlet.warehouse.rows.measurement import MetricRow, RepetitionStatus, RequestRow

# With more failures than this the rest measures a server that was relieved of work.
MOST_FAILED_SHARE = 0.05


def plan_requests(
    workload: RandomWorkload | TraceWorkload, *, model: str, seed: int
) -> list[PlannedRequest]:
    """Build the requests of one repetition. Raises ConfigError for a bad trace."""
    if isinstance(workload, RandomWorkload):
        return random_requests(workload, model=model, seed=seed)
    source = workload.source
    rows = (
        read_trace(source.file)
        if source.file is not None
        else generate_trace(source.generate or 0, source.seed)
    )
    arrivals = slice_arrivals(
        rows,
        skip=workload.skip_rows,
        count=workload.rows,
        time_scale=workload.time_scale,
        length_scale=workload.length_scale,
        max_output_tokens=workload.max_output_tokens,
    )
    return trace_requests(arrivals, block_size=workload.block_size, model=model, seed=seed)


def measure_load(measurement: Measurement, workload: RandomWorkload | TraceWorkload) -> Measured:
    """Run one repetition and return its rows; raises EngineError where the engine died."""
    endpoint = measurement.engine.endpoint
    target = Target(endpoint.host, endpoint.port)
    planned = plan_requests(workload, model=endpoint.model, seed=measurement.pair_seed)
    if measurement.slot.pair == 0:
        # Later turns find a warm engine; each has prompts of its own, so nothing else warms.
        _warm_up(target, workload, endpoint.model, measurement.pair_seed)
    started_at = utc_now()
    if isinstance(workload, RandomWorkload):
        work = closed_loop(target, planned, workload.concurrency, workload.deadlines)
    else:
        work = open_loop(target, planned, workload.deadlines)
    log = run_load(work)
    ended_at = utc_now()
    results = request_results(log)
    status, reasons = judge_results(results)
    failed = sum(result.status != "ok" for result in results)
    repetition = measurement.row(
        workload,
        status=status,
        reasons=reasons,
        client=CLIENT_NAME,
        dataset_digest=plan_digest(planned),
        started_at=started_at,
        ended_at=ended_at,
        completed=len(results) - failed,
        failed=failed,
    )
    metrics = _metric_rows(measurement, workload.name, results, log)
    requests = _request_rows(measurement, workload.name, results)
    return Measured(repetition=repetition, rows=(*metrics, *requests))


def judge_results(results: Sequence[RequestResult]) -> tuple[RepetitionStatus, tuple[str, ...]]:
    """Decide whether a repetition measured anything, and say why not.

    Not one success: failed. More than 5 % failures: invalid, because refusing work makes a
    server look fast.
    """
    bad = [result.status for result in results if result.status != "ok"]
    return judge_failures(bad, len(results), most_share=MOST_FAILED_SHARE)


def _warm_up(
    target: Target, workload: RandomWorkload | TraceWorkload, model: str, seed: int
) -> None:
    if not workload.warmup_requests:
        return
    if isinstance(workload, RandomWorkload):
        planned = random_requests(workload, model=model, seed=seed, warmup=True)
        concurrency = workload.concurrency
    else:
        # Prompts that no row of the trace has, or the warm-up would fill the prefix cache.
        planned = plan_requests(workload, model=model, seed=~seed & 0x7FFF_FFFF_FFFF)
        planned = planned[: workload.warmup_requests]
        concurrency = len(planned)
    run_load(closed_loop(target, planned, concurrency, workload.deadlines))


def _metric_rows(
    measurement: Measurement, workload: str, results: Sequence[RequestResult], log: LoadLog
) -> tuple[MetricRow, ...]:
    return tuple(
        MetricRow(
            **measurement.key(workload),
            workload=workload,
            metric=metric.name,
            statistic=metric.statistic,
            value=metric.value,
            unit=metric.unit,
            direction=metric.direction,
            n=metric.n,
        )
        for metric in load_metrics(results, log)
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
