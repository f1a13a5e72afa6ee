"""Samples as rows of the warehouse."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime

from gauntlet.harness.telemetry.samples import Sample
from gauntlet.warehouse.rows.telemetry import TelemetryRow


def telemetry_rows(
    samples: Iterable[Sample],
    run_id: str,
    repetition_at: Callable[[float], str] = lambda _at: "",
) -> Iterator[TelemetryRow]:
    """Make a row of each value; ``repetition_at`` names an instant's repetition, or is empty."""
    for sample in samples:
        at = datetime.fromtimestamp(sample.at, UTC)
        repetition = repetition_at(sample.at)
        for metric, value in sample.values.items():
            yield TelemetryRow(
                run_id=run_id,
                repetition_id=repetition,
                at=at,
                source=sample.source,
                device=sample.device,
                metric=metric,
                value=value,
            )
