"""What one pass over a log found, and which of it says what failed."""

from collections.abc import Sequence
from dataclasses import dataclass

from gauntlet.analyzer.failures.rules import Rule
from gauntlet.analyzer.failures.signature import signature
from gauntlet.analyzer.failures.text import LogLine

# Kinds of failure that a job goes on after, where another try or another source gives the thing.
_PASSING: frozenset[str] = frozenset({"infra_network", "upstream_hub", "dependency", "image_build"})
# Rules from here on name a cause; what ranks below does not speak for a chain of exceptions.
_NAMED = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A line that a rule matched."""

    rule: Rule
    line: LogLine
    keys: tuple[str, ...]
    test: str = ""
    attempt: int = 0
    in_tests: bool = False
    chain: int = 0

    @property
    def signature(self) -> str:
        """The rule's name and what it captured, without what changes by run."""
        return signature(self.rule.name, list(self.keys))


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """What a test run said at its end."""

    line: int
    text: str
    failed: int
    passed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What one pass over a log found.

    ``findings`` are by rank of their rules, one each; ``firsts`` are the first matches of the same
    rules. ``forgiven`` are tests that failed and passed later. ``problem`` says why the log ends
    before its time, where it does.
    """

    lines: int
    findings: tuple[Finding, ...]
    firsts: tuple[Finding, ...]
    summaries: tuple[Summary, ...]
    failed_tests: tuple[str, ...]
    forgiven: tuple[str, ...]
    reruns: bool
    novel: tuple[LogLine, ...] = ()
    went_well: tuple[int, ...] = ()
    last: LogLine | None = None
    problem: str | None = None
    passed_again: LogLine | None = None

    def decisive(self) -> tuple[Finding, ...]:
        """Findings that say what failed, the deciding one first.

        What a job went on after, and what another try got right, comes behind what failed later.
        """
        told = [finding for finding in self.findings if not finding.rule.generic]
        overcome = [finding for finding in told if self._is_overcome(finding, told)]
        ordered = [*(f for f in told if f not in overcome), *overcome]
        if ordered and ordered[0].chain:
            last = _end_of_chain(ordered[0], ordered)
            ordered = [last, *(f for f in ordered if f is not last)]
        return tuple(ordered)

    def _is_overcome(self, finding: Finding, others: Sequence[Finding]) -> bool:
        if finding.in_tests or finding.rule.failure_class not in _PASSING:
            return False
        after = [place for place in self.went_well if place > finding.line.number]
        return bool(after) and any(other.line.number > after[0] for other in others)

    def candidates(self, most: int = 5) -> list[Finding]:
        """Lines that a person should look at, the most telling first."""
        told = list(self.decisive())
        told += [f for f in self.firsts if not f.rule.generic]
        told += [f for f in self.findings if f.rule.generic]
        seen: set[int] = set()
        unique = [f for f in told if f.line.number not in seen and not seen.add(f.line.number)]  # type: ignore[func-returns-value]
        return unique[:most]


def _end_of_chain(decisive: Finding, findings: Sequence[Finding]) -> Finding:
    """The last exception of a chain that is of one kind with the decisive one."""
    same = [decisive]
    same += [
        finding
        for finding in findings
        if finding.chain == decisive.chain
        and finding.rule.failure_class == decisive.rule.failure_class
        and finding.rule.priority >= _NAMED
    ]
    return max(same, key=lambda finding: finding.line.number)
