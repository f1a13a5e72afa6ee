"""``release diff``: what came, went and stayed between two candidates."""

import json
from pathlib import Path

import click

from gauntlet.release.options import VERSION, json_option, repository_option
from gauntlet.release.version import ReleaseVersion
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.argument("before", type=VERSION)
@click.argument("after", type=VERSION)
@json_option
@repository_option
@warehouse_option
def diff(
    before: ReleaseVersion, after: ReleaseVersion, as_json: bool, repository: Path, location: str
) -> None:
    """Compare the recorded gates of two candidates; suspects are the commits between them."""
    from gauntlet.release.gates.use import difference

    found = difference(repository, location, before, after)
    click.echo(json.dumps(found.plain(), indent=2) if as_json else "\n".join(found.lines()))
