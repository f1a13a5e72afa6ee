"""``release rollback``: let moving tags and the index lead to the release before."""

import json

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, acting_options, by_option, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION)
@click.option("--to", "back_to", type=VERSION, help="[default: the release before]")
@by_option
@acting_options
@json_option
@place_options
def rollback(
    *,
    version: ReleaseVersion,
    back_to: ReleaseVersion | None,
    by: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    places: Places,
) -> None:
    """Plan the way back from VERSION, and with a yes take it. What shipped by name stays."""
    from gauntlet.release.options import confirm
    from gauntlet.release.ship.rollback_use import plan_from_record, take_back

    place = places.load()
    planned, store = plan_from_record(place, version, back_to)
    if not dry_run:
        confirm(planned.lines(), yes=yes, what=f"Roll {version} back?")
        take_back(place, planned, store, by=places.who(by))
    if as_json:
        click.echo(json.dumps({**planned.plain(), "done": not dry_run}, indent=2))
    else:
        click.echo("\n".join(planned.lines()))
