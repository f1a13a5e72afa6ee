"""The parts of pytest's JSON formats that are read; what else is in them does not matter."""

import ast
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict

_SKIPPED = "Skipped: "
_LONGEST_SKIP = 10_000


class _Read(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Crash(_Read):
    message: str = ""


class _Place(_Read):
    path: str = ""
    lineno: int = 0
    message: str = ""


class _EntryData(_Read):
    lines: tuple[str, ...] = ()
    reprfileloc: _Place | None = None


class _Entry(_Read):
    data: _EntryData = _EntryData()


class _Traceback(_Read):
    reprentries: tuple[_Entry, ...] = ()


class _Failure(_Read):
    """An exception as pytest serialises it."""

    reprcrash: _Crash | None = None
    reprtraceback: _Traceback = _Traceback()

    def text(self) -> str:
        """The traceback as pytest prints it, more or less."""
        lines: list[str] = []
        for entry in self.reprtraceback.reprentries:
            lines += entry.data.lines
            if place := entry.data.reprfileloc:
                lines.append(f"{place.path}:{place.lineno}: {place.message}")
        return "\n".join(lines)


_Skip = tuple[str, int, str]


def _as_skip(value: object) -> object:
    """Read the tuple of a skipped test, which pytest-json-report writes as Python source."""
    if not isinstance(value, str) or not value.startswith("(") or len(value) > _LONGEST_SKIP:
        return value
    try:
        found: object = ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value
    return found if isinstance(found, tuple) and len(found) == 3 else value


class JsonPhase(_Read):
    """One phase of a test in pytest-json-report; ``duration`` in seconds."""

    outcome: str
    duration: float | None = None
    longrepr: Annotated[_Skip | str, BeforeValidator(_as_skip)] = ""
    crash: _Crash | None = None
    stdout: str = ""
    stderr: str = ""

    def message(self) -> str:
        """The exception, or the reason for skipping."""
        if isinstance(self.longrepr, tuple):
            return self.longrepr[2].removeprefix(_SKIPPED)
        return self.crash.message if self.crash else ""

    def text(self) -> str:
        """The traceback."""
        return self.longrepr if isinstance(self.longrepr, str) else ""

    def output(self) -> str:
        """What the test printed."""
        return "\n".join(filter(None, (self.stdout, self.stderr)))


class JsonTest(_Read):
    """One test in pytest-json-report."""

    nodeid: str
    outcome: str
    lineno: int | None = None
    setup: JsonPhase | None = None
    call: JsonPhase | None = None
    teardown: JsonPhase | None = None

    def phases(self) -> dict[str, JsonPhase]:
        """Its phases by name, in their order."""
        named = {"setup": self.setup, "call": self.call, "teardown": self.teardown}
        return {name: phase for name, phase in named.items() if phase}


class Collector(_Read):
    """A file or class that was collected, in either format."""

    nodeid: str
    outcome: str
    longrepr: Annotated[_Failure | _Skip | str | None, BeforeValidator(_as_skip)] = None

    def message(self) -> str:
        """The reason for skipping it."""
        return self.longrepr[2].removeprefix(_SKIPPED) if isinstance(self.longrepr, tuple) else ""

    def text(self) -> str:
        """Why it could not be collected."""
        if isinstance(self.longrepr, _Failure):
            return self.longrepr.text()
        return self.longrepr if isinstance(self.longrepr, str) else ""


class PhaseLine(_Read):
    """One phase of a test in pytest-reportlog; ``start`` in seconds since 1970."""

    nodeid: str
    when: str
    outcome: str
    duration: float | None = None
    start: float | None = None
    location: tuple[str, int | None, str] | None = None
    longrepr: _Failure | _Skip | str | None = None
    wasxfail: str | None = None
    sections: tuple[tuple[str, str], ...] = ()

    def message(self) -> str:
        """The exception, or the reason for skipping or for expecting a failure."""
        if self.wasxfail:
            return self.wasxfail.removeprefix("reason: ")
        if isinstance(self.longrepr, tuple):
            return self.longrepr[2].removeprefix(_SKIPPED)
        if isinstance(self.longrepr, _Failure) and self.longrepr.reprcrash:
            return self.longrepr.reprcrash.message
        return ""

    def text(self) -> str:
        """The traceback."""
        if isinstance(self.longrepr, _Failure):
            return self.longrepr.text()
        return self.longrepr if isinstance(self.longrepr, str) else ""

    def output(self) -> str:
        """What the test printed."""
        return "\n".join(f"[{title}]\n{text}" for title, text in self.sections)
