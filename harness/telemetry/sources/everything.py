"""All that is looked at while an engine is measured."""

from collections.abc import Sequence

from gauntlet.harness.engines.launch import External
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.telemetry.gpu.choose import gpu_source
from gauntlet.harness.telemetry.source import Source
from gauntlet.harness.telemetry.sources.engine import EngineMetricsSource
from gauntlet.harness.telemetry.sources.host import HostSource
from gauntlet.harness.telemetry.sources.processes import ProcessTreeSource


def engine_sources(
    engine: RunningEngine, *, label: str = "", extra_metrics: Sequence[str] = ()
) -> list[Source]:
    """Metrics and processes of a ready engine; ``label`` tells it from others of the same run.

    Raises EngineError where it is not ready.
    """
    outside = isinstance(engine.spec.where, External)
    sources: list[Source] = [
        EngineMetricsSource(
            url,
            label="/".join(filter(None, (label, name))),
            extra=extra_metrics,
            trust_env=outside,
        )
        for name, url in engine.servers.items()
    ]
    if not outside:
        sources.append(ProcessTreeSource(lambda: engine.root_pids, label=label))
    return sources


def machine_sources(*, dcgm_url: str | None = None) -> list[Source]:
    """Host and accelerators; once a run, however many engines it has."""
    return [HostSource(), gpu_source(dcgm_url=dcgm_url)]
