"""From the phases of a pytest test (setup, call, teardown) to its one outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from gauntlet.warehouse.reports.draft import NOT_MEASURED, DetailDraft, Draft
from gauntlet.warehouse.reports.junit_case import wrong_seconds
from gauntlet.warehouse.reports.pytest_models import Collector, JsonTest, PhaseLine
from gauntlet.warehouse.reports.report import BROKEN, Outcome
from gauntlet.warehouse.reports.text import HEAD, TAIL, Clip

_CALL, _RERUN = "call", "rerun"
_PHASE_WORDS = ("passed", "failed", "skipped", _RERUN)
_WORDS: dict[str, Outcome] = {outcome.word: outcome for outcome in Outcome}
_CUT = "the run ended inside the test, which may have passed or not"


class _Phase(Protocol):
    @property
    def outcome(self) -> str: ...
    @property
    def duration(self) -> float | None: ...
    def message(self) -> str: ...
    def text(self) -> str: ...
    def output(self) -> str: ...


def seconds_of(phases: Mapping[str, _Phase]) -> tuple[float, list[str]]:
    """Add up the phases, in seconds; NaN where none was measured, with what is wrong with them."""
    measured = {name: p.duration for name, p in phases.items() if p.duration is not None}
    reasons = [
        f"{name}.duration: {duration} {wrong}"
        for name, duration in measured.items()
        if (wrong := wrong_seconds(duration))
    ]
    if reasons or not measured:
        return NOT_MEASURED, reasons
    total = sum(measured.values())
    wrong = wrong_seconds(total)
    return total, [f"duration: {total} {wrong}"] if wrong else []


def begin_at_seconds(draft: Draft, seconds: float) -> str | None:
    """Note when the run began, in seconds since 1970; returns what is wrong with it."""
    try:
        return draft.begin_at(datetime.fromtimestamp(seconds, UTC))
    except (ValueError, OverflowError, OSError):
        return f"{seconds} is no time in seconds since 1970"


def detail_of(phases: Mapping[str, _Phase], *, file: str, line: int | None) -> DetailDraft:
    """What the phases said: the first message, all texts, all output; bounded."""
    text, output = Clip(), Clip(head=0, tail=HEAD + TAIL)
    for phase in phases.values():
        for sink, said in ((text, phase.text()), (output, phase.output())):
            if said:
                sink.add(f"{said}\n")
    messages = (phase.message() for phase in phases.values())
    told = text.text()
    message = next(filter(None, messages), "") or _last_line(told)
    return DetailDraft(message=message, text=told, output=output.text(), file=file, line=line)


def _last_line(text: str) -> str:
    """The last line of a traceback, without the mark that pytest puts before it."""
    return text.rpartition("\n")[2].removeprefix("E  ").strip()


def add_json_test(draft: Draft, position: str, test: JsonTest, raw: str) -> None:
    """Add a test of pytest-json-report, with the attempts before it that it tells of."""
    phases = test.phases()
    seconds, reasons = seconds_of(phases)
    if not test.nodeid.strip():
        reasons.append(f"nodeid: {test.nodeid!r} names no test")
    outcome = _outcome_of(phases) if test.outcome == _RERUN else _WORDS.get(test.outcome)
    if outcome is None:
        known = ", ".join([*_WORDS, _RERUN])
        reasons.append(f"outcome: {test.outcome!r} is none of {known}")
    # A test that a killed run was in counts as passed there until it fails.
    if outcome is Outcome.PASSED and not {"call", "teardown"} <= phases.keys():
        reasons.append(f"phases: there are only {', '.join(phases) or 'none'}; {_CUT}")
    if reasons or outcome is None:
        draft.reject(position, reasons, raw)
        return
    if test.outcome == _RERUN:
        draft.add(test.nodeid, NOT_MEASURED, Outcome.FAILED, DetailDraft(message="run again"))
    file = test.nodeid.partition("::")[0]
    detail = None
    if outcome is not Outcome.PASSED:
        detail = detail_of(phases, file=file, line=test.lineno)
    draft.add(test.nodeid, seconds, outcome, detail)


def add_collector(draft: Draft, position: str, collector: Collector, raw: str) -> None:
    """Add what was not collected, because it failed or was skipped, as a case of its own."""
    outcome = {"failed": Outcome.ERROR, "skipped": Outcome.SKIPPED}.get(collector.outcome)
    if outcome is None:
        return
    if not collector.nodeid.strip():
        draft.reject(position, [f"nodeid: the collection as a whole {collector.outcome}"], raw)
        return
    clip = Clip()
    clip.add(collector.text())
    text = clip.text()
    file = collector.nodeid.partition("::")[0]
    message = collector.message() or _last_line(text)
    detail = DetailDraft(message=message, text=text, file=file)
    draft.add(collector.nodeid, NOT_MEASURED, outcome, detail)


def _outcome_of(phases: Mapping[str, _Phase]) -> Outcome:
    """The worst of the phases; a failure outside the call is an error."""
    worst = Outcome.PASSED
    for name, phase in phases.items():
        outcome = _outcome_of_phase(name, phase)
        if outcome.severity > worst.severity:
            worst = outcome
    return worst


def _outcome_of_phase(name: str, phase: _Phase) -> Outcome:
    expected = isinstance(phase, PhaseLine) and phase.wasxfail is not None
    if phase.outcome == "skipped":
        return Outcome.XFAILED if expected else Outcome.SKIPPED
    if phase.outcome == "passed":
        return Outcome.XPASSED if expected else Outcome.PASSED
    return Outcome.FAILED if name.startswith(_CALL) else Outcome.ERROR


@dataclass(slots=True)
class OpenTests:
    """Tests of a reportlog whose last phase has not come yet; several under pytest-xdist."""

    draft: Draft
    _open: dict[str, dict[str, PhaseLine]] = field(default_factory=dict)
    _positions: dict[str, str] = field(default_factory=dict)
    _first_start: float | None = None

    def take_subtest(self, line: PhaseLine) -> None:
        """Take the line of a subtest; one that failed is a failure of its test."""
        phases = self._open.get(line.nodeid)
        if phases is not None and line.outcome == "failed":
            # The call that it is a part of has its time.
            phases[f"{_CALL} {len(phases)}"] = line.model_copy(update={"duration": None})

    def take(self, position: str, line: PhaseLine, raw: str) -> None:
        """Take the next line; its test is added with its last phase."""
        if not line.nodeid.strip():
            self.draft.reject(position, [f"nodeid: {line.nodeid!r} names no test"], raw)
            return
        if line.when == "setup" and line.nodeid in self._open:
            self._cut(line.nodeid)
        phases = self._open.setdefault(line.nodeid, {})
        self._positions.setdefault(line.nodeid, position)
        phases[line.when] = line
        if line.start is not None:
            first = self._first_start
            self._first_start = line.start if first is None else min(first, line.start)
        # A worker that crashed leaves one line, of no phase.
        if line.outcome == _RERUN or line.when not in ("setup", _CALL):
            self._close(line.nodeid)

    def finish(self) -> None:
        """Take the end of the log."""
        for nodeid in list(self._open):
            self._cut(nodeid)
        if self._first_start is None:
            return
        if wrong := begin_at_seconds(self.draft, self._first_start):
            self.draft.reject("start", [f"start: {wrong}"], f"start={self._first_start}")

    def _close(self, nodeid: str) -> None:
        phases, position = self._open.pop(nodeid), self._positions.pop(nodeid)
        seconds, reasons = seconds_of(phases)
        last = next(reversed(phases.values()))
        unknown = sorted({phase.outcome for phase in phases.values()} - set(_PHASE_WORDS))
        reasons += [f"outcome: {word!r} is none of {', '.join(_PHASE_WORDS)}" for word in unknown]
        if reasons:
            self.draft.reject(position, reasons, last.model_dump_json())
            return
        rerun = last.outcome == _RERUN
        outcome = Outcome.FAILED if rerun else _outcome_of(phases)
        detail = None
        if outcome is not Outcome.PASSED:
            file, number, _ = last.location or (nodeid.partition("::")[0], None, "")
            detail = detail_of(phases, file=file, line=number)
        self.draft.add(nodeid, seconds, outcome, detail)

    def _cut(self, nodeid: str) -> None:
        """Settle a test whose end is missing: it counts only where it had failed already."""
        if _outcome_of(self._open[nodeid]) in BROKEN:
            self._close(nodeid)
            return
        phases = self._open.pop(nodeid)
        reason = f"phases: there are only {', '.join(phases)}; {_CUT}"
        self.draft.reject(self._positions.pop(nodeid), [reason], nodeid)
