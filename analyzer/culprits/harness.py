"""Probes that measure: a number out of the JSON that a command prints."""

import json
from collections.abc import Generator, Sequence

from gauntlet.analyzer.culprits.model import ProbeOutcome, ProbeResult
from gauntlet.analyzer.culprits.worktrees import Worktrees, outcome_of, said
from gauntlet.core.errors import InvalidMeasurementError


class MeasuringWorktrees:
    """Runs a command at commits, one after another, and takes one number from its output.

    Never side by side: runs that share a machine measure each other.
    """

    def __init__(self, worktrees: Worktrees, key: str) -> None:
        """Take the number at ``key``: names and indices with dots, ``points.0.tpot_ms``."""
        self._worktrees = worktrees
        self._key = key

    def probe(self, shas: Sequence[str]) -> Generator[ProbeResult, None, None]:
        """Measure once at each commit.

        A command that fails cannot tell (``infra``, or ``unbuildable`` for 125). Raises
        InvalidMeasurementError where one that ended well printed no such number.
        """
        for sha in shas:
            yield self._probe(sha)

    def _probe(self, sha: str) -> ProbeResult:
        done = self._worktrees.measure(sha)
        if isinstance(done, ProbeResult):
            return done
        outcome = outcome_of(done.returncode)
        if outcome == "passed":
            value = number_at(done.stdout, self._key)
            return ProbeResult(
                sha=sha,
                outcome="passed",
                seconds=done.seconds,
                evidence=f"{self._key} {value:g}",
                value=value,
            )
        told: ProbeOutcome = "unbuildable" if outcome == "unbuildable" else "infra"
        return ProbeResult(sha=sha, outcome=told, seconds=done.seconds, evidence=said(done))


def number_at(text: str, key: str) -> float:
    """Read a positive number out of JSON: the whole text, or its last line that is an object.

    Raises InvalidMeasurementError with what was found instead.
    """
    value = _json(text)
    for part in key.split("."):
        match value:
            case dict() if part in value:
                value = value[part]
            case list() if part.isdecimal() and int(part) < len(value):
                value = value[int(part)]
            case _:
                keys = ", ".join(sorted(value)) if isinstance(value, dict) else ""
                msg = f"--metric {key}: {part!r} is not in the JSON on standard output"
                raise InvalidMeasurementError(msg, hint=f"there: {keys or type(value).__name__}")
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        msg = f"--metric {key}: expected a number above zero, found {value!r}"
        raise InvalidMeasurementError(msg, hint="steps are searched as ratios")
    return float(value)


def _json(text: str) -> object:
    for candidate in (text, *reversed(text.splitlines())):
        if candidate.lstrip().startswith(("{", "[")):
            try:
                found: object = json.loads(candidate)
            except ValueError:
                continue
            return found
    msg = "the command printed no JSON on standard output"
    raise InvalidMeasurementError(msg, hint="for example: -- gauntlet bench run RECIPE --json")
