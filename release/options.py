"""Options that several commands of ``release`` have, and the question before anything is done."""

import getpass
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TypeVar

import click

from gauntlet.core.errors import UsageError
from gauntlet.core.git import git
from gauntlet.release.version import ReleaseVersion

CommandT = TypeVar("CommandT", bound=Callable[..., object])


class VersionType(click.ParamType[ReleaseVersion]):
    """``v1.2.3`` or ``v1.2.3rc4``."""

    name = "version"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> ReleaseVersion:
        """Read a version; raises UsageError for what is none."""
        del param, ctx
        return value if isinstance(value, ReleaseVersion) else ReleaseVersion.parse(str(value))


VERSION = VersionType()


def repository_option(function: CommandT) -> CommandT:
    """Add ``--repository``: the engine's checkout."""
    return click.option(
        "--repository",
        type=click.Path(exists=True, file_okay=False, path_type=Path),
        default=Path(),
        show_default="here",
        help="A checkout of the engine.",
    )(function)


def releases_option(function: CommandT) -> CommandT:
    """Add ``--releases``: where the state of releases is kept."""
    return click.option(
        "--releases",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="GAUNTLET_RELEASES",
        default=Path(".gauntlet/releases"),
        show_default=True,
        help="Where releases are kept, a folder for each.",
    )(function)


def policy_option(function: CommandT) -> CommandT:
    """Add ``--policy``."""
    return click.option(
        "--policy",
        type=click.Path(exists=True, dir_okay=False, path_type=Path),
        help="A policy in the place of the one that ships.",
    )(function)


def acting_options(function: CommandT) -> CommandT:
    """Add ``--dry-run`` and ``--yes``."""
    function = click.option("--yes", is_flag=True, help="Do not ask.")(function)
    return click.option("--dry-run", is_flag=True, help="Print the plan and do nothing.")(function)


by_option = click.option("--by", default="", help="Who does this.  [default: git's user.name]")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def who(by: str, repository: Path | None = None) -> str:
    """Name of the person at the keyboard: as given, as git knows it, or of the account."""
    if by:
        return by
    try:
        name = git(repository or Path(), "config", "user.name").strip()
    except UsageError:
        name = ""
    return name or getpass.getuser()


def confirm(plan: Iterable[str], *, yes: bool, what: str) -> None:
    """Show a plan on stderr and ask whether to do it.

    Raises click.Abort where the answer is no, UsageError where nobody can be asked.
    """
    if yes:
        return
    for line in plan:
        click.echo(line, err=True)
    if not sys.stdin.isatty():
        raise UsageError(f"nobody is there to be asked: {what}", hint="add --yes, or --dry-run")
    click.confirm(what, abort=True, err=True)
