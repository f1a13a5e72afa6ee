"""``gauntlet locks``."""

import click

from gauntlet.core.lazy_group import LazyGroup

COMMANDS = {
    "check": ("gauntlet.locks.check_command", "check", "Are the locks fresh, whole, buildable?"),
    "compile": ("gauntlet.locks.compile_command", "compile_", "Compile locks from their inputs."),
    "diff": ("gauntlet.locks.diff_command", "diff", "What changed between two locks."),
    "why": ("gauntlet.locks.why_command", "why", "Through whom a package is in a lock."),
    "impact": ("gauntlet.locks.impact_command", "impact", "Which jobs a changed package concerns."),
    "refresh": (
        "gauntlet.locks.refresh_command",
        "refresh",
        "New versions on a branch, with a pull request.",
    ),
    "bisect": ("gauntlet.locks.bisect_command", "bisect", "Find the upgrade that breaks a test."),
    "drift": ("gauntlet.locks.drift_command", "drift", "Is what is installed what is locked?"),
}


class LockCommands(LazyGroup):
    """Commands about locks."""

    table = COMMANDS


@click.group(cls=LockCommands)
def locks() -> None:
    """Pinned dependencies: compile, check, compare, refresh; and what is installed against them."""
