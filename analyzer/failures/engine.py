"""Read a log once and note what its rules find, in memory that does not grow with it."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gauntlet.analyzer.failures.gates import Gates
from gauntlet.analyzer.failures.novelty import Novelty
from gauntlet.analyzer.failures.rules import Rule, RuleSet
from gauntlet.analyzer.failures.signature import signature
from gauntlet.analyzer.failures.text import LogLine, is_benign, is_quiet, log_line, section_of
from gauntlet.warehouse.reports.log_text import whole_lines
from gauntlet.warehouse.reports.source import ByteSource

_MOST_BYTES = 16 << 30
_MOST_TESTS = 2000
# The first has the mark 0.
_ALSO = ("PASSED", "====", "passed", "failed", "FAILED")
_ONLY_PASSED = (0,)
_SESSION = "test session starts"
# The last line of a test run: pytest's, unittest's.
_SUMMARY = re.compile(
    r"^(?:=+ )?(?P<counts>(?:\d+ (?:failed|passed|errors?|skipped|deselected|xfailed|xpassed"
    r"|warnings?|rerun)(?:, )?)+) in [\d.]+s\b"
    r"|^FAILED \((?P<unittest>(?:failures|errors)=\d+.*)\)$"
)
_COUNT = re.compile(r"(\d+) (failed|passed|error)|(failures|errors)=(\d+)")
_NODE = re.compile(r"([\w./\\-]+\.py::\S+)")
# The last name of a test's id, without its parameters.
_RAW_NAME = re.compile(rb"::(\w+)(?![\w:])")
_AGAIN = re.compile(
    r"\b(?:[Rr]e-?run(?:ning|s)?|RERUNS?|[Rr]etry(?:ing)?|last-failed|succeeded when run"
    r"|[Aa]ttempt \d)\b|--lf\b"
)
_AGAIN_TEXTS = ("run", "RERUN", "etry", "last-failed", "ttempt ", "--lf")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A line that a rule matched."""

    rule: Rule
    line: LogLine
    keys: tuple[str, ...]
    test: str = ""

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
    last: LogLine | None = None
    problem: str | None = None

    def candidates(self, most: int = 5) -> list[Finding]:
        """Lines that a person should look at, the most telling first."""
        told = [f for f in self.findings if not f.rule.generic]
        told += [f for f in self.firsts if not f.rule.generic]
        told += [f for f in self.findings if f.rule.generic]
        seen: set[int] = set()
        unique = [f for f in told if f.line.number not in seen and not seen.add(f.line.number)]  # type: ignore[func-returns-value]
        return unique[:most]


def scan(chunks: Iterable[bytes], rules: RuleSet, novelty: Novelty | None = None) -> Scan:
    """Read a log, gzip or not; every line is looked at where ``novelty`` is given."""
    source = ByteSource(chunks, limit=_MOST_BYTES)
    reader = _Reader(_gates(rules))
    for block in whole_lines(source):
        if novelty is not None:
            novelty.look(block, reader.lines + 1)
        reader.read(block)
    return reader.result(source.problem, novelty.top() if novelty else ())


@lru_cache(maxsize=4)
def _gates(rules: RuleSet) -> Gates:
    return Gates(rules.rules, _ALSO)


