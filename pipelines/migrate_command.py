"""``gauntlet pipelines migrate``: vLLM's definition files into Gauntlet's own language."""

from pathlib import Path

import click

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.migrate import Migration
from gauntlet.pipelines.definitions.migrate import migrate as plan_migration
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.sources import CONFIG_PATH, open_source

_PATH = click.Path(path_type=Path)


@click.command()
@click.option("--definitions", type=_PATH, default=Path(), metavar="DIR", help="Source tree.")
@click.option("--config", default=CONFIG_PATH, show_default=True, metavar="FILE")
@click.option(
    "--out", type=_PATH, required=True, metavar="DIR", help="Where the rewritten files go."
)
@click.option("--force", is_flag=True, help="Write over files that are there.")
@click.option("--dry-run", is_flag=True, help="Say what would be written; write nothing.")
def migrate(definitions: Path, config: str, out: Path, force: bool, dry_run: bool) -> None:
    """Rewrite vLLM's definition files in Gauntlet's own language, comments kept.

    The result is read again and must give the same jobs; files that cannot be read stay as
    they are.
    """
    source = open_source(definitions, config=config)
    migration = plan_migration(read_files(source.root, config), parse_fleet(fleet_text()))
    for problem in migration.left:
        click.echo(f"left as it is: {problem}", err=True)
    _refuse_a_change_of_meaning(migration)
    files = (migration.files.config, *migration.files.jobs)
    if not force and not dry_run:
        _refuse_to_overwrite(out, files)
    for file in files:
        path = out / file.path
        if not dry_run:
            write_atomic(path, file.text.encode("utf-8", "surrogateescape"))
        click.echo(path)
    click.echo(f"{len(files)} files; every job is the same as before", err=True)


def _refuse_a_change_of_meaning(migration: Migration) -> None:
    if migration.different:
        msg = f"these jobs would not be the same: {', '.join(migration.different)}"
        raise InfrastructureError(msg, hint="this is a fault of Gauntlet: please report it")


def _refuse_to_overwrite(out: Path, files: tuple[DefinitionFile, ...]) -> None:
    there = [file.path for file in files if (out / file.path).exists()]
    if there:
        msg = f"{len(there)} of these files are in {out} already, such as {there[0]}"
        raise UsageError(msg, hint="choose another --out, or give --force to write over them")
