"""One look at one source, and the file that such looks are kept in."""

import gzip
import json
import math
import time
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.scoped import Scoped

_FLUSH_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What one source saw of one device at one instant.

    ``at`` is in Unix seconds. Units are part of the names in ``values``; counters are as the source
    counts them, since its start. What could not be seen is not there.
    """

    at: float
    source: str
    device: str
    values: Mapping[str, float]

    def to_line(self) -> str:
        """One line of JSON, numbers that JSON cannot hold left out."""
        values = {key: value for key, value in self.values.items() if math.isfinite(value)}
        record = {"at": round(self.at, 6), "source": self.source, "device": self.device}
        return json.dumps({**record, "values": values}, separators=(",", ":"))

    @classmethod
    def from_line(cls, line: str) -> "Sample":
        """Read one line. Raises ValueError where it is none."""
        try:
            record = json.loads(line)
            return cls(
                at=float(record["at"]),
                source=str(record["source"]),
                device=str(record["device"]),
                values={str(key): float(value) for key, value in record["values"].items()},
            )
        except (LookupError, TypeError, AttributeError) as error:
            msg = f"no sample: {line[:200]!r}"
            raise ValueError(msg) from error


class SampleFile(Scoped):
    """``telemetry.jsonl.gz``, written as it comes and readable after a kill at any moment."""

    def __init__(self, path: Path) -> None:
        """Open for writing; what an earlier run left there is kept, without its torn end.

        Raises InfrastructureError where the file cannot be written.
        """
        self.path = path
        partial = path.with_name(f".{path.name}.earlier")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if path.exists():
                path.replace(partial)
            self._stream = gzip.open(path, "wt", encoding="utf-8", compresslevel=3)  # noqa: SIM115
            if partial.exists():
                for sample in read_samples(partial):
                    self._stream.write(f"{sample.to_line()}\n")
                self._stream.flush()
                partial.unlink()
        except OSError as error:
            msg = f"cannot write {path}: {error.strerror or error}"
            raise InfrastructureError(
                msg, hint="free some space or choose another folder"
            ) from error
        self._flushed_s = time.monotonic()

    def add(self, sample: Sample) -> None:
        """Append one sample; on disk after ten seconds at the latest. Raises OSError."""
        self._stream.write(f"{sample.to_line()}\n")
        if time.monotonic() - self._flushed_s >= _FLUSH_S:
            self.flush()

    def flush(self) -> None:
        """Bring to disk what was added. Raises OSError."""
        self._flushed_s = time.monotonic()
        self._stream.flush()

    def close(self) -> None:
        """End the file. Raises OSError where the rest does not fit on the disk."""
        self._stream.close()


def read_samples(
    path: Path, *, start: float = -math.inf, end: float = math.inf
) -> Iterator[Sample]:
    """Yield the samples of a file between two instants (Unix seconds, both included).

    A torn end, as a kill leaves it, is left out. Raises ValueError for a line that is no sample.
    """
    for line in _whole_lines(path):
        sample = Sample.from_line(line)
        if start <= sample.at <= end:
            yield sample


def _whole_lines(path: Path) -> Iterator[str]:
    with gzip.open(path, "rb") as stream:
        while True:
            try:
                line = stream.readline()
            except (EOFError, zlib.error, gzip.BadGzipFile):
                return
            if not line.endswith(b"\n"):
                return
            yield line.decode()
