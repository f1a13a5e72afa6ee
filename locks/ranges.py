"""A remote file that can be read in parts: METADATA of a wheel of 300 MB takes 64 KiB."""

import io
from collections.abc import Callable

LARGEST_BYTES = 64 << 20
"""Of a file that is read whole where the server gives no parts of it."""
_BLOCK = 64 << 10


class RangedFile(io.RawIOBase):
    """Reads a file by ranges of bytes, in blocks that are kept."""

    def __init__(self, get: Callable[[int, int], bytes], size: int) -> None:
        """``get`` returns bytes from a start to an end (exclusive)."""
        super().__init__()
        self._get = get
        self._size = size
        self._at = 0
        self._blocks: dict[int, bytes] = {}

    def seekable(self) -> bool:
        """It is."""
        return True

    def readable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """Where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place, as files do."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes, all that is left where it is negative."""
        end = self._size if size < 0 else min(self._size, self._at + size)
        start = self._at
        if end <= start:
            return b""
        first, last = start // _BLOCK, (end - 1) // _BLOCK
        self._load(first, last)
        data = b"".join(self._blocks[number] for number in range(first, last + 1))
        self._at = end
        return data[start - first * _BLOCK : end - first * _BLOCK]

    def _load(self, first: int, last: int) -> None:
        """Fetch the blocks that are not there, those in a row by one request."""
        missing = [number for number in range(first, last + 1) if number not in self._blocks]
        if not missing:
            return
        start = missing[0] * _BLOCK
        end = min(self._size, (missing[-1] + 1) * _BLOCK)
        data = self._get(start, end)
        for number in range(missing[0], missing[-1] + 1):
            at = number * _BLOCK - start
            self._blocks[number] = data[at : at + _BLOCK]
