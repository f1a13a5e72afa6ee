"""A load generator's report as rows, under the provenance that the caller gives."""

import hashlib
import statistics
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo

from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.results.bench import read_bench
from gauntlet.warehouse.results.bench_checks import contradictions
from gauntlet.warehouse.results.bench_report import METRICS, BenchReport, Observed
from gauntlet.warehouse.results.identity import Found, Identity, repetition_of, timeless
from gauntlet.warehouse.rows.measurement import MetricRow, RepetitionRow, RequestRow

_SOURCE = "bench"


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRows:
    """One result file as rows; without metrics and requests where there are reasons against it."""

    report: BenchReport
    repetition: RepetitionRow
    metrics: tuple[MetricRow, ...]
    requests: tuple[RequestRow, ...]


def bench_batch(
    data: bytes, *, file: str, identity: Identity, zone: tzinfo, now: datetime
) -> tuple[Batch, RepetitionRow]:
    """Read a result file into a batch.

    A report that contradicts itself becomes a repetition with reasons and without metrics, so
    that it is neither drawn nor compared, and not forgotten. Raises UnreadableResultError.
    """
    rows = bench_rows(data, file=file, identity=identity, zone=zone, now=now)
    row = rows.repetition
    # Under another identity the same file is another repetition of another series.
    batch_id = content_id(_SOURCE, data, timeless(row))
    together = [*rows.metrics, *rows.requests, row]
    return Batch.of(batch_id, together, source=_SOURCE, created_at=now), row


def bench_rows(
    data: bytes, *, file: str, identity: Identity, zone: tzinfo, now: datetime
) -> BenchRows:
    """Read a result file into rows and store nothing. Raises UnreadableResultError."""
    report = read_bench(data.decode("utf-8", errors="replace"), file=file, zone=zone)
    reasons = contradictions(report, now)
    content = hashlib.sha256(data).hexdigest()
    started = report.started_at
    if started is None or any(reason.startswith("date:") for reason in reasons):
        started = now
    # "date" is when the program ended and wrote; nobody writes when it began.
    duration = timedelta(seconds=report.duration_s or 0) if not reasons else timedelta()
    found = Found(
        source=_SOURCE,
        content=content,
        file=file,
        kind="load",
        workload=report.client,
        point=_point(report),
        model=report.model,
        client=report.client,
        client_version=report.client_version,
        started_at=started - duration,
        ended_at=started,
        completed=report.completed - report.silent,
        failed=report.failed + report.silent,
        reasons=reasons,
        settings=report.settings,
    )
    row = repetition_of(found, identity)
    return BenchRows(
        report=report,
        repetition=row,
        metrics=() if reasons else tuple(_metric_rows(report, row)),
        requests=() if reasons else tuple(_request_rows(report, row)),
    )


def _point(report: BenchReport) -> str:
    """What a sweep varies: the rate where there is one, and the limit of requests in flight."""
    rate = report.settings.get("request_rate") or report.settings.get("requested_rate")
    if not report.concurrency:
        return f"request_rate={rate}" if rate else ""
    limit = f"concurrency={report.concurrency}"
    return limit if rate in (None, "inf") else f"request_rate={rate},{limit}"


def _metric_rows(report: BenchReport, row: RepetitionRow) -> Iterator[MetricRow]:
    for each in report.values:
        unit, direction = METRICS[each.metric]
        # These programs write 0.0 where nothing was observed; no latency is 0.
        missing = each.value == 0 and each.metric.endswith("_ms") and each.statistic != "std"
        yield MetricRow(
            run_id=row.run_id,
            repetition_id=row.repetition_id,
            series_id=row.series_id,
            side=row.side,
            workload=row.workload,
            pair=0,
            metric=each.metric,
            statistic=each.statistic,
            window="steady" if each.window == "steady" else "full",
            value=None if missing else each.value,
            unit=unit,
            direction=direction,
            n=report.completed,
        )


def _request_rows(report: BenchReport, row: RepetitionRow) -> Iterator[RequestRow]:
    for each in report.requests:
        gaps = sorted(each.itls_ms)
        yield RequestRow(
            run_id=row.run_id,
            repetition_id=row.repetition_id,
            side=row.side,
            workload=row.workload,
            pair=0,
            request_index=each.index,
            status="failed" if each.error else "ok",
            error=each.error[:500],
            prompt_tokens=each.prompt_tokens,
            output_tokens=each.output_tokens,
            sent_ms=each.sent_ms,
            ttft_ms=each.ttft_ms,
            tpot_ms=_tpot(each),
            itl_p50_ms=statistics.median(gaps) if gaps and not each.error else None,
            itl_p99_ms=gaps[round(0.99 * (len(gaps) - 1))] if gaps and not each.error else None,
            itl_max_ms=gaps[-1] if gaps and not each.error else None,
            e2e_ms=each.e2e_ms,
        )


def _tpot(each: Observed) -> float | None:
    if each.ttft_ms is None or each.e2e_ms is None or (each.output_tokens or 0) < 2:
        return None
    return (each.e2e_ms - each.ttft_ms) / ((each.output_tokens or 0) - 1)
