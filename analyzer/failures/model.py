"""The words of a failure: its class, whether it pays to run it again, where the log says so."""

from dataclasses import asdict, dataclass
from typing import Any, Literal

from gauntlet.warehouse.failure_classes import FailureClass

Source = Literal["agent", "exit", "rule", "report", "novelty", "breadth", "none"]
"""What decided: an event of scheduler or agent, signal and exit status, a rule that matched the
log, a test report, a line that green logs do not have, the same signature elsewhere, nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """What is known of a failed attempt beside its log; None and empty where nobody said.

    ``state`` and ``signal_reason`` are Buildkite's words; ``signal`` is a name such as SIGKILL.
    """

    state: str = ""
    exit_status: int | None = None
    signal: str = ""
    signal_reason: str = ""
    soft_failed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Classification:
    """What one failure was.

    ``retryable`` is None where running it again may or may not help; ``confidence`` is 0 to 1;
    ``line`` counts from 1 and is None where no line decided; ``text`` is that line without
    colours and times; ``signature`` names the failure without what changes from run to run.
    """

    failure_class: FailureClass
    retryable: bool | None
    confidence: float
    line: int | None
    text: str
    signature: str
    wrong_exit_code: bool
    source: Source
    rule: str = ""
    owner: str = ""
    reasons: tuple[str, ...] = ()

    def plain(self) -> dict[str, Any]:
        """Plain data; the class stands under the key ``class``."""
        told = asdict(self)
        return {"class": told.pop("failure_class"), **told, "reasons": list(self.reasons)}
