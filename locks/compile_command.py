"""``gauntlet locks compile``."""

from pathlib import Path

import click

from gauntlet.locks.manifest import Resolver
from gauntlet.locks.options import folder_options, resolver_option


@click.command("compile")
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option("--upgrade", is_flag=True, help="Take the newest versions of everything.")
@click.option(
    "--upgrade-package",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    help="Only this one; repeatable.",
)
@resolver_option
@click.option(
    "--find-links",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    multiple=True,
    metavar="DIR",
    help="A folder of wheels, beside the index or (--no-index) in place of it.",
)
@click.option("--no-index", is_flag=True, help="Ask no index; needs --find-links.")
@click.option("--dry-run", is_flag=True, help="Say what would change, and write nothing.")
@folder_options
def compile_(
    *,
    names: tuple[str, ...],
    upgrade: bool,
    packages: tuple[str, ...],
    resolver: Resolver | None,
    find_links: tuple[Path, ...],
    no_index: bool,
    dry_run: bool,
    root: Path,
    manifest: str,
) -> None:
    """Compile locks from their inputs; present pins stay where they fit.

    Ends with 7 where the package index does not answer; what did not compile stays as it was."""
    from packaging.utils import canonicalize_name

    from gauntlet.core.proc import terminable
    from gauntlet.locks.compiling import CompileRequest, plan_compile, write_plan
    from gauntlet.locks.index import nowhere_to_look, source_for
    from gauntlet.locks.manifest import Locks
    from gauntlet.locks.rendering import compiled_lines, raise_failures

    if no_index and not find_links:
        raise nowhere_to_look()
    request = CompileRequest(
        names=names,
        upgrade_all=upgrade,
        upgrade=tuple(canonicalize_name(package) for package in packages),
        resolver=resolver,
        find_links=find_links,
        offline=no_index,
    )
    locks = Locks(root.resolve(), manifest)
    with terminable():
        source = source_for(find_links, offline=no_index)
        plan = plan_compile(locks, request, source, lambda line: click.echo(line, err=True))
        if not dry_run:
            write_plan(locks, plan)
    for line in compiled_lines(plan):
        click.echo(line)
    raise_failures(plan)
