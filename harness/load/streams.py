"""What the events of one streamed answer say, each with the time at which its bytes arrived."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import httptools

from gauntlet.harness.load.event_reader import Exchange

_ERROR_TEXT = 300
Reads = Sequence[tuple[float, bytes]]


@dataclass(slots=True)
class Stream:
    """One answer. ``stamps`` are the arrivals of events with tokens, in monotonic seconds.

    ``counts`` are the output tokens told by each such event (None where the stream does not say),
    ``visible`` is the first event that a reader would see: not reasoning.
    """

    stamps: list[float] = field(default_factory=list)
    counts: list[int | None] = field(default_factory=list)
    visible: float | None = None
    finish: str | None = None
    usage: dict[str, Any] | None = None
    error: str = ""
    done: bool = False
    broken: str = ""
    coalesced: int = 0

    def tokens_per_event(self) -> list[int] | None:
        """Output tokens of each event; None where neither the stream nor its total tells."""
        total = (self.usage or {}).get("completion_tokens")
        if self.counts and all(count is not None for count in self.counts):
            told = [count or 0 for count in self.counts]
            return [after - before for before, after in zip([0, *told], told, strict=False)]
        if total is not None and total == len(self.stamps):
            return [1] * len(self.stamps)
        return None


def body_reads(exchange: Exchange) -> Reads:
    """The response's body, read by read, without HTTP's framing.

    A part that cannot be parsed ends the list; the exchange's own failure says why.
    """
    if exchange.framing == "body":
        return [(kernel, data) for _, kernel, data in exchange.reads]
    body = _Body()
    parser: Any = httptools.HttpResponseParser(body)
    for _, kernel, data in exchange.reads:
        body.stamp = kernel
        try:
            parser.feed_data(data)
        except httptools.HttpParserError:
            break
    return body.reads


class _Body:
    def __init__(self) -> None:
        self.stamp = 0.0
        self.reads: list[tuple[float, bytes]] = []

    def on_body(self, data: bytes) -> None:
        self.reads.append((self.stamp, data))


def read_stream(reads: Reads) -> Stream:
    """Read the server-sent events of one answer; an event has the time that completed it."""
    stream = Stream()
    for stamp, data in _events(reads):
        if data == b"[DONE]":
            stream.done = True
            continue
        try:
            event = json.loads(data)
        except ValueError:
            event = None
        if not isinstance(event, dict):
            stream.broken = f"not a JSON object: {data[:80]!r}"
            continue
        _take(stream, stamp, event)
    return stream


def _take(stream: Stream, stamp: float, event: dict[str, Any]) -> None:
    if "error" in event:
        stream.error = json.dumps(event["error"])[:_ERROR_TEXT]
    usage = event.get("usage")
    stream.usage = usage or stream.usage
    for choice in event.get("choices") or ():
        stream.finish = choice.get("finish_reason") or stream.finish
        if not _has_token(choice):
            continue
        if stream.stamps and stream.stamps[-1] == stamp:
            stream.coalesced += 1
        stream.stamps.append(stamp)
        stream.counts.append((usage or {}).get("completion_tokens"))
        if stream.visible is None and _is_visible(choice):
            stream.visible = stamp


def _has_token(choice: dict[str, Any]) -> bool:
    """Whether a choice brings a token, be it one whose text the server still holds back.

    A chunk of a role alone is none, nor one that only ends the answer.
    """
    delta = choice.get("delta")
    if delta is None:
        return bool(choice.get("text")) or _held_back(choice, choice.get("text"))
    if delta.get("content") or _reasoning(delta) or delta.get("tool_calls"):
        return True
    return "role" not in delta and _held_back(choice, delta.get("content"))


def _held_back(choice: dict[str, Any], text: object) -> bool:
    return text == "" and choice.get("finish_reason") is None


def _is_visible(choice: dict[str, Any]) -> bool:
    return not _reasoning(choice.get("delta") or {})


def _reasoning(delta: dict[str, Any]) -> object:
    return delta.get("reasoning_content") or delta.get("reasoning")


def _events(reads: Reads) -> Iterator[tuple[float, bytes]]:
    """Split reads into ``data:`` payloads, however the network cut them."""
    rest = b""
    for stamp, data in reads:
        joined = rest + data if rest else data
        if b"\r" in joined:
            # Half a line end stays in the rest until its other half comes.
            joined = joined.replace(b"\r\n", b"\n")
        *whole, rest = joined.split(b"\n\n")
        for block in whole:
            for line in block.split(b"\n") if b"\n" in block else (block,):
                if line.startswith(b"data:"):
                    yield stamp, line[5:].strip()
