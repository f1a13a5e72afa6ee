"""Did a client measure what it was asked to? Its exit status is the last thing to ask.

``vllm bench serve`` and ``vllm-rs bench serve`` end with status 0 when every request failed, leave
failed ones out of their latencies and throughput, and wait six hours for a stream that stalls.
"""

from collections.abc import Iterator
from datetime import datetime

from gauntlet.harness.clients.port import ClientLoad
from gauntlet.warehouse.results.bench_checks import contradictions
from gauntlet.warehouse.results.bench_report import BenchReport

# Their totals may be rounded, and the clock that they use is not ours.
_TOLERANCE = 0.02
# An open loop cannot be over before its last request is due.
_LEAST_OPEN_SHARE = 0.9


def distrust(
    report: BenchReport, load: ClientLoad, *, seconds: float, now: datetime
) -> tuple[str, ...]:
    """Say why a result is no measurement of ``load``; ``seconds`` is how long the client ran.

    Each reason begins with its class: ``requests``, ``tokens``, ``duration``, ``load`` or
    ``contradiction``.
    """
    return (
        *_requests(report, load),
        *_tokens(report, load),
        *_duration(report, load, seconds),
        *_load(report, load),
        *(f"contradiction: {each}" for each in contradictions(report, now)),
    )


def _requests(report: BenchReport, load: ClientLoad) -> Iterator[str]:
    if report.completed != load.requests:
        yield f"requests: {report.completed} completed of {load.requests} asked"
    if report.failed:
        why = report.settings.get("failures")
        yield f"requests: {report.failed} failed" + (f" ({why})" if why else "")


def _tokens(report: BenchReport, load: ClientLoad) -> Iterator[str]:
    asked = load.requests * load.output_tokens
    if report.output_tokens is None:
        yield "tokens: the result does not say how many came"
    elif report.output_tokens != asked:
        yield f"tokens: {report.output_tokens:g} came of {asked} asked"


def _duration(report: BenchReport, load: ClientLoad, seconds: float) -> Iterator[str]:
    took = report.duration_s
    if took is None or not took > 0:
        yield f"duration: {'none given' if took is None else f'{took:g} s'}"
        return
    if took > seconds * (1 + _TOLERANCE):
        yield f"duration: {took:g} s, but the client itself ran {seconds:g} s"
    if load.rate is not None:
        least = _LEAST_OPEN_SHARE * (load.requests - 1) / load.rate
        if took < least:
            yield f"duration: {took:g} s, but the last request was not due before {least:g} s"


def _load(report: BenchReport, load: ClientLoad) -> Iterator[str]:
    closed = load.rate is None and load.concurrency is not None
    if closed and report.concurrency not in {None, load.concurrency}:
        yield f"load: {report.concurrency} streams instead of {load.concurrency}"
    if report.model and report.model != load.model:
        yield f"load: the model {report.model!r} instead of {load.model!r}"
