"""One night: its steps in order. A step that fails is told, and does not keep the others back."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from gauntlet.analyzer.acting.policy import Policy
from gauntlet.analyzer.nightly.journal import Done, NightFolder, Status
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExitCode, GauntletError
from gauntlet.services.chat.port import Chat
from gauntlet.services.codehost.port import CodeHost

_LOGGER = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Night:
    """What a night works with. ``repository`` is a clone of the engine, where one is at hand."""

    date: date
    branch: str
    location: str
    policy: Policy
    repository: Path | None = None
    host: CodeHost | None = None
    chat: Chat | None = None
    dry_run: bool = False
    commits: int = 200
    now: datetime = field(default_factory=utc_now)

    @property
    def run_id(self) -> str:
        """Under which the decisions of this night stand."""
        return f"nightly/{self.date.isoformat()}"

    @property
    def since(self) -> datetime:
        """The first instant of the night's UTC day."""
        return datetime(self.date.year, self.date.month, self.date.day, tzinfo=UTC)

    @property
    def until(self) -> datetime:
        """The first instant after it."""
        return self.since + timedelta(days=1)


class SkippedError(GauntletError):
    """A step that has nothing to work with; why is told, and counts as not looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What a step says of itself, and the exit code that it asks for."""

    detail: str
    exit_code: ExitCode = ExitCode.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a night."""

    name: str
    run: Callable[[Night, NightFolder], Told]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a night ended: each step with its status, and one exit code, the gravest."""

    steps: tuple[tuple[str, Status, str], ...]
    exit_code: ExitCode

    def plain(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "exit_code": int(self.exit_code),
            "steps": [
                {"step": name, "status": status, "detail": detail}
                for name, status, detail in self.steps
            ],
        }


# What is broken counts for more than what could not be looked at, and that more than what waits.
_GRAVEST = (
    ExitCode.NOT_QUALIFIED,
    ExitCode.INFRASTRUCTURE,
    ExitCode.EXTERNAL_SERVICE,
    ExitCode.USAGE,
    ExitCode.INVALID_MEASUREMENT,
    ExitCode.OK,
)


def run_night(
    night: Night, folder: NightFolder, steps: Sequence[Step], tell: Callable[[str], None]
) -> Ending:
    """Do the steps that are not done yet; the last one, the report, is always done anew."""
    done: list[tuple[str, Status, str]] = []
    codes = [ExitCode.OK]
    for step in steps:
        if folder.done(step.name) and step is not steps[-1]:
            known = folder.state.steps[step.name]
            done.append((step.name, known.status, known.detail))
            codes.append(ExitCode(known.exit_code))
            tell(f"{step.name:<10} done before: {known.detail}")
            continue
        status, detail, code = _do(step, night, folder)
        codes.append(code)
        folder.note(
            step.name, Done(status=status, at=utc_now(), detail=detail, exit_code=int(code))
        )
        done.append((step.name, status, detail))
        tell(f"{step.name:<10} {status}: {detail}")
    return Ending(steps=tuple(done), exit_code=min(codes, key=_GRAVEST.index))


def _do(step: Step, night: Night, folder: NightFolder) -> tuple[Status, str, ExitCode]:
    try:
        told = step.run(night, folder)
    except SkippedError as error:
        return "skipped", error.message, ExitCode.OK
    except GauntletError as error:
        _LOGGER.debug("%s", step.name, exc_info=error)
        hint = f" ({error.hint})" if error.hint else ""
        return "failed", f"{error.message}{hint}", error.exit_code
    return "done", told.detail, told.exit_code
