"""From raw exchanges to results: pure functions, run after the load is over."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from gauntlet.harness.load.client import Exchange, LoadLog

_ERROR_TEXT = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestResult:
    """What one request came to. Latencies are None unless the request is ``ok``.

    ``ttft_ms``: from the write of the request to the read of the first token.
    ``tpot_ms``: (last token - first token) / (output tokens - 1); None with a single token.
    ``e2e_ms``: from the write of the request to the read of the last token.
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
    e2e_ms: float | None = None


@dataclass(slots=True)
class _Stream:
    """What the events of one response said."""

    first: float | None = None
    last: float = 0.0
    finish: str | None = None
    usage: dict[str, Any] | None = None
    error: str = ""
    done: bool = False
    broken: str = ""


def request_results(log: LoadLog) -> list[RequestResult]:
    """Judge every exchange of a load, in the order of the plan."""
    ordered = sorted(log.exchanges, key=lambda exchange: exchange.request.index)
    return [_result(exchange, log.started) for exchange in ordered]


def _result(exchange: Exchange, started: float) -> RequestResult:
    stream = _Stream()
    status, error = _transport_status(exchange)
    if not status:
        stream = read_stream(exchange.reads)
        status, error = _stream_status(stream, exchange)
    scheduled = exchange.scheduled
    usage = stream.usage or {}
    ok = status == "ok" and stream.first is not None
    output = usage.get("completion_tokens")
    first = stream.first if stream.first is not None else 0.0
    return RequestResult(
        index=exchange.request.index,
        status=status,
        error=error,
        prompt_tokens=usage.get("prompt_tokens"),
        cached_tokens=(usage.get("prompt_tokens_details") or {}).get("cached_tokens"),
        output_tokens=output,
        scheduled_ms=None if scheduled is None else max(0.0, (scheduled - started) * 1e3),
        sent_ms=max(0.0, (exchange.sent - started) * 1e3),
        ttft_ms=(first - exchange.sent) * 1e3 if ok else None,
        tpot_ms=(stream.last - first) * 1e3 / (output - 1)
        if ok and output and output > 1
        else None,
        e2e_ms=(stream.last - exchange.sent) * 1e3 if ok else None,
    )


def _transport_status(exchange: Exchange) -> tuple[str, str]:
    """Class of a failure below the stream; empty where the response came whole."""
    if exchange.status is not None and exchange.status != 200:
        body = b"".join(data for _, data in exchange.reads).decode(errors="replace")
        return f"http-{exchange.status}", body[:_ERROR_TEXT]
    if exchange.failure:
        return exchange.failure, ""
    return "", ""


def _stream_status(stream: _Stream, exchange: Exchange) -> tuple[str, str]:
    output = (stream.usage or {}).get("completion_tokens")
    asked = exchange.request.output_tokens
    # In order of what explains most: an error event also leaves the stream short.
    rules = (
        (bool(stream.broken), "protocol-error", stream.broken),
        (bool(stream.error), "error-event", stream.error),
        (stream.first is None, "empty", "no token came"),
        (
            not stream.done or stream.finish is None,
            "truncated",
            "the stream ended without a finish reason or [DONE]",
        ),
        (output is None, "no-usage", "the stream gave no token counts"),
        (output != asked, "wrong-length", f"{output} tokens for {asked} asked"),
    )
    return next(((status, why) for holds, status, why in rules if holds), ("ok", ""))


def read_stream(reads: Sequence[tuple[float, bytes]]) -> _Stream:
    """Read the server-sent events of one response; an event has the time that completed it."""
    stream = _Stream()
    for stamp, data in _events(reads):
        if data == b"[DONE]":
            stream.done = True
            continue
        try:
            event = json.loads(data)
        except ValueError:
            stream.broken = f"not JSON: {data[:80]!r}"
            continue
        if "error" in event:
            stream.error = json.dumps(event["error"])[:_ERROR_TEXT]
        stream.usage = event.get("usage") or stream.usage
        for choice in event.get("choices") or ():
            stream.finish = choice.get("finish_reason") or stream.finish
            if _has_token(choice):
                stream.first = stamp if stream.first is None else stream.first
                stream.last = stamp
    return stream


def _has_token(choice: dict[str, Any]) -> bool:
    delta = choice.get("delta") or {}
    return bool(
        choice.get("text")
        or delta.get("content")
        or delta.get("reasoning_content")
        or delta.get("tool_calls")
    )


def _events(reads: Sequence[tuple[float, bytes]]) -> Iterator[tuple[float, bytes]]:
    """Split reads into ``data:`` payloads, however the network cut them."""
    rest = b""
    for stamp, data in reads:
        *whole, rest = (rest + data).replace(b"\r\n", b"\n").split(b"\n\n")
        for block in whole:
            for line in block.split(b"\n"):
                if line.startswith(b"data:"):
                    yield stamp, line[5:].strip()
