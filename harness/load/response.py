"""Where one HTTP/1.1 response ends: enough of the protocol to know when to send the next request.

The content is not looked at. Heads are parsed by httptools once complete; chunks are walked by
their sizes, which costs under a microsecond each.
"""

from enum import IntEnum
from typing import Any

import httptools

_MOST_HEAD = 1 << 16


class Broken(Exception):  # noqa: N818 - a state of a stream, not an error of ours
    """The bytes are no HTTP response."""


class _Mode(IntEnum):
    HEAD = 0
    CHUNKED = 1
    LENGTH = 2
    UNTIL_CLOSE = 3


class Response:
    """One response in flight; fed with each read, it tells when the message is complete."""

    __slots__ = ("_head", "_left", "_line", "_mode", "_trailer", "keep_alive", "status")

    def __init__(self) -> None:
        self.status = 0
        self.keep_alive = True
        self._mode = _Mode.HEAD
        self._head = b""
        # Chunked: bytes left of the present chunk, with the line end behind it.
        self._left = 0
        self._line = b""
        self._trailer = False

    def feed(self, arena: bytearray, start: int, end: int) -> bool:
        """Take ``arena[start:end]``; return whether the message is complete. Raises Broken."""
        if self._mode is _Mode.CHUNKED:
            if self._line:
                joined = bytearray(self._line) + arena[start:end]
                self._line = b""
                return self._walk(joined, 0, len(joined))
            return self._walk(arena, start, end)
        if self._mode is _Mode.HEAD:
            return self._read_head(bytes(arena[start:end]))
        self._left -= end - start
        return self._mode is _Mode.LENGTH and self._left <= 0

    def ends_with_connection(self) -> bool:
        """Whether the end of the connection is the proper end of this message."""
        return self._mode is _Mode.UNTIL_CLOSE

    def _walk(self, data: bytearray, start: int, end: int) -> bool:
        at = start
        left = self._left
        while True:
            if left:
                if left > end - at:
                    self._left = left - (end - at)
                    return False
                at += left
                left = 0
            line_end = data.find(b"\r\n", at, end)
            if line_end < 0:
                return self._keep_partial(data, at, end)
            line = data[at:line_end]
            at = line_end + 2
            if self._trailer:
                if not line:
                    return True
                continue
            try:
                left = int(line.split(b";", 1)[0], 16) + 2
            except ValueError as error:
                msg = f"not the size of a chunk: {bytes(line[:40])!r}"
                raise Broken(msg) from error
            if left == 2:
                self._trailer, left = True, 0

    def _keep_partial(self, data: bytearray, at: int, end: int) -> bool:
        """Keep a size line that the read cut, until the next read brings the rest."""
        self._left = 0
        self._line = bytes(data[at:end])
        if len(self._line) > _MOST_HEAD:
            msg = "a chunk whose size line never ends"
            raise Broken(msg)
        return False

    def _read_head(self, data: bytes) -> bool:
        self._head += data
        split = self._head.find(b"\r\n\r\n")
        if split < 0:
            if len(self._head) > _MOST_HEAD:
                msg = "a head of more than 64 KiB"
                raise Broken(msg)
            return False
        head, rest = self._head[: split + 4], bytearray(self._head[split + 4 :])
        self._head = b""
        fields = _Head(head)
        if 100 <= fields.status < 200:
            return self._read_head(bytes(rest))
        self.status = fields.status
        self.keep_alive = fields.keep_alive
        if fields.chunked:
            self._mode = _Mode.CHUNKED
            return self._walk(rest, 0, len(rest))
        if fields.length is None and self.status not in {204, 304}:
            self._mode = _Mode.UNTIL_CLOSE
            self.keep_alive = False
            return False
        self._mode = _Mode.LENGTH
        self._left = (fields.length or 0) - len(rest)
        return self._left <= 0


class _Head:
    """Status line and headers of one response."""

    def __init__(self, head: bytes) -> None:
        self.chunked = False
        self.length: int | None = None
        parser: Any = httptools.HttpResponseParser(self)
        try:
            parser.feed_data(head)
            self.status = int(parser.get_status_code())
            self.keep_alive = bool(parser.should_keep_alive())
        except (httptools.HttpParserError, ValueError) as error:
            msg = f"no HTTP response: {head[:60]!r}"
            raise Broken(msg) from error

    def on_header(self, name: bytes, value: bytes) -> None:
        lowered = name.lower()
        if lowered == b"transfer-encoding":
            self.chunked = value.lower().endswith(b"chunked")
        elif lowered == b"content-length":
            self.length = int(value)
