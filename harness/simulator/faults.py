"""Faults on purpose: which request meets which, and memory that never comes back."""

from enum import Enum

from gauntlet.harness.simulator.config import FaultsConfig

_MIB = 1 << 20


class Fault(Enum):
    """What happens to one request; in order of precedence where several fall on the same one."""

    DIE = "die_after_requests"
    REFUSE = "refuse_every"
    HTTP_503 = "http_503_every"
    RESET = "reset_mid_stream_every"
    STALL = "stall_mid_stream_every"
    ERROR_EVENT = "error_event_every"
    EMPTY = "empty_stream_every"
    TRUNCATE = "truncate_every"


MID_STREAM = frozenset({Fault.DIE, Fault.RESET, Fault.STALL, Fault.ERROR_EVENT})


class FaultPlan:
    """Counts generation requests, and tells which of them meet a fault."""

    def __init__(self, config: FaultsConfig) -> None:
        self._config = config
        self._every = [(fault, getattr(config, fault.value)) for fault in Fault]
        self._leaked: list[bytes] = []
        self.requests = 0

    def next(self) -> Fault | None:
        """Count one request, leak its memory, and return its fault."""
        self.requests += 1
        if self._config.leak_mb_per_request:
            # Written bytes, so that the pages are really there; zeroed ones may be shared.
            self._leaked.append(b"\x5a" * int(self._config.leak_mb_per_request * _MIB))
        for fault, every in self._every:
            if every and self._falls_due(fault, every):
                return fault
        return None

    def _falls_due(self, fault: Fault, every: int) -> bool:
        if fault is Fault.DIE:
            return self.requests == every
        return self.requests % every == 0


def trip_token(fault: Fault, tokens: int) -> int:
    """Number of the token in whose place a mid-stream fault strikes, of ``tokens`` in all."""
    half = tokens // 2
    return half if fault is Fault.DIE else min(3, half)
