"""The engines of one stage: started when they are first needed, started again when they died."""

from collections.abc import Callable

from gauntlet.core.scoped import Scoped
from gauntlet.harness.engines.errors import EngineError
from gauntlet.harness.engines.running import RunningEngine
from gauntlet.harness.schedule import Side

# An engine that dies again and again says what it has to say the first few times.
MOST_STARTS = 3


class Servers(Scoped):
    """One engine a side; ``make`` describes a fresh one, as a stopped engine stays stopped."""

    def __init__(self, make: Callable[[Side], RunningEngine]) -> None:
        self._make = make
        self._engines: dict[Side, RunningEngine] = {}
        self._started: dict[Side, bool] = {}
        self._failures: dict[Side, int] = {}
        self._last_error: dict[Side, EngineError] = {}

    def describe(self, side: Side) -> RunningEngine:
        """The engine of a side, running or not."""
        if side not in self._engines:
            self._engines[side] = self._make(side)
            self._started[side] = False
        return self._engines[side]

    def launch(self, side: Side) -> None:
        """Begin to start an engine, so that several may start at once."""
        engine = self.describe(side)
        if not self._started[side]:
            engine.launch()

    def ready(self, side: Side) -> RunningEngine:
        """The running engine of a side, started if need be.

        Raises EngineError where it does not start, and again, without another try, once it has
        failed too often.
        """
        if self._failures.get(side, 0) >= MOST_STARTS:
            raise self._last_error[side]
        engine = self.describe(side)
        if not self._started[side]:
            try:
                engine.start()
            except EngineError as error:
                self.failed(side, error)
                raise
            self._started[side] = True
        return engine

    def failed(self, side: Side, error: EngineError) -> None:
        """Give up an engine; the next use starts a fresh one."""
        self._failures[side] = self._failures.get(side, 0) + 1
        self._last_error[side] = error
        self.stop(side)

    def stop(self, side: Side) -> None:
        """Stop an engine; the next use starts a fresh one."""
        engine = self._engines.pop(side, None)
        self._started.pop(side, None)
        if engine is not None:
            engine.close()

    def close(self) -> None:
        """Stop all engines. Safe to call again."""
        for side in list(self._engines):
            self.stop(side)
