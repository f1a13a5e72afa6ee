"""``gauntlet recipes``: check, expand, explain and import measurement recipes."""

import click

from gauntlet.core.lazy_group import LazyGroup

_HERE = "gauntlet.perf_eval"
COMMANDS = {
    "list": (f"{_HERE}.list_command", "list_recipes", "List the recipes that ship."),
    "lint": (f"{_HERE}.lint_command", "lint", "Check recipes; every problem is printed."),
    "expand": (f"{_HERE}.show_command", "expand", "Print every point with its command."),
    "explain": (f"{_HERE}.show_command", "explain", "Say what a recipe measures, and why so."),
    "import": (
        f"{_HERE}.import_command",
        "import_file",
        "Turn a vLLM workload into a recipe.",
    ),
}


class Commands(LazyGroup):
    """Every command of this package."""

    table = COMMANDS


@click.group(cls=Commands)
def recipes() -> None:
    """Check, expand, explain and import measurement recipes.

    RECIPE is the name of one that ships or a .yaml file.
    """
