"""``release waive``: let named problems of a gate pass, with a person, a reason and an end."""

import json

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, acting_options, by_option, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("candidate", type=VERSION)
@click.argument("gate")
@click.argument("problems", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="Everything that the gate has now.")
@click.option("--reason", required=True, help="Why this may ship.")
@click.option(
    "--days",
    type=click.FloatRange(0, min_open=True),
    default=7.0,
    show_default=True,
    help="When it ends.",
)
@by_option
@acting_options
@json_option
@place_options
def waive(
    *,
    candidate: ReleaseVersion,
    gate: str,
    problems: tuple[str, ...],
    everything: bool,
    reason: str,
    days: float,
    by: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    places: Places,
) -> None:  # fmt: skip
    """Let PROBLEMS of GATE pass, as `release why` lists them. Later ones are not covered."""
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import UsageError
    from gauntlet.release.gates.use import WaiverRequest, waive
    from gauntlet.release.options import confirm

    if not reason.strip():
        raise UsageError("a waiver needs a reason", hint="--reason TEXT")
    place, now = places.load(), utc_now()
    request = WaiverRequest(
        gate=gate,
        keys=problems,
        everything=everything,
        reason=reason.strip(),
        days=days,
        by=places.who(by),
    )
    covered = waive(place, candidate, request, now, dry_run=True)
    lines = [f"{candidate}: waive {gate} for {days:g} days, by {request.by}: {request.reason}"]
    lines += [f"  {each.key}: {each.message}" for each in covered]
    if not dry_run:
        confirm(lines, yes=yes, what="Record this waiver?")
        waive(place, candidate, request, now, dry_run=False)
    if as_json:
        keys = [each.key for each in covered]
        told = {"candidate": candidate.tag, "gate": gate, "covers": keys, "recorded": not dry_run}
        click.echo(json.dumps(told, indent=2))
    else:
        click.echo("\n".join(lines))
