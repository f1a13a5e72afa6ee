"""What the elements of a JUnit document mean, whichever of its dialects wrote them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from xml.parsers.expat import XMLParserType

from gauntlet.warehouse.reports.draft import Draft, Suite
from gauntlet.warehouse.reports.junit_case import RESULTS, Case, tag
from gauntlet.warehouse.reports.report import BROKEN, UnreadableReportError
from gauntlet.warehouse.reports.text import HEAD, TAIL, Clip, shortened

_CONTAINERS = ("testsuites", "testsuite")
_OUTPUTS = ("system-out", "system-err")
# Suites further inside are not compared with each other.
_DEEPEST = 8


def _output() -> Clip:
    return Clip(head=0, tail=HEAD + TAIL)


@dataclass(slots=True)
class _Container:
    """A suite, or the element around the suites, whose end has not come yet.

    ``rows``, ``details`` and ``problems`` are how many there were before it.
    """

    name: str
    attributes: Mapping[str, str]
    position: str
    rows: int
    details: int
    problems: int
    output: Clip = field(default_factory=_output)


class JunitEvents:
    """Takes the events of an XML parser and fills a draft."""

    def __init__(self, draft: Draft, parser: XMLParserType) -> None:
        self.started = False
        self._draft = draft
        self._parser = parser
        self._stack: list[str] = []
        self._containers: list[_Container] = []
        self._suites = 0
        self._case: Case | None = None
        self._sink: Clip | None = None
        # Rows that are no case of their own, less cases without a row: to count the cases by.
        self._surplus = 0

    @property
    def between_cases(self) -> bool:
        """Whether a case may come next, and nothing else is being read."""
        return self._case is None and self._sink is None and bool(self._stack)

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Take the start of an element."""
        if ":" in name:
            name = name.rpartition(":")[2]
        if not self._stack:
            self._check_root(name)
        depth = len(self._stack)
        self._stack.append(name)
        if self._case is not None:
            self._start_in_case(self._case, name, attributes)
        elif name == "testcase":
            if self._sink is not None:
                self._listen(None)
            number = len(self._draft.nodeids) - self._surplus + 1
            line = self._parser.CurrentLineNumber
            self._case = Case(name, attributes, number, line, depth)
        elif name in _CONTAINERS:
            self._start_container(name, attributes)
        elif name in _OUTPUTS:
            self._listen(self._containers[-1].output, name)
        elif name in RESULTS:
            # It stands in no case: a set-up of the whole suite that failed, for instance.
            of_suite = {"name": self._containers[-1].attributes.get("name", "")}
            line = self._parser.CurrentLineNumber
            self._case = Case("testsuite", of_suite, self._suites, line, depth)
            self._start_in_case(self._case, name, attributes)

    def end(self, _name: str) -> None:
        """Take the end of the element that was started last."""
        name = self._stack.pop()
        depth = len(self._stack)
        case = self._case
        if case is None:
            if name in _CONTAINERS:
                self._end_container(self._containers.pop())
            elif name in _OUTPUTS:
                self._listen(None)
            return
        if depth <= case.level and self._sink is not None:
            self._listen(None)
        if depth == case.until:
            self._end_case(case)

    def cut(self) -> tuple[list[str], str]:
        """Take the end of a document that broke off; returns words and XML of what was lost.

        A case that was being read counts only where it had failed already: what is missing can
        make every other outcome worse.
        """
        case = self._case
        if case is None:
            return [], ""
        if case.results and case.outcome() in BROKEN:
            self._end_case(case)
            return [f"{case.position} is cut: {case.nodeid()} failed; more may have followed"], ""
        return [f"{case.position} is cut and left out: {case.nodeid()}"], case.raw()

    def _check_root(self, name: str) -> None:
        if name not in _CONTAINERS:
            msg = f"{self._draft.origin}: no JUnit XML: the root element is <{name}>"
            hint = "JUnit XML begins with <testsuites> or <testsuite>"
            raise UnreadableReportError(msg, hint=hint)
        self.started = True

    def _listen(self, sink: Clip | None, name: str = "") -> None:
        """Let text go to a sink, below a heading, or nowhere."""
        if sink is not None and name:
            sink.add(f"\n[{name}]\n")
        self._sink = sink
        self._parser.CharacterDataHandler = None if sink is None else sink.add

    def _start_in_case(self, case: Case, name: str, attributes: dict[str, str]) -> None:
        if name == "testcase":
            position = f"{case.position}, line {self._parser.CurrentLineNumber}"
            reasons = ["testcase: stands inside another testcase"]
            self._draft.reject(position, reasons, tag(name, attributes))
        if len(self._stack) - 1 != case.level:
            return
        if name in _OUTPUTS:
            case.output = case.output or _output()
            self._listen(case.output, name)
        elif result := case.child(name, attributes):
            self._listen(result.sink)

    def _end_case(self, case: Case) -> None:
        self._case = None
        before = len(self._draft.nodeids)
        added = case.add_to(self._draft)
        rows = len(self._draft.nodeids) - before
        if case.kind == "testcase":
            self._surplus += rows - 1 if added else -1
        else:
            self._surplus += rows

    def _start_container(self, name: str, attributes: Mapping[str, str]) -> None:
        draft = self._draft
        self._suites += name == "testsuite"
        number = f" {self._suites}" if name == "testsuite" else ""
        position = f"{name}{number} (line {self._parser.CurrentLineNumber})"
        draft.hostname = draft.hostname or attributes.get("hostname", "")
        timestamp = attributes.get("timestamp", "").strip()
        if timestamp and (wrong := _begin(draft, timestamp)):
            draft.reject(position, [wrong], tag(name, attributes))
        counts = len(draft.nodeids), len(draft.details), draft.problems_seen
        self._containers.append(_Container(name, attributes, position, *counts))

    def _end_container(self, suite: _Container) -> None:
        draft = self._draft
        empty = (suite.rows, suite.problems) == (len(draft.nodeids), draft.problems_seen)
        claimed = suite.attributes.get("tests", "").strip()
        if empty and claimed.isdecimal() and int(claimed) > 0:
            reason = f"tests: says {claimed}, but there is no testcase"
            draft.reject(suite.position, [reason], tag(suite.name, suite.attributes))
        if suite.output.length:
            # Bazel writes the log of a test beside its case.
            details = draft.details[suite.details :]
            broken = [d for d in details if draft.outcomes[d.index] in BROKEN]
            if len(broken) == 1:
                broken[0].output = f"{broken[0].output}\n{suite.output.text()}".strip()
        if len(self._containers) < _DEEPEST:
            attributes = tuple(suite.attributes.items())
            draft.suites.append(Suite(attributes, suite.rows, len(draft.nodeids)))


def _begin(draft: Draft, timestamp: str) -> str | None:
    """Note when a suite began; returns what is wrong with its time."""
    try:
        instant = datetime.fromisoformat(timestamp)
    except ValueError:
        return f"timestamp: {shortened(timestamp, 80)!r} is not an ISO 8601 time"
    wrong = draft.begin_at(instant)
    return f"timestamp: {wrong}" if wrong else None
