"""``gauntlet alerts``: what is wrong with the fleet, who owns it, what is done about it."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.analyzer.options import json_option
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.analyzer.alerts.check import AlertRequest

actor_option = click.option(
    "--actor",
    envvar=["GAUNTLET_ACTOR", "USER"],
    default="unknown",
    show_default=True,
    help="Who says so; from GAUNTLET_ACTOR or USER.",
)
policy_option = click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="GAUNTLET_POLICY",
    help="YAML file of what may be done; without one everything stays in shadow.",
)
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Say what would be recorded and done; do neither."
)


@click.group(invoke_without_command=True)
@json_option
@warehouse_option
@click.pass_context
def alerts(context: click.Context, *, as_json: bool, location: str) -> None:
    """Watch the fleet: queues, hosts, disks, installs, hubs, nightlies, the spool.

    Without a command: what is recorded as open or silenced, and which hosts are out.
    """
    from gauntlet.analyzer.alerts.check import load_states
    from gauntlet.analyzer.alerts.layout import plain_states, state_lines
    from gauntlet.core.clock import utc_now

    if context.invoked_subcommand is not None:
        return
    recorded = load_states(location)
    now = utc_now()
    shown = json.dumps(plain_states(recorded, now), indent=2) if as_json else None
    click.echo(shown or "\n".join(state_lines(recorded, now)))


@alerts.command()
@policy_option
@click.option(
    "--rules",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="GAUNTLET_ALERT_RULES",
    help="YAML file that changes the rules by name.",
)
@dry_run_option
@json_option
@warehouse_option
def check(
    *, policy: Path | None, rules: Path | None, dry_run: bool, as_json: bool, location: str
) -> None:
    """Look at the fleet, record what is news, take bad hosts out as far as the policy allows.

    Open alerts are no error; exit 4 or 7 where something could not be read or reached.
    """
    from gauntlet.analyzer.alerts.check import check_alerts, raise_for
    from gauntlet.analyzer.alerts.layout import check_lines

    with _request(location, policy, rules, dry_run=dry_run) as request:
        results = check_alerts(request)
    shown = json.dumps(results.plain(), indent=2) if as_json else "\n".join(check_lines(results))
    click.echo(shown)
    verb = "would be recorded" if dry_run else "recorded"
    click.echo(f"{results.recorded} {verb}, {len(results.open)} open", err=True)
    raise_for(results)


@alerts.command()
@click.argument("pattern")
@click.option("--for", "duration", required=True, metavar="30m|4h|2d", help="For how long.")
@click.option("--reason", required=True, help="Why nobody need be told.")
@actor_option
@dry_run_option
@warehouse_option
def silence(
    *, pattern: str, duration: str, reason: str, actor: str, dry_run: bool, location: str
) -> None:
    """Track alerts without telling them, for a while; PATTERN is a subject, or 'queue-wait/*'."""
    from gauntlet.analyzer.alerts.check import AlertRequest, say
    from gauntlet.analyzer.alerts.edges import read_duration
    from gauntlet.analyzer.alerts.record import silence_row
    from gauntlet.core.clock import utc_now

    now = utc_now()
    until = now + read_duration(duration, "--for")
    row = silence_row(pattern, until=until, reason=reason, actor=actor, at=now)
    say(AlertRequest(location=location, dry_run=dry_run), row)
    click.echo(f"{pattern} is silenced until {until:%F %R} UTC; it is tracked all the same")


@alerts.command()
@click.argument("pattern")
@actor_option
@dry_run_option
@warehouse_option
def unsilence(*, pattern: str, actor: str, dry_run: bool, location: str) -> None:
    """End a silence; PATTERN as it was given to silence."""
    from gauntlet.analyzer.alerts.check import AlertRequest, load_states, say
    from gauntlet.analyzer.alerts.record import unsilence_row
    from gauntlet.core.clock import utc_now

    row = unsilence_row(load_states(location), pattern, actor=actor, at=utc_now())
    say(AlertRequest(location=location, dry_run=dry_run), row)
    click.echo(f"{pattern} is told again from the next look on")


@alerts.command()
@click.argument("subject")
@click.option("--reason", required=True, help="Why it is over.")
@actor_option
@dry_run_option
@warehouse_option
def close(*, subject: str, reason: str, actor: str, dry_run: bool, location: str) -> None:
    """Close an alert by hand, such as one that nobody can read any more."""
    from gauntlet.analyzer.alerts.check import AlertRequest, load_states, say
    from gauntlet.analyzer.alerts.record import close_row
    from gauntlet.core.clock import utc_now

    alert = load_states(location).open_alert(subject)
    say(
        AlertRequest(location=location, dry_run=dry_run),
        close_row(alert, actor=actor, reason=reason, at=utc_now()),
    )
    click.echo(f"{subject} is closed; it opens again where it still shows")


@alerts.command()
@click.argument("host")
@click.option("--reason", default="a person let it return", show_default=True, help="Why.")
@policy_option
@actor_option
@dry_run_option
@warehouse_option
def resume(
    *, host: str, reason: str, policy: Path | None, actor: str, dry_run: bool, location: str
) -> None:
    """Let a host return that was taken out, and close its alert; what it did is forgotten."""
    from gauntlet.analyzer.alerts.check import resume_host

    with _request(location, policy, None, dry_run=dry_run) as request:
        _, agents = resume_host(request, host, actor=actor, reason=reason)
    told = f": {', '.join(agents)}" if agents else ""
    click.echo(f"{host} {'would return' if dry_run else 'returns'}{told}")


def _request(
    location: str, policy: Path | None, rules: Path | None, *, dry_run: bool
) -> "AbstractContextManager[AlertRequest]":
    from gauntlet.analyzer.acting.policy import load_policy
    from gauntlet.analyzer.alerts.edges import alert_request, read_permit

    loaded = load_policy(policy)
    permit = read_permit(loaded)
    return alert_request(location, policy=loaded, rules=rules, permit=permit, dry_run=dry_run)
