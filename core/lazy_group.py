"""A group of commands that imports one only when it is called."""

from collections.abc import Mapping
from importlib import import_module
from typing import ClassVar

import click

Table = Mapping[str, tuple[str, str, str]]
"""Command: module, attribute, one line of help, which stands here so that none is imported."""


class LazyGroup(click.Group):
    """A group whose commands, its ``table``, are imported when they are used, not listed."""

    table: ClassVar[Table] = {}

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the table, which is the order of the work."""
        del ctx
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return one command; None where there is none of that name."""
        del ctx
        if cmd_name not in self.table:
            return None
        module, attribute, _ = self.table[cmd_name]
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry[2]) for name, entry in self.table.items()])
