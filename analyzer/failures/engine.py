"""Read a log once and note what its rules find, in memory that does not grow with it."""

import re
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from gauntlet.analyzer.failures.found import Finding, Scan, Summary
from gauntlet.analyzer.failures.gates import Gates
from gauntlet.analyzer.failures.novelty import Novelty
from gauntlet.analyzer.failures.rules import Rule, RuleSet
from gauntlet.analyzer.failures.text import (
    LogLine,
    is_benign,
    is_quiet,
    is_warning,
    log_line,
    section_of,
)
from gauntlet.warehouse.reports.log_text import whole_lines
from gauntlet.warehouse.reports.source import ByteSource

_MOST_BYTES = 16 << 30
_MOST_TESTS = 2000
# The first has the mark 0.
_ALSO = (
    *("PASSED", "=== ", "passed", "failed", "FAILED", "___ "),
    *("Traceback (most recent", "was the direct cause of", "During handling of the above"),
    *(
        "RERUN",
        "runs remaining out of",
        "out of the required",
        "etrying",
        "ack off",
        "trying again",
        "ttempt ",
        "Successfully ",
        "HEAD is now at",
    ),
    *("Build completed successfully", "Status: Downloaded newer", "Status: Image is up to date"),
)
_ONLY_PASSED = (0,)
_SESSION = "test session starts"
_COLLECTING = "collecting"
_TRACEBACK = "Traceback (most recent call last)"
_CHAINED = ("was the direct cause of the following", "During handling of the above exception")
_EXCEPTION = re.compile(
    r"(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception|Timeout|Expired|NotFound|Failed|Exhausted)\b(?::|$)"
)
_HEADING = re.compile(r"^_{3,} (?P<name>.+?) _{3,}$")
# A plugin's report of a test that it runs several times.
_TRIED = re.compile(
    r"^(?P<test>\w\S*) (?:failed \(\d+ runs? remaining|passed \d+ out of the required)"
)
# What failed before such a line is tried again after it.
_NEXT_TRY = re.compile(
    r"\b[Rr]etrying\b|\b[Bb]ack(?:ing)? off\b.*\b(?:retry|again)\b|\btrying again\b"
    r"|\b[Aa]ttempt (?:[2-9]|\d\d)\b"
)
# What came in the way of such a step before was overcome.
_WENT_WELL = re.compile(
    r"^(?:Successfully (?:installed|built|tagged|downloaded)\b|HEAD is now at \w+"
    r"|(?:INFO: )?Build completed successfully|Status: (?:Downloaded newer|Image is up to date)"
    r"|=+ test session starts =+$)"
)
_WELL_BEGINS = ("Success", "HEAD ", "INFO: ", "Build ", "Status: ", "====")
# So much of a block is looked through for what a step said before it failed.
_LOOK_BACK = 1 << 14
_NO_WORDS = re.compile(
    r"^\W*$|^(?:Dockerfile\S*|\S*[Dd]ockerfile):\d+$|^\s*\d+ \||^ *>>> |^ *> \["
    r"|^#\d+ (?:[\d.]+$|\[|CANCELED|ERROR|\.\.\.)|^ERROR: (?:process|executor failed)"
)
_TROUBLE = re.compile(
    r"(?i)error|fail|fatal|exception|abort|denied|cannot|can't|could not|unable|killed|no such"
    r"|timed? ?out|missing|invalid|not found|panic|corrupt|unexpected|refused|unknown"
)
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
    part: str = ""
    attempt: int = 0
    chain: int = 0
    linked: bool = False
    fresh: bool = False
    block: tuple[bytes, int] = (b"", 0)
    went_well: deque[int] = field(default_factory=lambda: deque(maxlen=200))
    rerun: set[str] = field(default_factory=set)
    passed_again: LogLine | None = None
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
                self.block = (block, start)
                self._line(line, marks)
        self.lines += block.count(b"\n")
        self.ended = block.endswith(b"\n")
        self.tail = (self.tail + block[-4096:])[-8192:]

    def _knows(self, block: bytes, start: int, end: int) -> bool:
        """Whether a test that passed may be one that failed before."""
        if not self.tests and not self.rerun:
            return False
        name = _RAW_NAME.search(block, start, end)
        return name is not None and name[1].decode(errors="replace") in self.names

    def result(self, problem: str | None, novel: Sequence[LogLine]) -> Scan:
        """What was found in all blocks."""
        self._settle()
        total = self.lines + (not self.ended)
        for rank, finding in list(self.found.items()):
            if finding.test and (rank, finding.test) not in self.tests:
                del self.found[rank]
        for (rank, _), finding in self.tests.items():
            held = self.found.get(rank)
            if held is None or _counts_more(finding, held):
                self.found[rank] = finding
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
            went_well=tuple(self.went_well),
            passed_again=self.passed_again,
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
            self.section, self.part = name, ""
        elif line.body.startswith("___"):
            heading = _HEADING.match(line.body)
            self.part = _part_of(heading["name"]) if heading else self.part
            self.chain += heading is not None
        self._progress(line)
        if self._summary(line) or (name is not None and "===" in line.body[:4]):
            self._match(line, marks)
            return
        if "RERUN" in line.body:
            self._rerun(line)
        elif " out of " in line.body:
            self._tried(line)
        if is_benign(line):
            if "PASSED" in line.body:
                self._passed(line)
            return
        if not is_quiet(self.section):
            self._match(line, marks)

    def _progress(self, line: LogLine) -> None:
        """Note where a new attempt begins, and where a step went well."""
        body = line.body
        if "exception" in body and any(text in body for text in _CHAINED):
            self.linked = True
        elif _TRACEBACK in body:
            self.chain += not self.linked
            self.linked = False
        # What a build tool tells of one target is a part of its own.
        if self.fresh and body.startswith("FAILED: "):
            self._next_attempt()
        again = self.fresh and ("try" in body or "ttempt " in body or "ack" in body)
        if again and _NEXT_TRY.search(body) is not None:
            self._next_attempt()
        if body.startswith(_WELL_BEGINS) and _WENT_WELL.match(body) is not None:
            self.went_well.append(line.number)
            if self.fresh and body.startswith("="):
                self._next_attempt()

    def _next_attempt(self) -> None:
        self.attempt += 1
        self.fresh = False

    def _match(self, line: LogLine, marks: tuple[int, ...]) -> None:
        body = line.body
        reason = _reason_of(body)
        warning = is_warning(line)
        if not self.reruns:
            self.reruns = _tells_of_another_try(body)
        for rule in self.gates.rules(marks):
            if (rule.part and rule.part != self.part) or (warning and not rule.warnings):
                continue
            match = rule.pattern.search(body)
            if match is None and reason and not rule.tests:
                match = rule.pattern.search(reason)
            if match is None:
                continue
            if rule.unless is not None and rule.unless.search(body):
                continue
            if rule.process is not None and not rule.process.search(line.process):
                continue
            told = self._cause(line) if rule.look_back else None
            finding = self._finding(rule, told or line, match)
            # What a verdict says of the reason is said better where it happened.
            if match.string is not body and rule.rank in self.found:
                continue
            self._add(finding)

    def _finding(self, rule: Rule, line: LogLine, match: re.Match[str]) -> Finding:
        named = match.groupdict()
        keys = [value for value in named.values() if value] if named else []
        return Finding(
            rule=rule,
            line=line,
            keys=tuple(keys or [match[0]]),
            test=(named.get("test") or "") if rule.tests else "",
            attempt=self.attempt,
            in_tests=bool(self.section) or rule.tests,
            chain=self.chain if _EXCEPTION.match(line.body) is not None else 0,
        )

    def _cause(self, line: LogLine) -> LogLine | None:
        """What a step said last before a wrapper told that it failed; None if it said nothing."""
        block, start = self.block
        said: list[LogLine] = []
        rest = block[max(0, start - _LOOK_BACK) : start].split(b"\n")[:-1]
        for back, raw in enumerate(reversed(rest), 1):
            before = log_line(line.number - back, raw)
            if before is None or not before.body or _NO_WORDS.match(before.body):
                if len(said) > 1 and before is not None and before.body.startswith("-----"):
                    break
                continue
            said.append(before)
            if _TROUBLE.search(before.body):
                return before
            if len(said) >= 8:
                break
        return said[0] if said else None

    def _add(self, finding: Finding) -> None:
        rule = finding.rule
        self.fresh = True
        if rule.tests and finding.test:
            if len(self.tests) < _MOST_TESTS:
                key = (rule.rank, finding.test)
                self.names.add(finding.test.partition("[")[0].rpartition("::")[2])
                held = self.tests.get(key)
                if held is None or _counts_more(finding, held):
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
        held = self.found.get(rank)
        if held is None or _counts_more(finding, held):
            self.found[rank] = finding

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
        if node is None:
            return
        if node[1] in self.rerun:
            self.rerun.discard(node[1])
            self.forgiven[node[1]] = None
            self.passed_again = line
        for key in [key for key in self.tests if _same_test(key[1], node[1])]:
            del self.tests[key]
            self.forgiven[node[1]] = None
            self.passed_again = line

    def _rerun(self, line: LogLine) -> None:
        """Note a test that is run again; what it printed counts only if it fails at last."""
        node = _NODE.search(line.body)
        if node is not None and len(self.rerun) < _MOST_TESTS:
            self.rerun.add(node[1])
            self.names.add(node[1].partition("[")[0].rpartition("::")[2])
            if not line.process.startswith("[gw"):
                self.pending.clear()

    def _tried(self, line: LogLine) -> None:
        tried = _TRIED.match(line.body)
        if tried is None:
            return
        if " failed (" in tried[0]:
            self.rerun.add(tried["test"])
        elif tried["test"] in self.rerun:
            self.forgiven[tried["test"]] = None
            self.passed_again = line

    def _summary(self, line: LogLine) -> bool:
        if " in " not in line.body and not line.body.startswith("FAILED ("):
            return False
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


def _counts_more(finding: Finding, held: Finding) -> bool:
    """Whether a later finding of a rule takes the place of the one before it."""
    if not finding.rule.first or finding.attempt > held.attempt:
        return True
    # The last of chained exceptions is what failed, and tells the cause as well.
    return finding.chain == held.chain > 0


def _part_of(heading: str) -> str:
    return _COLLECTING if heading.startswith("ERROR collecting") else heading


def _reason_of(body: str) -> str:
    """Why a test failed, where the line with its verdict says so."""
    if not body.startswith(("FAILED ", "ERROR ")):
        return ""
    return body.partition(" - ")[2]


def _same_test(one: str, other: str) -> bool:
    """Whether two ids name one test; wrappers put a folder before the file."""
    return one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
