"""Rows of what engine, host and accelerators did while something was measured."""

from typing import ClassVar

from pydantic import FiniteFloat

from gauntlet.warehouse.rows.base import Row, UtcTime


class TelemetryRow(Row):
    """One value of one look at one device of one source.

    ``repetition_id`` is empty between repetitions. Units are part of ``metric``; counters are as
    the source counts them, since its start.
    """

    table: ClassVar[str] = "telemetry"
    identity = ("run_id", "source", "device", "metric", "at")
    day = "at"

    run_id: str
    repetition_id: str = ""
    at: UtcTime
    source: str
    device: str
    metric: str
    value: FiniteFloat
