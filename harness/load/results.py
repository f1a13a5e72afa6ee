"""From raw exchanges to results: pure functions, run after the load is over."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from gauntlet.harness.load.event_reader import Exchange, LoadLog
from gauntlet.harness.load.streams import Stream, body_reads, read_stream

_ERROR_TEXT = 300
_BROKEN_FINISH = frozenset({"abort", "error", "content_filter"})
Times = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestResult:
    """What one request came to. Latencies are None unless the request is ``ok``.

    ``ttft_ms``: from the write of the request to the arrival of its first token.
    ``tpot_ms``: (last token - first token) / (output tokens - 1); None with a single token.
    ``e2e_ms``: from the write of the request to the arrival of its last token.
    ``sent_ms`` and ``scheduled_ms`` count from the start of the load.
    """

    index: int
    status: str
    error: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    scheduled_ms: float | None = None
    sent_ms: float
    ttft_ms: float | None = None
    tpot_ms: float | None = None
    itl_p50_ms: float | None = None
    itl_p99_ms: float | None = None
    itl_max_ms: float | None = None
    e2e_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    """What the metrics need of a request beyond its row.

    ``stamps_ms`` are the arrivals of events with tokens, ``tokens`` how many each brought (None
    where unknown), ``first_visible_ms`` is TTFT to the first token that is not reasoning.
    ``never_sent``: the load ended, or its conversation did, before its turn came.
    """

    stamps_ms: Times = field(default_factory=lambda: np.empty(0))
    tokens: Times | None = None
    first_visible_ms: float | None = None
    finish: str | None = None
    coalesced: int = 0
    resent: bool = False
    never_sent: bool = False
    shared_tokens: int | None = None
    turn: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A request's result and the detail behind it."""

    result: RequestResult
    detail: Detail


def request_results(log: LoadLog) -> list[RequestResult]:
    """Judge every exchange of a load, in the order of the plan."""
    return [outcome.result for outcome in outcomes(log)]


def outcomes(log: LoadLog) -> list[Outcome]:
    """Judge every exchange of a load, with the times of its tokens."""
    return [judge_exchange(exchange, log.started) for exchange in log.exchanges]


def judge_exchange(exchange: Exchange, started: float) -> Outcome:
    """Judge one exchange; ``started`` is the load's start in monotonic seconds."""
    stream = Stream()
    status, error = _transport_status(exchange)
    if not status:
        stream = read_stream(body_reads(exchange))
        status, error = _stream_status(stream, exchange)
    request = exchange.request
    sent = exchange.sent if exchange.sent is not None else exchange.ended or started
    usage = stream.usage or {}
    scheduled = exchange.scheduled
    stamps = (np.asarray(stream.stamps) - started) * 1e3
    tokens = stream.tokens_per_event()
    ok = status == "ok"
    result = RequestResult(
        index=request.index,
        status=status,
        error=error,
        prompt_tokens=usage.get("prompt_tokens"),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        output_tokens=usage.get("completion_tokens"),
        scheduled_ms=None if scheduled is None else max(0.0, (scheduled - started) * 1e3),
        sent_ms=max(0.0, (sent - started) * 1e3),
        **(_latencies(stamps, (sent - started) * 1e3, usage) if ok else {}),
    )
    visible = stream.visible
    detail = Detail(
        stamps_ms=stamps if ok else np.empty(0),
        tokens=np.asarray(tokens, dtype=float) if ok and tokens is not None else None,
        first_visible_ms=(visible - sent) * 1e3 if ok and visible is not None else None,
        finish=stream.finish,
        coalesced=stream.coalesced if ok else 0,
        resent=exchange.resent,
        never_sent=exchange.sent is None,
        shared_tokens=request.shared_tokens,
        turn=request.turn,
    )
    return Outcome(result=result, detail=detail)


def _latencies(stamps: Times, sent_ms: float, usage: dict[str, int]) -> dict[str, float | None]:
    first, last = float(stamps[0]), float(stamps[-1])
    output = usage.get("completion_tokens") or 0
    gaps = np.diff(stamps)
    return {
        "ttft_ms": first - sent_ms,
        "tpot_ms": (last - first) / (output - 1) if output > 1 else None,
        "itl_p50_ms": float(np.percentile(gaps, 50)) if gaps.size else None,
        "itl_p99_ms": float(np.percentile(gaps, 99)) if gaps.size else None,
        "itl_max_ms": float(gaps.max()) if gaps.size else None,
        "e2e_ms": last - sent_ms,
    }


def _transport_status(exchange: Exchange) -> tuple[str, str]:
    """Class of a failure below the stream; empty where the response came whole."""
    if exchange.sent is None:
        return "not-sent", ""
    if exchange.status is not None and exchange.status != 200:
        body = b"".join(data for _, data in body_reads(exchange)).decode(errors="replace")
        return f"http-{exchange.status}", body[:_ERROR_TEXT]
    if exchange.ended is None:
        return "cancelled", "the load ended before the answer did"
    if exchange.failure:
        return exchange.failure, ""
    return "", ""


def _stream_status(stream: Stream, exchange: Exchange) -> tuple[str, str]:
    request = exchange.request
    usage = stream.usage or {}
    output, prompt = usage.get("completion_tokens"), usage.get("prompt_tokens")
    asked, wanted = request.output_tokens, request.prompt_tokens
    wrong = output is not None and (output != asked if request.exact else output > asked)
    bound = "" if request.exact else "at most "
    # In order of what explains most: an error event also leaves the stream short.
    rules = (
        (bool(stream.broken), "protocol-error", stream.broken),
        (bool(stream.error), "error-event", stream.error),
        (not stream.stamps, "empty", "no token came"),
        (
            not stream.done or stream.finish is None,
            "truncated",
            "the stream ended without a finish reason or [DONE]",
        ),
        (stream.finish in _BROKEN_FINISH, "wrong-finish", f"it finished by {stream.finish!r}"),
        (output is None, "no-usage", "the stream gave no token counts"),
        (wrong, "wrong-length", f"{output} tokens for {bound}{asked} asked"),
        (
            wanted is not None and prompt != wanted,
            "wrong-prompt",
            f"the server counted {prompt} prompt tokens of the {wanted} sent",
        ),
    )
    return next(((status, why) for holds, status, why in rules if holds), ("ok", ""))


def failures_of(results: Sequence[RequestResult]) -> list[str]:
    """Classes of the requests that failed."""
    return [result.status for result in results if result.status != "ok"]
