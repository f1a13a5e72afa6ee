"""``release publish``: ship the candidate that qualifies."""

from pathlib import Path

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, acting_options, by_option, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION)
@click.option("--remote", default="", help="The remote that is tagged.  [default: the policy's]")
@click.option("--staging", default="", help="Where images are staged.  [default: the policy's]")
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Private key to sign with.  [default: the policy's variable names it]",
)
@by_option
@acting_options
@json_option
@place_options
def publish(
    *,
    version: ReleaseVersion,
    remote: str,
    staging: str,
    key: Path | None,
    by: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    places: Places,
) -> None:  # fmt: skip
    """Publish VERSION: its newest candidate, or the one that is named (v1.2.3rc2).

    Exit 6 where it does not qualify: then nothing ships. Stopped anywhere, the same command
    goes on with the same candidate.
    """
    import json

    from gauntlet.core.clock import utc_now
    from gauntlet.release.options import confirm
    from gauntlet.release.ship.options import press_of
    from gauntlet.release.ship.plan import plan_publish
    from gauntlet.release.ship.publish import perform_publish

    place, name = places.load(), places.who(by)
    press = press_of(place, version, remote=remote, staging=staging, key=key)
    planned = plan_publish(press, version, utc_now(), name, record=not dry_run)
    if not dry_run:
        confirm(planned.lines(), yes=yes, what=f"Publish {planned.candidate.name}?")
        told: list[str] = []
        perform_publish(press, planned, now=utc_now(), by=name, tell=told.append)
        lines = told
    else:
        lines = list(planned.lines())
    if as_json:
        plain = {"version": planned.version.tag, "candidate": planned.candidate.name}
        click.echo(json.dumps({**plain, "published": not dry_run, "steps": lines}, indent=2))
    else:
        click.echo("\n".join(lines))
