"""A pytest plugin: tests in quarantine run, and their failures do not fail the session.

    pytest -p gauntlet.analyzer.flakes.pytest_plugin --gauntlet-quarantine quarantine.json

The file is what ``gauntlet quarantine export`` writes. Without the option (or the environment
variable GAUNTLET_QUARANTINE) the plugin does nothing. It imports no more than pytest and the
standard library, for it runs inside other people's test suites.
"""

import json
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

from gauntlet.analyzer.flakes.names import covers

PREFIX = "quarantined: "
"""What a report of such a failure begins with; the warehouse knows it by this."""
VERSION = 1
_PROPERTY = "gauntlet_quarantined"
_ENTRY_KEYS = frozenset({"nodeid", "owner", "reason", "expires_at"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One test, class or file in quarantine."""

    nodeid: str
    owner: str
    reason: str
    expires_at: datetime | None

    @property
    def text(self) -> str:
        """What the report of a failure says."""
        return f"{PREFIX}{self.reason} (owner {self.owner or 'nobody'})"


def read_entries(path: Path) -> list[Entry]:
    """Read the file of an export. Raises pytest.UsageError, which names file, key and remedy."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise _wrong(path, f"cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _wrong(path, f"is not JSON: {error}") from error
    if not isinstance(data, dict) or data.get("version") != VERSION:
        raise _wrong(path, f"version: must be {VERSION}")
    entries = data.get("entries")
    if not isinstance(entries, list):
        raise _wrong(path, "entries: must be a list")
    return [_entry(path, number, entry) for number, entry in enumerate(entries)]


def _entry(path: Path, number: int, entry: object) -> Entry:
    where = f"entries[{number}]"
    if not isinstance(entry, dict) or not set(entry) <= _ENTRY_KEYS:
        raise _wrong(path, f"{where}: must have the keys {', '.join(sorted(_ENTRY_KEYS))}")
    words = {key: entry.get(key, "") for key in ("nodeid", "owner", "reason")}
    for key, word in words.items():
        if not isinstance(word, str):
            raise _wrong(path, f"{where}.{key}: must be text")
    if not words["nodeid"].strip():
        raise _wrong(path, f"{where}.nodeid: is missing or empty")
    return Entry(**words, expires_at=_time(path, where, entry.get("expires_at")))


def _time(path: Path, where: str, value: object) -> datetime | None:
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        raise _wrong(path, f"{where}.expires_at: must be an ISO time with a zone, got {value!r}")
    return at


def _wrong(path: Path, what: str) -> pytest.UsageError:
    return pytest.UsageError(
        f"{path}: {what}; `gauntlet quarantine export {path}` writes a new one"
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option."""
    parser.getgroup("gauntlet").addoption(
        "--gauntlet-quarantine",
        metavar="FILE",
        default=os.environ.get("GAUNTLET_QUARANTINE") or None,
        help="Tests in this file run, but their failures do not fail the session"
        " (default: GAUNTLET_QUARANTINE).",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Start, where a file is given."""
    file = config.getoption("--gauntlet-quarantine")
    if file is None:
        return
    entries = read_entries(config.invocation_params.dir / file)
    plugin = QuarantinePlugin(entries, datetime.now(UTC))
    config.pluginmanager.register(plugin, "gauntlet-quarantine")


@dataclass(slots=True)
class QuarantinePlugin:
    """Turns failures of tests in quarantine into expected ones, and lists them at the end."""

    entries: list[Entry]
    now: datetime
    next_item: pytest.Item | None = field(default=None, init=False)

    def entry_of(self, nodeid: str) -> Entry | None:
        """The entry in force that covers a test."""
        return next(
            (e for e in self.entries if covers(e.nodeid, nodeid) and not self._over(e)), None
        )

    def _over(self, entry: Entry) -> bool:
        return entry.expires_at is not None and entry.expires_at <= self.now

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Remember which test follows: what is torn down after this one depends on it."""
        del item
        self.next_item = nextitem

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Report the failure of a test in quarantine as expected."""
        report = yield
        entry = self.entry_of(item.nodeid) if report.failed else None
        if entry is None:
            return report
        if report.when == "teardown" and not _own_teardown(item, self.next_item, call):
            return report
        report.outcome = "skipped"
        # pytest reads this attribute off the report, and hands it to xdist, JUnit and terminal.
        report.wasxfail = entry.text
        item.user_properties.append((_PROPERTY, entry.text))
        report.user_properties = list(item.user_properties)
        return report

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:  # noqa: ANN401
        """List which tests in quarantine failed, and which entries are over."""
        write = terminalreporter.write_line
        failed = [
            report
            for report in terminalreporter.stats.get("xfailed", [])
            if str(getattr(report, "wasxfail", "")).startswith(PREFIX)
        ]
        over = [entry for entry in self.entries if self._over(entry)]
        if failed or over:
            terminalreporter.section("quarantine")
        for report in failed:
            write(f"QUARANTINED {report.nodeid} ({report.when}) - {report.wasxfail}")
            if report.longreprtext:
                last = report.longreprtext.strip().splitlines()[-1]
                write(f"    {last}")
        for entry in over:
            until = f"{entry.expires_at:%F %H:%M}" if entry.expires_at else ""
            write(f"WARNING: the quarantine of {entry.nodeid} ended on {until}: it blocks again")


def _own_teardown(
    item: pytest.Item, following: pytest.Item | None, call: pytest.CallInfo[None]
) -> bool:
    """Whether an error of a teardown is the test's own, not that of a fixture it shares.

    While the next test has the same parent, nothing wider is torn down. After the last one, the
    error must come out of a fixture (or method) that belongs to this test alone.
    """
    if following is not None and following.parent is item.parent:
        return True
    if call.excinfo is None or isinstance(call.excinfo.value, BaseExceptionGroup):
        return False
    codes = {entry.frame.code.raw for entry in call.excinfo.traceback}
    return any(code in codes for code in _own_codes(item))


def _own_codes(item: pytest.Item) -> Iterator[CodeType]:
    """Code of fixtures of function scope, with what they define inside, and of xunit teardowns."""
    info = getattr(item, "_fixtureinfo", None)
    for definitions in info.name2fixturedefs.values() if info else ():
        for definition in definitions:
            code = getattr(definition.func, "__code__", None)
            if definition.scope == "function" and code is not None:
                yield code
                yield from (each for each in code.co_consts if isinstance(each, CodeType))
    for name in ("teardown_method", "tearDown", "asyncTearDown"):
        code = getattr(getattr(getattr(item, "instance", None), name, None), "__code__", None)
        if code is not None:
            yield code
