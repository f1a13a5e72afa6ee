"""Look at every source once a second, on an absolute schedule, in one thread."""

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.scoped import Scoped
from gauntlet.harness.telemetry.samples import Sample, SampleFile
from gauntlet.harness.telemetry.source import Source, SourceError

_LOGGER = logging.getLogger(__name__)
_MARK_WAIT_S = 5.0
_END_WAIT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTrouble:
    """What a source failed with first, and how often it failed."""

    source: str
    first_error: str
    count: int


class Sampler(Scoped):
    """Samples while its block runs; whoever measures waits for it only to mark an instant.

    A source that fails is noted in ``troubles`` and asked again; the others go on. Ticks that come
    while a slow source is read are left out, so that late looks never pile up.
    """

    def __init__(self, sources: Sequence[Source], *, path: Path, interval_s: float = 1.0) -> None:
        """Start at once. Raises InfrastructureError where ``path`` cannot be written."""
        self.path = path
        self._sources = tuple(sources)
        self._interval_s = interval_s
        self._file = SampleFile(path)
        self._lock = threading.Lock()
        self._troubles: dict[str, SourceTrouble] = {}
        self._wake = threading.Event()
        self._ending = threading.Event()
        self._marks: list[threading.Event] = []
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        self._thread.start()

    @property
    def troubles(self) -> tuple[SourceTrouble, ...]:
        """Sources that failed so far; ``file`` is the disk."""
        with self._lock:
            return tuple(self._troubles.values())

    def mark(self) -> float:
        """Look now, bring all to disk, and return the instant (Unix seconds) just after.

        At both ends of a repetition this makes its counters exact. Waits a few seconds at most;
        where a source is too slow even for that, the look comes later.
        """
        done = threading.Event()
        with self._lock:
            self._marks.append(done)
        self._wake.set()
        if self._thread.is_alive():
            done.wait(_MARK_WAIT_S)
        return time.time()

    def close(self) -> None:
        """Look a last time and end the file. Safe to call again."""
        self._ending.set()
        self._wake.set()
        self._thread.join(_END_WAIT_S)

    def _run(self) -> None:
        start = time.monotonic()
        tick = 0
        while not self._ending.is_set():
            self._look()
            # The next tick that is still to come, counted from the start.
            tick = max(tick + 1, int((time.monotonic() - start) / self._interval_s) + 1)
            self._sleep_until(start + tick * self._interval_s)
        self._look()
        for source in self._sources:
            source.close()
        try:
            self._file.close()
        except OSError as error:
            self._note("file", error)

    def _sleep_until(self, due: float) -> None:
        """Sleep until a tick; marks are served meanwhile."""
        while not self._ending.is_set():
            left = due - time.monotonic()
            if left <= 0 or not self._wake.wait(left):
                return
            self._wake.clear()
            with self._lock:
                marked = bool(self._marks)
            if marked:
                self._look()

    def _look(self) -> None:
        with self._lock:
            marks, self._marks = self._marks, []
        # One instant for all that is seen in one look, so that servers can be added up.
        at = time.time()
        for source in self._sources:
            try:
                readings = source.read()
            except (SourceError, OSError, ValueError) as error:
                self._note(source.name, error)
                continue
            for reading in readings:
                self._keep(
                    Sample(at=at, source=source.name, device=reading.device, values=reading.values)
                )
        if marks:
            try:
                self._file.flush()
            except OSError as error:
                self._note("file", error)
        for mark in marks:
            mark.set()

    def _keep(self, sample: Sample) -> None:
        try:
            self._file.add(sample)
        except OSError as error:
            self._note("file", error)

    def _note(self, source: str, error: Exception) -> None:
        with self._lock:
            before = self._troubles.get(source)
            first = before.first_error if before else f"{type(error).__name__}: {error}"
            count = before.count + 1 if before else 1
            self._troubles[source] = SourceTrouble(source=source, first_error=first, count=count)
        if before is None:
            _LOGGER.warning("telemetry of %s: %s", source, first)
