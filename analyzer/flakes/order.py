"""Does a test fail because of the tests before it? Find which, with as few runs as may be. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from gauntlet.core.errors import UsageError

OrderKind = Literal["victim", "brittle", "flaky", "broken", "independent"]
"""``victim``: fails only after a polluter; ``brittle``: passes only after a setter; ``flaky``: one
and the same order ends both ways; ``broken``: fails alone and in the suite; ``independent``: passes
both ways."""


class SuiteRunner(Protocol):
    """Runs tests in one process, in the order given.

    Raises InfrastructureError where the last one did not run.
    """

    def last_fails(self, nodeids: Sequence[str]) -> bool:
        """Run them all, and say whether the last one failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OrderFinding:
    """What the probe found; ``cause`` are polluters or setters, in their order.

    ``complete`` is False where the budget ended before the cause was as small as it can be.
    """

    kind: OrderKind
    nodeid: str
    cause: tuple[str, ...]
    runs: int
    complete: bool
    reason: str


class _OutOfRunsError(Exception):
    """The budget is spent."""


class _FlakyError(Exception):
    """The same order ended both ways."""


@dataclass(slots=True)
class _Probe:
    """Runs orders, each as often as it takes to trust the outcome, within a budget."""

    runner: SuiteRunner
    nodeid: str
    repeats: int
    budget: int
    runs: int = field(default=0, init=False)

    def fails_after(self, prefix: Sequence[str]) -> bool:
        """Whether the test fails after these, the same way every time. Raises _FlakyError."""
        outcomes = {self._once(prefix) for _ in range(self.repeats)}
        if len(outcomes) == 2:
            raise _FlakyError
        return outcomes.pop()

    def ends_as(self, prefix: Sequence[str], *, wanted: bool) -> bool:
        """Whether it ends so after these, each time; one other outcome answers at once."""
        return all(self._once(prefix) == wanted for _ in range(self.repeats))

    def _once(self, prefix: Sequence[str]) -> bool:
        if self.runs >= self.budget:
            raise _OutOfRunsError
        self.runs += 1
        return self.runner.last_fails([*prefix, self.nodeid])


def probe_order(
    nodeid: str, suite: Sequence[str], runner: SuiteRunner, *, repeats: int = 3, budget: int = 100
) -> OrderFinding:
    """Run a test alone and after those before it; reduce these to the ones that make it differ.

    ``repeats`` runs of each order guard against flakes: a test of rate f misleads one step with
    probability f to the power of ``repeats``. Raises UsageError where the suite lacks the test, or
    the budget is too small for the first question.
    """
    if nodeid not in suite:
        raise UsageError(f"{nodeid} is not in the suite of {len(suite)} tests")
    if budget < 2 * repeats:
        raise UsageError(f"{repeats} repeats need a budget of at least {2 * repeats} runs")
    prefix = list(suite[: suite.index(nodeid)])
    probe = _Probe(runner, nodeid, repeats, budget)
    try:
        alone = probe.fails_after(())
        after = probe.fails_after(prefix) if prefix else alone
    except _FlakyError:
        return _finding(probe, "flaky", (), "one and the same order ended both ways")
    if alone == after:
        how = "fails" if alone else "passes"
        why = f"{how} alone and after the {len(prefix)} before it"
        return _finding(probe, "broken" if alone else "independent", (), why)
    cause, complete = _reduced(prefix, probe, wanted=after)
    kind: OrderKind = "victim" if after else "brittle"
    verb = "fails" if after else "passes"
    more = f" and {len(cause) - 3} more" if len(cause) > 3 else ""
    why = f"{verb} only after {', '.join(cause[:3])}{more}"
    return _finding(probe, kind, cause, why, complete=complete)


def _reduced(prefix: Sequence[str], probe: _Probe, *, wanted: bool) -> tuple[tuple[str, ...], bool]:
    """Reduce a prefix until no part of it can be left out (Zeller's delta debugging).

    The second value is False where the budget ended before that.
    """
    kept, parts = list(prefix), 2
    try:
        while len(kept) > 1:
            size = -(-len(kept) // parts)
            chunks = [kept[start : start + size] for start in range(0, len(kept), size)]
            smaller = _smaller(chunks, probe, wanted=wanted)
            if smaller is not None:
                shrank_to_chunk = len(smaller) <= size
                kept, parts = smaller, 2 if shrank_to_chunk else max(parts - 1, 2)
            elif parts >= len(kept):
                break
            else:
                parts = min(2 * parts, len(kept))
    except _OutOfRunsError:
        return tuple(kept), False
    return tuple(kept), True


def _smaller(chunks: Sequence[Sequence[str]], probe: _Probe, *, wanted: bool) -> list[str] | None:
    """A chunk, or all but one, that still has the effect."""
    for chunk in chunks:
        if probe.ends_as(chunk, wanted=wanted):
            return list(chunk)
    if len(chunks) > 2:
        for left_out in range(len(chunks)):
            rest = [name for i, chunk in enumerate(chunks) if i != left_out for name in chunk]
            if probe.ends_as(rest, wanted=wanted):
                return rest
    return None


def _finding(
    probe: _Probe, kind: OrderKind, cause: tuple[str, ...], reason: str, *, complete: bool = True
) -> OrderFinding:
    return OrderFinding(
        kind=kind,
        nodeid=probe.nodeid,
        cause=cause,
        runs=probe.runs,
        complete=complete,
        reason=reason,
    )
