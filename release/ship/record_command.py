"""``release record``: the signed record of a release."""

from pathlib import Path

import click

from gauntlet.release.options import VERSION, json_option, releases_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION)
@json_option
@releases_option
def record(version: ReleaseVersion, as_json: bool, releases: Path) -> None:
    """Show the record of VERSION as Markdown, or the very JSON that was signed."""
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.ship.record import RECORD, markdown, read_record

    path = ReleaseFolder.of(releases, version).published / "documents" / RECORD
    found = read_record(path)
    click.echo(path.read_text() if as_json else markdown(found), nl=False)
