"""``gauntlet images plan``."""

import json
from typing import Unpack

import click

from gauntlet.images.options import Options, shared


@click.command()
@shared
def plan(as_json: bool, **given: Unpack[Options]) -> None:
    """Say which images would be built, which are there already, and why.

    Without --place no registry is asked, and everything is built.
    """
    from gauntlet.core.errors import InfrastructureError
    from gauntlet.images.planning import make_plan

    made = make_plan(given).plan
    if as_json:
        click.echo(json.dumps(made.as_data(), indent=2))
    else:
        click.echo("\n".join(made.lines()))
    if not made.driver:
        msg = f"nothing here can build: {made.driver_reason}"
        raise InfrastructureError(msg, hint="install buildah and skopeo, or docker with buildx")
