"""Errors that reach a person, and the exit codes they end in.

Only ``gauntlet.__main__.main`` catches :class:`GauntletError`; everything else lets it pass.
"""

from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class ExitCode(IntEnum):
    """Exit codes of every command; scripts and Buildkite's ``retry`` rules key on them."""

    OK = 0
    USAGE = 2
    NOTHING_SELECTED = 3
    INFRASTRUCTURE = 4
    INVALID_MEASUREMENT = 5
    NOT_QUALIFIED = 6
    EXTERNAL_SERVICE = 7
    INTERRUPTED = 130


class GauntletError(Exception):
    """An error with a remedy: what went wrong, what to do about it, how the command ends."""

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UsageError(GauntletError):
    """The caller asked for something that does not exist or does not fit."""


class InfrastructureError(GauntletError):
    """The machine, not the engine, failed; running it again may help."""

    exit_code = ExitCode.INFRASTRUCTURE


class InvalidMeasurementError(GauntletError):
    """Something was measured, but the numbers do not mean what their names say."""

    exit_code = ExitCode.INVALID_MEASUREMENT


class NotQualifiedError(GauntletError):
    """A gate failed, or a comparison found a regression."""

    exit_code = ExitCode.NOT_QUALIFIED


class ExternalServiceError(GauntletError):
    """A service outside this machine did not answer as it should."""

    exit_code = ExitCode.EXTERNAL_SERVICE


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in a file: where, which key, which value, what would be right."""

    file: str
    message: str
    line: int | None = None
    key: str | None = None
    value: str | None = None
    allowed: "tuple[str, ...]" = ()
    nearest: str | None = None

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        text = f"{where}: "
        if self.key:
            text += f"{self.key}: "
        text += self.message
        if self.value is not None:
            text += f" (got {self.value})"
        if self.nearest:
            text += f"; did you mean {self.nearest!r}?"
        elif self.allowed:
            text += f"; allowed: {', '.join(self.allowed)}"
        return text


class ConfigError(GauntletError):
    """Every problem found in the configuration, not only the first."""

    def __init__(self, problems: "Sequence[Problem]", *, hint: str | None = None) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(problem) for problem in self.problems), hint=hint)


def nearest(word: str, known: "Iterable[str]") -> str | None:
    """The known word closest to ``word``, or None where nothing is close."""
    matches = get_close_matches(word, list(known), n=1, cutoff=0.6)
    return matches[0] if matches else None


def unknown_name(
    kind: str, name: str, known: "Iterable[str]", *, hint: str | None = None
) -> UsageError:
    """Build the error for a name that is not in a closed set."""
    names = sorted(known)
    close = nearest(name, names)
    text = f"unknown {kind} {name!r}"
    text += f"; did you mean {close!r}?" if close else "."
    text += f" Known: {', '.join(names)}." if names else " There are none."
    return UsageError(text, hint=hint)
