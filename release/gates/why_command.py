"""``release why``: what the newest evaluation of a candidate was decided on."""

import json

import click

from gauntlet.release.options import VERSION, json_option
from gauntlet.release.version import ReleaseVersion
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.argument("candidate", type=VERSION)
@click.argument("gate", required=False)
@json_option
@warehouse_option
def why(candidate: ReleaseVersion, gate: str | None, as_json: bool, location: str) -> None:
    """Show the numbers behind the recorded gates of CANDIDATE, or behind one GATE."""
    from gauntlet.core.errors import unknown_name
    from gauntlet.release.gates.explain import explain
    from gauntlet.release.gates.record import recorded
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        found = recorded(store, candidate.tag)
    names = [each.gate for each in found.gates]
    if gate is not None and gate not in names:
        raise unknown_name("gate", gate, names)
    chosen = [each for each in found.gates if gate in {None, each.gate}]
    if as_json:
        gates = [each.model_dump(mode="json") for each in chosen]
        told = {"candidate": found.candidate, "commit": found.commit, "at": found.at.isoformat()}
        click.echo(json.dumps({**told, "outcome": found.outcome, "gates": gates}, indent=2))
    else:
        click.echo("\n".join(explain(found, chosen)))
