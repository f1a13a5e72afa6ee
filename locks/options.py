"""Options that several commands about locks have."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from gauntlet.locks.manifest import FILE

Command = TypeVar("Command", bound=Callable[..., object])


def folder_options(command: Command) -> Command:
    """``--root`` and ``--manifest``: whose locks."""
    manifest = click.option(
        "--manifest",
        default=FILE,
        show_default=True,
        metavar="FILE",
        help="Names the locks; within the root.",
    )
    root = click.option(
        "--root",
        type=click.Path(path_type=Path, exists=True, file_okay=False),
        default=".",
        show_default=True,
        metavar="DIR",
        help="Root of the repository.",
    )
    return root(manifest(command))


def resolver_option(command: Command) -> Command:
    """``--resolver``: in place of the one that the manifest, or a header, names."""
    return click.option(
        "--resolver",
        type=click.Choice(("uv", "pip-tools")),
        help="Another one than locks.yaml, or the lock's header, names.",
    )(command)
