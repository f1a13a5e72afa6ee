"""Can these numbers be? Each answer names the field and the value."""

import math
from collections.abc import Iterator
from datetime import datetime

from gauntlet.warehouse.results.bench_report import BenchReport, Value
from gauntlet.warehouse.rows.base import implausible_instant

# Refusing work makes a server look fast.
_MOST_FAILED_SHARE = 0.05
# The file's own totals and rates are rounded and taken at slightly different moments.
_RATE_TOLERANCE = 0.02
# Mean latency times throughput is the mean number of requests in flight; it cannot be more than
# the client allowed. Ramp and drain only make it smaller.
_IN_FLIGHT_TOLERANCE = 0.05


def contradictions(report: BenchReport, now: datetime) -> tuple[str, ...]:
    """Say why a report is no measurement; nothing where it may be one."""
    if report.completed == 0:
        # Every other number of such a file is a zero that was never measured.
        total = report.asked or report.failed
        said = f"{report.failed} of {total} requests failed" if report.failed else "none"
        return (*report.problems, f"completed: {said}")
    return (
        *report.problems,
        *_counts(report),
        *(problem for value in report.values if (problem := _impossible(value, report))),
        *_requests(report),
        *_rates(report),
        *_order(report),
        *_when(report, now),
    )


def _counts(report: BenchReport) -> Iterator[str]:
    total = report.completed + report.failed
    if report.asked is not None and total != report.asked:
        yield f"completed + failed: {total}, but {report.asked} requests were asked for"
    failed = report.failed + report.silent
    if failed > _MOST_FAILED_SHARE * total:
        yield f"failed: {failed} of {total} requests failed"
    if report.duration_s is not None and not (
        math.isfinite(report.duration_s) and report.duration_s > 0
    ):
        yield f"duration: {report.duration_s} s"


def _impossible(value: Value, report: BenchReport) -> str | None:
    """A latency may be missing (written as 0), but not negative, endless or longer than the run."""
    if not math.isfinite(value.value) or value.value < 0:
        return f"{value.field}: {value.value:g} is not finite and non-negative"
    if value.metric.endswith("_ms") and report.duration_s is not None:
        limit = report.duration_s * 1000
        if value.value > limit * (1 + _RATE_TOLERANCE):
            return f"{value.field}: {value.value:g} ms, but the whole run took {limit:g} ms"
    return None


def _requests(report: BenchReport) -> Iterator[str]:
    for each in report.requests:
        times = (each.ttft_ms, each.e2e_ms, each.sent_ms, *each.itls_ms)
        bad = [t for t in times if t is not None and not (math.isfinite(t) and t >= 0)]
        if bad:
            yield f"request {each.index}: a time of {bad[0]:g} ms"
            return


def _value(report: BenchReport, metric: str, statistic: str = "mean") -> float | None:
    for each in report.values:
        if (each.metric, each.statistic, each.window) == (metric, statistic, "full"):
            return each.value if each.value > 0 else None
    return None


def _rates(report: BenchReport) -> Iterator[str]:
    """Rates must be the totals over the duration, and no more than the latencies allow."""
    pairs = (
        ("requests_per_s", float(report.completed), "completed"),
        ("output_tokens_per_s", report.output_tokens, "total_output_tokens"),
        ("input_tokens_per_s", report.input_tokens, "total_input_tokens"),
    )
    for metric, total, name in pairs:
        rate = _value(report, metric)
        if rate is None or not total or not report.duration_s or report.duration_s <= 0:
            continue
        if abs(rate * report.duration_s / total - 1) > _RATE_TOLERANCE:
            yield (
                f"{metric}: {rate:g} a second over {report.duration_s:g} s contradicts"
                f" {name} = {total:g}"
            )
    latency, rate = _value(report, "e2e_ms"), _value(report, "requests_per_s")
    if latency and rate and report.concurrency:
        in_flight = latency / 1000 * rate
        if in_flight > report.concurrency * (1 + _IN_FLIGHT_TOLERANCE):
            yield (
                f"requests_per_s: {rate:g} at a mean latency of {latency:g} ms means"
                f" {in_flight:.1f} requests in flight, but max_concurrency is"
                f" {report.concurrency}"
            )


def _order(report: BenchReport) -> Iterator[str]:
    ttft, whole = _value(report, "ttft_ms"), _value(report, "e2e_ms")
    if ttft and whole and ttft > whole * (1 + _RATE_TOLERANCE):
        yield f"ttft_ms: mean {ttft:g} is longer than the mean request of {whole:g} ms"
    for metric in ("ttft_ms", "tpot_ms", "itl_ms", "e2e_ms"):
        low, high = _value(report, metric, "p50"), _value(report, metric, "p99")
        if low and high and low > high:
            yield f"{metric}: p50 {low:g} is above p99 {high:g}"


def _when(report: BenchReport, now: datetime) -> Iterator[str]:
    if report.started_at is not None:
        problem = implausible_instant(report.started_at, now)
        if problem:
            yield f"date: {problem}"
