"""One case of a JUnit document: what its attributes and its children say about it."""

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from xml.sax.saxutils import escape, quoteattr

from gauntlet.warehouse.reports.draft import NOT_MEASURED, DetailDraft, Draft
from gauntlet.warehouse.reports.nodes import make_nodeid
from gauntlet.warehouse.reports.report import LONGEST_S, Outcome
from gauntlet.warehouse.reports.text import Clip, shortened

RESULTS = {"skipped": Outcome.SKIPPED, "failure": Outcome.FAILED, "error": Outcome.ERROR}
# Attempts before the one that counts (Maven Surefire, cargo-nextest).
ATTEMPTS = {
    "flakyFailure": Outcome.FAILED,
    "flakyError": Outcome.ERROR,
    "rerunFailure": Outcome.FAILED,
    "rerunError": Outcome.ERROR,
}
# Words of the attributes `status` (CTest, GoogleTest, Bazel) and `result` (GoogleTest).
_NOT_RUN = frozenset({"notrun", "disabled", "suppressed", "skipped", "ignored"})
_STATUS = {"fail": Outcome.FAILED, "failed": Outcome.FAILED, "error": Outcome.ERROR}
_XPASSED = "xfail-marked test passes unexpectedly"
_THOUSANDS = re.compile(r"[1-9]\d{0,2}(,\d{3})+(\.\d+)?")


class Result:
    """One child of a case that says how it, or an attempt before it, ended."""

    __slots__ = ("attributes", "name", "outcome", "sink")

    def __init__(self, name: str, outcome: Outcome, attributes: Mapping[str, str]) -> None:
        self.name = name
        self.outcome = outcome
        self.attributes = attributes
        self.sink = Clip()

    def message(self, text: str) -> str:
        """Its message; one that is lacking is made of its text, or of its type."""
        get = self.attributes.get
        return get("message") or text.partition("\n")[0] or get("type", "")