@dataclass(slots=True)
class _Reader:
    """Reads blocks of whole lines, in their order; looks only at lines that pass a gate.

    What is printed while a test runs counts once the test has failed, and not where it passed:
    it waits in ``pending`` until then.
    """

    gates: Gates
    lines: int = 0
    ended: bool = True
    section: str = ""
    reruns: bool = False
    found: dict[int, Finding] = field(default_factory=dict)
    firsts: dict[int, Finding] = field(default_factory=dict)
    pending: list[Finding] = field(default_factory=list)
    tests: dict[tuple[int, str], Finding] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    forgiven: dict[str, None] = field(default_factory=dict)
    summaries: deque[Summary] = field(default_factory=lambda: deque(maxlen=200))
    tail: bytes = b""

    def read(self, block: bytes) -> None:
        """Read the next block."""
        place, number = 0, self.lines + 1
        for start, end, marks in self.gates.lines(block):
            if marks == _ONLY_PASSED and not self.pending and not self._knows(block, start, end):
                continue
            number += block.count(b"\n", place, start)
            place = start
            line = log_line(number, block[start:end])
            if line is not None:
                self._line(line, marks)
        self.lines += block.count(b"\n")
        self.ended = block.endswith(b"\n")
        self.tail = (self.tail + block[-4096:])[-8192:]

    def _knows(self, block: bytes, start: int, end: int) -> bool:
        """Whether a test that passed may be one that failed before."""
        if not self.tests:
            return False
        name = _RAW_NAME.search(block, start, end)
        return name is not None and name[1].decode(errors="replace") in self.names

    def result(self, problem: str | None, novel: Sequence[LogLine]) -> Scan:
        """What was found in all blocks."""
        self._settle()
        total = self.lines + (not self.ended)
        for (rank, _), finding in self.tests.items():
            held = self.found.get(rank)
            if held is None or not finding.rule.first:
                self.found[rank] = finding
        for rank, finding in list(self.found.items()):
            if finding.test and (rank, finding.test) not in self.tests:
                del self.found[rank]
        names = dict.fromkeys(test for _, test in self.tests)
        return Scan(
            lines=total,
            findings=tuple(self.found[rank] for rank in sorted(self.found)),
            firsts=tuple(self.firsts[rank] for rank in sorted(self.firsts) if rank in self.found),
            summaries=tuple(self.summaries),
            failed_tests=tuple(names),
            forgiven=tuple(self.forgiven),
            reruns=self.reruns,
            novel=tuple(novel),
            last=self._last(total),
            problem=problem,
        )

    def _last(self, total: int) -> LogLine | None:
        """The last line that says anything."""
        lines = self.tail.removesuffix(b"\n").split(b"\n")
        for back, raw in enumerate(reversed(lines)):
            line = log_line(total - back, raw)
            if line is not None and line.body:
                return line
        return None

    def _line(self, line: LogLine, marks: tuple[int, ...]) -> None:
        name = section_of(line.body)
        if name is not None:
            self._settle()
            self.section = name
        if self._summary(line) or (name is not None and "===" in line.body[:4]):
            self._match(line, marks)
            return
        if is_benign(line):
            if "PASSED" in line.body:
                self._passed(line)
            return
        if not is_quiet(self.section):
            self._match(line, marks)

    def _match(self, line: LogLine, marks: tuple[int, ...]) -> None:
        body, text = line.body, line.text
        if not self.reruns:
            self.reruns = _tells_of_another_try(body)
        for rule in self.gates.rules(marks):
            for needle in rule.needles:
                if needle in text:
                    break
            else:
                continue
            match = rule.pattern.search(body)
            if match is None:
                continue
            if rule.unless is not None and rule.unless.search(body):
                continue
            if rule.process is not None and not rule.process.search(line.process):
                continue
            self._add(_finding(rule, line, match))

    def _add(self, finding: Finding) -> None:
        rule = finding.rule
        if rule.tests and finding.test:
            if len(self.tests) < _MOST_TESTS:
                key = (rule.rank, finding.test)
                self.names.add(finding.test.partition("[")[0].rpartition("::")[2])
                if not rule.first or key not in self.tests:
                    self.tests.pop(key, None)
                    self.tests[key] = finding
            self._settle()
        elif self.section == _SESSION and not rule.tests:
            self.pending.append(finding)
            if len(self.pending) > _MOST_TESTS:
                self._settle()
            return
        self._keep(finding)

    def _keep(self, finding: Finding) -> None:
        rank = finding.rule.rank
        self.firsts.setdefault(rank, finding)
        if not finding.rule.first:
            self.found[rank] = finding
        else:
            self.found.setdefault(rank, finding)

    def _settle(self) -> None:
        """Let what waited count."""
        for finding in self.pending:
            self._keep(finding)
        self.pending.clear()

    def _passed(self, line: LogLine) -> None:
        """Forget what was printed by the test that passed, and what it did before."""
        if not line.process.startswith("[gw"):
            self.pending.clear()
        node = _NODE.search(line.body)
        if node is None or not self.tests:
            return
        for key in [key for key in self.tests if _same_test(key[1], node[1])]:
            del self.tests[key]
            self.forgiven[node[1]] = None

    def _summary(self, line: LogLine) -> bool:
        match = _SUMMARY.match(line.body)
        if match is None:
            return False
        counts = {"failed": 0, "passed": 0}
        for number, word, other, value in _COUNT.findall(match["counts"] or match["unittest"]):
            counts["passed" if word == "passed" else "failed"] += int(number or value)
            del other
        self._settle()
        self.section = ""
        self.summaries.append(Summary(line=line.number, text=line.body, **counts))
        return True


def _tells_of_another_try(body: str) -> bool:
    return any(text in body for text in _AGAIN_TEXTS) and _AGAIN.search(body) is not None


def _same_test(one: str, other: str) -> bool:
    """Whether two ids name one test; wrappers put a folder before the file."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")


def _finding(rule: Rule, line: LogLine, match: re.Match[str]) -> Finding:
    named = match.groupdict()
    keys = [value for value in named.values() if value] if named else []
    return Finding(
        rule=rule,
        line=line,
        keys=tuple(keys or [match[0]]),
        test=(named.get("test") or "") if rule.tests else "",
    )
