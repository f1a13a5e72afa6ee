"""``gauntlet bench``: run recipes, search limits, compare load clients."""

import click

from gauntlet.core.lazy_group import LazyGroup

_HERE = "gauntlet.harness"
COMMANDS = {
    "run": (f"{_HERE}.bench.run_command", "run", "Measure everything that a recipe says."),
    "search": (
        f"{_HERE}.bench.search_command",
        "search",
        "Find the highest load that keeps the limits.",
    ),
    "clients": (
        f"{_HERE}.clients.command",
        "clients",
        "Compare load clients on one server.",
    ),
}


class Commands(LazyGroup):
    """Every command of this package."""

    table = COMMANDS


@click.group(cls=Commands)
def bench() -> None:
    """Measure an engine so that the number can be believed.

    RECIPE is the name of one that ships or a .yaml file; `gauntlet recipes list` names them.
    """