class Case:
    """A case that is being read: ``number`` and ``line`` say where it stands, both from 1.

    Its children stand at the depth ``level``, and it ends at the depth ``until``. One of the kind
    ``testsuite`` is no element of its own: it stands for a suite that failed.
    """

    __slots__ = ("attempts", "attributes", "kind", "level", "line", "number", "output", "results",
                 "until")  # fmt: skip

    def __init__(
        self, kind: str, attributes: Mapping[str, str], number: int, line: int, depth: int
    ) -> None:
        self.kind = kind
        self.attributes = attributes
        self.number = number
        self.line = line
        self.until = depth
        self.level = depth + (kind == "testcase")
        self.results: list[Result] = []
        self.attempts: list[Result] = []
        self.output: Clip | None = None

    @property
    def position(self) -> str:
        """Where it stands, for people."""
        return f"{self.kind} {self.number} (line {self.line})"

    def child(self, name: str, attributes: Mapping[str, str]) -> Result | None:
        """Take a child; returns what takes its text, or None where the child says nothing."""
        if name in RESULTS:
            result = Result(name, _outcome(name, attributes), attributes)
            self.results.append(result)
            return result
        if name in ATTEMPTS:
            result = Result(name, ATTEMPTS[name], attributes)
            self.attempts.append(result)
            return result
        return None

    def outcome(self) -> Outcome:
        """The worst that its children say; without any, what its attributes say."""
        if self.results:
            one = len(self.results) == 1
            return (self.results[0] if one else _worst(self.results)).outcome
        if self.not_run():
            return Outcome.SKIPPED
        return _STATUS.get(self.attributes.get("status", "").lower(), Outcome.PASSED)

    def not_run(self) -> bool:
        """Whether its attributes say that it did not run."""
        get = self.attributes.get
        return get("status", "").lower() in _NOT_RUN or get("result", "").lower() in _NOT_RUN

    def nodeid(self) -> str:
        """Its node id, from its attributes."""
        get = self.attributes.get
        return make_nodeid(get("classname", ""), get("name", ""), get("file", ""))

    def add_to(self, draft: Draft) -> bool:
        """Add its rows, or say in the draft why there are none; returns whether there are."""
        seconds, wrong = read_seconds(self.attributes.get("time", ""))
        reasons = [wrong] if wrong else []
        times = [read_seconds(attempt.attributes.get("time", "")) for attempt in self.attempts]
        reasons += [f"an earlier attempt: {wrong}" for _, wrong in times if wrong]
        name = self.attributes.get("name")
        if not name or name.isspace():
            reasons.append(f"name: {name!r} names no test")
        if reasons:
            draft.reject(self.position, reasons, self.raw())
            return False
        nodeid = self.nodeid()
        for attempt, (took, _) in zip(self.attempts, times, strict=True):
            draft.add(nodeid, took, attempt.outcome, self._detail([attempt]))
        outcome = self.outcome()
        if outcome is Outcome.PASSED:
            draft.add(nodeid, seconds, outcome)
        else:
            detail = self._detail(self.results)
            detail.output = self.output.text() if self.output else ""
            draft.add(nodeid, NOT_MEASURED if self.not_run() else seconds, outcome, detail)
        return True

    def _detail(self, results: Sequence[Result]) -> DetailDraft:
        """What some of its children said: the message of the worst, the texts of all."""
        get = self.attributes.get
        line = get("line", "")
        detail = DetailDraft(
            file=get("file", ""), line=int(line) if line.isdecimal() and len(line) < 10 else None
        )
        if len(results) == 1:
            detail.text = results[0].sink.text()
            detail.message = results[0].message(detail.text)
        elif results:
            texts = {result: result.sink.text() for result in results}
            all_of_it = Clip()
            for text in filter(None, texts.values()):
                all_of_it.add(f"{text}\n")
            worst = _worst(results)
            detail.text, detail.message = all_of_it.text(), worst.message(texts[worst])
        return detail

    def raw(self) -> str:
        """The case as XML again, with its texts as far as they were kept."""
        inside = [
            tag(result.name, result.attributes, escape(result.sink.text()))
            for result in (*self.attempts, *self.results)
        ]
        return tag(self.kind, self.attributes, "".join(inside))


def _worst(results: Sequence[Result]) -> Result:
    """The first of the worst."""
    return max(results, key=lambda result: result.outcome.severity)


def _outcome(name: str, attributes: Mapping[str, str]) -> Outcome:
    if name == "skipped" and attributes.get("type") == "pytest.xfail":
        return Outcome.XFAILED
    if name == "skipped" and attributes.get("message") == _XPASSED:
        return Outcome.XPASSED
    return RESULTS[name]


def read_seconds(text: str) -> tuple[float, str | None]:
    """Read a duration in seconds, NaN where there is none, and say what is wrong with it.

    Thousands may be separated by commas, as Surefire does.
    """
    text = text.strip()
    if not text:
        return NOT_MEASURED, None
    try:
        seconds = float(text)
    except ValueError:
        if not _THOUSANDS.fullmatch(text):
            return NOT_MEASURED, f"time: {shortened(text, 80)!r} is not a number"
        seconds = float(text.replace(",", ""))
    wrong = wrong_seconds(seconds)
    return (NOT_MEASURED, f"time: {shortened(text, 80)!r} {wrong}") if wrong else (seconds, None)


def wrong_seconds(seconds: float) -> str | None:
    """Say why a number of seconds is not the duration of a test, or None."""
    if 0 <= seconds <= LONGEST_S:
        return None
    if not isfinite(seconds):
        return "is not a finite number"
    return "is negative" if seconds < 0 else "is longer than a day"


def tag(name: str, attributes: Mapping[str, str], inside: str = "") -> str:
    """Write an element as XML; ``inside`` is markup already."""
    told = "".join(f" {key}={quoteattr(value)}" for key, value in attributes.items())
    return f"<{name}{told}>{inside}</{name}>" if inside else f"<{name}{told}/>"
