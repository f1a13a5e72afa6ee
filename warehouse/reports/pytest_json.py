"""What pytest's JSON plugins write, to a report: pytest-json-report and pytest-reportlog.

pytest-json-report is one document with one entry per test. pytest-reportlog is one line per phase
(setup, call, teardown) of a test, in the order of events, so that several tests can be open at
once; of a run that was killed, every line up to then can be read.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from itertools import chain
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from gauntlet.core.clock import utc_now
from gauntlet.warehouse.reports.draft import Draft
from gauntlet.warehouse.reports.pytest_models import Collector, JsonTest, PhaseLine
from gauntlet.warehouse.reports.pytest_phases import (
    OpenTests,
    add_collector,
    add_json_test,
    begin_at_seconds,
)
from gauntlet.warehouse.reports.report import Limits, Report, UnreadableReportError
from gauntlet.warehouse.reports.source import ByteSource
from gauntlet.warehouse.reports.text import shortened

_TYPE = "$report_type"
_TYPE_KEY = f'"{_TYPE}"'.encode()
_LONE = re.compile("[\ud800-\udfff]")
_HINT = "give a file of pytest-json-report (--json-report) or pytest-reportlog (--report-log)"
_Model = TypeVar("_Model", bound=BaseModel)


def parse_pytest_json(
    chunks: Iterable[bytes],
    *,
    origin: str = "report",
    now: datetime | None = None,
    limits: Limits | None = None,
) -> Report:
    """Read what pytest-json-report or pytest-reportlog wrote, gzip or not.

    What cannot be stored is in ``problems``; so is what cannot be read of a reportlog.
    Raises UnreadableReportError where it is neither, or not one line of it can be read.
    """
    limits = limits or Limits()
    source = ByteSource(chunks, limit=limits.bytes)
    draft = Draft(origin=origin, now=now or utc_now(), limits=limits)
    lines = enumerate(_lines(source, limits.document), start=1)
    first = next(((number, line) for number, line in lines if line.strip()), None)
    if first is None:
        msg = f"{origin}: no pytest JSON: {source.problem or 'empty'}"
        raise UnreadableReportError(msg, hint=_HINT)
    if _TYPE_KEY in first[1]:
        _read_lines(chain([first], lines), draft)
    else:
        _read_document(chain([first[1]], (line for _, line in lines)), draft)
    if source.problem:
        draft.reject("end of the file", [source.problem], "")
    return draft.finish()


def _read_lines(lines: Iterable[tuple[int, bytes]], draft: Draft) -> None:
    tests = OpenTests(draft)
    readable = False
    for number, line in lines:
        position = f"line {number}"
        raw = line[: draft.limits.raw].decode(errors="replace")
        if not line.strip():
            continue
        try:
            value = _value(line, draft)
        except ValueError as error:
            draft.reject(position, [str(error)], raw)
            continue
        readable = True
        # A subtest has its kind under another key, and none under this one.
        kind = value.get(_TYPE, value.get("_report_type"))
        if kind == "CollectReport":
            if collector := _model(Collector, value, draft, position, raw):
                add_collector(draft, position, collector, raw)
        elif kind in ("TestReport", "SubTestReport") and (
            phase := _model(PhaseLine, value, draft, position, raw)
        ):
            if kind == "TestReport":
                tests.take(position, phase, raw)
            else:
                tests.take_subtest(phase)
    if not readable:
        msg = f"{draft.origin}: no pytest JSON: no line of it can be read"
        raise UnreadableReportError(msg, hint=_HINT)
    tests.finish()


def _read_document(lines: Iterable[bytes], draft: Draft) -> None:
    value = _document(lines, draft)
    _begin(draft, value)
    for place, item in enumerate(_list(value, "collectors")):
        position, raw = f"collectors[{place}]", _raw(item, draft)
        if collector := _model(Collector, item, draft, position, raw):
            add_collector(draft, position, collector, raw)
    tests = _list(value, "tests")
    for place, item in enumerate(tests):
        position, raw = f"tests[{place}]", _raw(item, draft)
        if test := _model(JsonTest, item, draft, position, raw):
            add_json_test(draft, position, test, raw)
    summary = value["summary"]
    claimed = summary.get("total", 0) if isinstance(summary, dict) else 0
    if claimed and not tests:
        reason = f"summary.total: says {claimed}, but there are no tests"
        draft.reject("summary", [reason], _raw(summary, draft))


def _document(lines: Iterable[bytes], draft: Draft) -> Mapping[str, object]:
    kept: list[bytes] = []
    size = 0
    for line in lines:
        kept.append(line)
        size += len(line) + 1
        if size > draft.limits.document:
            msg = f"{draft.origin}: longer than {draft.limits.document} bytes"
            raise UnreadableReportError(msg, hint="write a reportlog (--report-log) instead")
    try:
        value = _value(b"\n".join(kept), draft)
    except ValueError as error:
        msg = f"{draft.origin}: no pytest JSON: {error}"
        raise UnreadableReportError(msg, hint=_HINT) from error
    if "summary" not in value:
        msg = f"{draft.origin}: no pytest JSON: there is no key 'summary' or '{_TYPE}'"
        raise UnreadableReportError(msg, hint=_HINT)
    return value


def _begin(draft: Draft, value: Mapping[str, object]) -> None:
    """Note when the run began: ``created`` is its end, both are in seconds."""
    created, duration = value.get("created"), value.get("duration")
    if not isinstance(created, int | float):
        return
    start = created - (duration if isinstance(duration, int | float) else 0.0)
    if wrong := begin_at_seconds(draft, start):
        draft.reject("created", [f"created: {wrong}"], f"created={created} duration={duration}")


def _model(
    model: type[_Model], value: object, draft: Draft, position: str, raw: str
) -> _Model | None:
    """Validate one item, or note every reason why it cannot be read."""
    try:
        return model.model_validate(value)
    except ValidationError as error:
        reasons = [
            f"{'.'.join(map(str, item['loc']))}: {item['msg']}" for item in error.errors()[:5]
        ]
        draft.reject(position, reasons, raw)
        return None


def _value(data: bytes, draft: Draft) -> Mapping[str, object]:
    """Read a JSON object; what UTF-8 cannot spell becomes U+FFFD. Raises ValueError."""
    text = data.decode("utf-8", "surrogateescape")
    try:
        value = json.loads(text)
        if "\\ud" in text or "\\uD" in text or not text.isascii():
            text, count = _LONE.subn("\ufffd", json.dumps(value, ensure_ascii=False))
            draft.repaired += count
            value = json.loads(text) if count else value
    except (json.JSONDecodeError, RecursionError) as error:
        msg = f"JSON: {error}"
        raise ValueError(msg) from error
    if not isinstance(value, dict):
        msg = f"JSON: expected an object, found {type(value).__name__}"
        raise ValueError(msg)  # noqa: TRY004 - it is the text that is wrong
    return value


def _list(value: Mapping[str, object], key: str) -> list[object]:
    found = value.get(key)
    return found if isinstance(found, list) else []


def _raw(item: object, draft: Draft) -> str:
    return shortened(json.dumps(item, ensure_ascii=False), draft.limits.raw)


def _lines(chunks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Split into lines; of one longer than ``limit`` only that much and one byte is kept."""
    held = bytearray()
    for chunk in chunks:
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            held += line[: limit + 1 - len(held)]
            yield bytes(held)
            held.clear()
        held += rest[: max(0, limit + 1 - len(held))]
    if held:
        yield bytes(held)
