"""``release notes``: what was merged since the last release, by area."""

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION)
@json_option
@place_options
def notes(
    *,
    version: ReleaseVersion,
    as_json: bool,
    places: Places,
) -> None:
    """Draft the notes of VERSION: its newest candidate, or the one that is named (v1.2.3rc2).

    What people write is taken from highlights.md in the release's folder, labels of pull requests
    from labels.json there: {"labels": {"12": ["kernel"]}}.
    """
    import json

    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.notes.use import notes_of, plain_notes_of

    place = places.load()
    release = ReleaseFolder.of(places.releases, version).load()
    candidate = release.candidate_of(version)
    if as_json:
        click.echo(json.dumps(plain_notes_of(place, release, candidate), indent=2))
    else:
        click.echo(notes_of(place, release, candidate), nl=False)
