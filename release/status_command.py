"""``release status``: where releases stand, and what is next."""

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION, required=False)
@json_option
@place_options
def status(
    *,
    version: ReleaseVersion | None,
    as_json: bool,
    places: Places,
) -> None:
    """Say where VERSION stands, or each release of the folder, and what is next. Reads only."""
    import json

    from gauntlet.core.clock import utc_now
    from gauntlet.release.standing import known_releases, read_standing
    from gauntlet.release.status import describe

    place, now = places.load(), utc_now()
    versions = [version] if version else known_releases(places.releases)
    found = [describe(facts, now) for facts in read_standing(place, *versions)]
    if as_json:
        click.echo(json.dumps({"releases": [each.plain() for each in found]}, indent=2))
    elif found:
        click.echo("\n\n".join("\n".join(each.lines()) for each in found))
    else:
        click.echo(f"no release in {places.releases} yet; begin one with: release cut vX.Y.Z")
