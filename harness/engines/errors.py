"""What can go wrong with an engine."""

from gauntlet.core.errors import InfrastructureError
from gauntlet.harness.engines.failures import Failure
from gauntlet.harness.engines.runtime import Ended


class EngineError(InfrastructureError):
    """An engine did not start, did not become healthy, or died."""


class EngineDeath(EngineError):  # noqa: N818 - an event, which is raised too
    """An engine ended by itself: how, why as far as its log tells, and its last lines."""

    def __init__(
        self, message: str, *, hint: str, ended: Ended, failure: Failure, log_tail: str
    ) -> None:
        text = f"{message}\n--- end of its log\n{log_tail}" if log_tail else message
        super().__init__(text, hint=hint)
        self.ended = ended
        self.failure = failure
        self.log_tail = log_tail
