"""Telemetry of one repetition: sampled beside it, summed up over it, kept with it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from gauntlet.core.scoped import Scoped
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.telemetry.rows import telemetry_rows
from gauntlet.harness.telemetry.sampler import Sampler, SourceTrouble
from gauntlet.harness.telemetry.samples import read_samples
from gauntlet.harness.telemetry.sources.everything import engine_sources, machine_sources
from gauntlet.harness.telemetry.summary import TelemetrySummary, summarise
from gauntlet.warehouse.rows.telemetry import TelemetryRow

FILE = "telemetry.jsonl.gz"


class Watched(Scoped):
    """Samples an engine, its host and its accelerators while the block runs."""

    def __init__(self, engine: RunningEngine, folder: Path, *, extra: Sequence[str] = ()) -> None:
        sources = [*engine_sources(engine, extra_metrics=extra), *machine_sources()]
        self.path = folder / FILE
        self._sampler = Sampler(sources, path=self.path)
        self._start = self._sampler.mark()
        self._end: float | None = None

    def close(self) -> None:
        """Look a last time and end. Safe to call again."""
        if self._end is None:
            self._end = self._sampler.mark()
            self._sampler.close()

    def summary(self) -> TelemetrySummary:
        """What was seen since the start; ends the sampling."""
        self.close()
        return summarise(read_samples(self.path), self._start, (self._end or self._start) + 1.0)

    def hit_share(self) -> float | None:
        """Share of prompt tokens that the server took from its prefix cache, None if unknown."""
        return self.summary().prefix_cache_hit_rate

    def rows(self, run_id: str, repetition_id: str) -> tuple[TelemetryRow, ...]:
        """Warehouse rows of all samples."""
        return tuple(telemetry_rows(read_samples(self.path), run_id, lambda _at: repetition_id))

    @property
    def troubles(self) -> Mapping[str, SourceTrouble]:
        """Sources that failed, by name."""
        return {trouble.source: trouble for trouble in self._sampler.troubles}
