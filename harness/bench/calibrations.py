"""Calibrations of one run: each shape of load once."""

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from gauntlet.core.files import write_atomic
from gauntlet.core.ids import canonical_json
from gauntlet.harness.load.arrivals import Schedule
from gauntlet.harness.load.calibrate import Calibration, calibrate, describe, short_shape
from gauntlet.harness.load.known_timing import NoCompilerError

Wanted = Literal["required", "when_possible", "off"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """A calibration, or in words why there is none; ``blocking`` if that makes a result invalid."""

    calibration: Calibration | None
    missing: str = ""
    blocking: bool = False


class Calibrations:
    """Runs each calibration when it is first asked for and remembers it."""

    def __init__(self, folder: Path, *, workers: int | None, say: Callable[[str], object]) -> None:
        self._folder = folder
        self._workers = workers
        self._say = say
        self._known: dict[str, Calibration] = {}

    def of(self, schedule: Schedule, wanted: Wanted) -> Calibrated:
        """The calibration for a load of that shape."""
        if wanted == "off":
            return Calibrated(calibration=None, missing="calibration is off")
        shape = describe(short_shape(schedule))
        if shape not in self._known:
            self._say(f"calibrates the client: {shape}")
            folder = self._folder / shape.replace(" ", "-").replace("/", "-per-")
            try:
                found = calibrate(schedule, workdir=folder, workers=self._workers)
            except NoCompilerError as error:
                required = wanted == "required"
                return Calibrated(calibration=None, missing=error.message, blocking=required)
            write_atomic(folder / "calibration.json", canonical_json(asdict(found)))
            self._known[shape] = found
        return Calibrated(calibration=self._known[shape])
