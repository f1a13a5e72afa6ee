"""The switch: whether anything may be done at all. What cannot be read says no."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import GauntletError
from gauntlet.core.yaml_file import StrictModel


class Switch(StrictModel):
    """What must say that acting is allowed. Without either, nothing is ever done."""

    file: Path | None = None
    """A file whose first word is ``on``."""
    stop_label: str = ""
    """A label of an open issue of the repository that stops everything."""


@dataclass(frozen=True, slots=True)
class Permit:
    """Whether acting is allowed, and who or what said so."""

    given: bool
    reason: str


def ask_switch(switch: Switch, *, stopped: Callable[[str], str | None] | None = None) -> Permit:
    """Ask every place that the policy names; all must agree.

    ``stopped`` tells which open issue carries a label, if any. Whatever goes wrong while asking
    counts as no: a bot that cannot hear "stop" must not go on.
    """
    if switch.file is None and not switch.stop_label:
        return Permit(given=False, reason="the policy names no switch")
    if switch.file is not None and (refused := _refused_by(switch.file)) is not None:
        return Permit(given=False, reason=refused)
    if switch.stop_label:
        if stopped is None:
            return Permit(given=False, reason="nobody can be asked for the label that stops")
        try:
            issue = stopped(switch.stop_label)
        except GauntletError as error:
            return Permit(given=False, reason=f"the label cannot be read: {error.message}")
        if issue is not None:
            return Permit(given=False, reason=f"stopped by {issue} ({switch.stop_label})")
    return Permit(given=True, reason="the switch is on")


def _refused_by(file: Path) -> str | None:
    try:
        words = file.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no text"
        return f"the switch {file} cannot be read: {reason}"
    if words[:1] != ["on"]:
        return f"the switch {file} says {words[0]!r}" if words else f"the switch {file} is empty"
    return None
