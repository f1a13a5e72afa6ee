"""The body of a request: decoded piece by piece into a file, and whole before anybody uses it.

The engine stores an INSERT block by block, so data that reached it cannot be taken back when the
rest of the body never comes. Hence nothing reaches it before the end of the body was seen.
"""

import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import Protocol

from gauntlet.warehouse.server.protocol import CANNOT_DECOMPRESS, NOT_ENOUGH_SPACE, refusal

PIECE_BYTES = 1 << 20
_IN_MEMORY_BYTES = 1 << 20

Spool = SpooledTemporaryFile[bytes]


def new_spool(scratch: Path) -> Spool:
    """A nameless file that is in memory while it is small, and gone once it is closed."""
    return SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES, mode="w+b", dir=str(scratch))


def pieces(spool: Spool) -> Iterator[bytes]:
    """Read a spool from where it stands, a bounded piece at a time."""
    while piece := spool.read(PIECE_BYTES):
        yield piece


def store(spool: Spool, data: bytes) -> None:
    """Append to a spool. Raises RefusedError where the disk is full."""
    try:
        spool.write(data)
    except OSError as error:
        raise refusal(NOT_ENOUGH_SPACE, f"cannot keep the data: {error.strerror}") from error


class Decoder(Protocol):
    """Undoes a Content-Encoding, a bounded piece at a time."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Decode what comes next. Raises RefusedError where it cannot be decoded."""

    def finish(self) -> None:
        """Raise RefusedError where the encoded data is cut."""


class _FrameDecompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes | None: ...
    def decompress(self, data: bytes, max_length: int = ...) -> bytes: ...


def decoder(encoding: str | None) -> Decoder:
    """The decoder of a Content-Encoding. Raises RefusedError for one that is not known."""
    if encoding is None:
        return _Plain()
    if encoding == "lz4":
        from lz4.frame import LZ4FrameDecompressor

        return _Frames("lz4", LZ4FrameDecompressor)
    if encoding == "zstd":
        if sys.version_info >= (3, 14):
            from compression.zstd import ZstdDecompressor
        else:
            from backports.zstd import ZstdDecompressor

        return _Frames("zstd", ZstdDecompressor)
    if encoding in {"gzip", "deflate"}:
        return _Zlib(encoding)
    reason = f"Content-Encoding {encoding} is not served: lz4, zstd, gzip and deflate are"
    raise refusal(CANNOT_DECOMPRESS, reason)


class _Plain:
    def feed(self, data: bytes) -> Iterator[bytes]:
        yield data

    def finish(self) -> None:
        """Plain data has no end of its own: the transport tells whether it is whole."""


class _Frames:
    """Frames one after another; the client sends one for each block."""

    def __init__(self, name: str, new: Callable[[], _FrameDecompressor]) -> None:
        self._name = name
        self._new = new
        self._frame: _FrameDecompressor | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data or (self._frame is not None and not self._frame.needs_input):
            self._frame = frame = self._frame or self._new()
            try:
                piece = frame.decompress(data, PIECE_BYTES)
            # Each library has an error of its own.
            except Exception as error:
                raise refusal(CANNOT_DECOMPRESS, f"{self._name}: {error}") from error
            data = b""
            if frame.eof:
                data = frame.unused_data or b""
                self._frame = None
            if piece:
                yield piece

    def finish(self) -> None:
        if self._frame is not None:
            raise refusal(CANNOT_DECOMPRESS, f"{self._name}: the data is cut")


class _Zlib:
    """gzip (members one after another) and deflate."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._window = 31 if name == "gzip" else zlib.MAX_WBITS
        self._member = zlib.decompressobj(self._window)
        self._fed = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        more = False
        while data or more:
            if self._member.eof:
                self._member = zlib.decompressobj(self._window)
            self._fed = True
            try:
                piece = self._member.decompress(data, PIECE_BYTES)
            except zlib.error as error:
                raise refusal(CANNOT_DECOMPRESS, f"{self._name}: {error}") from error
            data = self._member.unused_data or self._member.unconsumed_tail
            # A full piece: there may be more of it, though all of the input was taken.
            more = len(piece) == PIECE_BYTES and not self._member.eof
            if piece:
                yield piece

    def finish(self) -> None:
        if self._fed and not self._member.eof:
            raise refusal(CANNOT_DECOMPRESS, f"{self._name}: the data is cut")
