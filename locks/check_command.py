"""``gauntlet locks check``."""

from pathlib import Path

import click

from gauntlet.locks.manifest import Resolver
from gauntlet.locks.options import folder_options, resolver_option


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "--advisories",
    type=click.Path(path_type=Path, exists=True),
    metavar="PATH",
    help="A file or folder in OSV's format.",
)
@click.option("--json", "as_json", is_flag=True, help="Findings as data.")
@resolver_option
@folder_options
def check(
    *,
    names: tuple[str, ...],
    advisories: Path | None,
    as_json: bool,
    resolver: Resolver | None,
    root: Path,
    manifest: str,
) -> None:
    """Are the locks fresh, whole, installable where they are for? Without any network.

    Ends with 6 where something was found, and with 4 where a check could not be run.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.locks.checking import CheckRequest, check_locks
    from gauntlet.locks.checks.advisories import load_advisories
    from gauntlet.locks.manifest import Locks
    from gauntlet.locks.rendering import check_json, check_text, raise_findings

    request = CheckRequest(
        names=names,
        today=utc_now().date(),
        advisories=None if advisories is None else load_advisories(advisories),
        resolver=resolver,
    )
    report = check_locks(Locks(root.resolve(), manifest), request)
    click.echo(check_json(report) if as_json else check_text(report), nl=False)
    raise_findings(report)
