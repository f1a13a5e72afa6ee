"""``gauntlet quarantine``: tests and jobs that run without blocking, each for a while."""

import json
from pathlib import Path

import click

from gauntlet.analyzer.options import branch_option, json_option
from gauntlet.warehouse.location import warehouse_option

dry_run_option = click.option("--dry-run", is_flag=True, help="Decide, but record nothing.")
actor_option = click.option(
    "--actor",
    envvar=["GAUNTLET_ACTOR", "USER"],
    default="unknown",
    show_default=True,
    help="Who decides; from GAUNTLET_ACTOR or USER.",
)
back_option = click.option(
    "--days-back",
    type=click.IntRange(1, 30),
    default=14,
    show_default=True,
    help="How far back its history counts.",
)


@click.group()
def quarantine() -> None:
    """Let flaky tests and jobs run without blocking; each has an owner and an end.

    A subject is test/NODEID (a test, a class or a file) or job/JOB_KEY.
    """


@quarantine.command()
@click.argument("subject")
@click.option("--owner", required=True, help="Who is to repair it.")
@click.option("--reason", required=True, help="Why, for those who meet it.")
@click.option(
    "--days", type=click.IntRange(1, 90), default=14, show_default=True, help="When it ends."
)
@click.option(
    "--blockers",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    envvar="GAUNTLET_RELEASE_BLOCKERS",
    help="YAML file with the tests and jobs that a release waits for.",
)
@click.option("--force", is_flag=True, help="Even a break, or what did not fail; this is recorded.")
@actor_option
@branch_option
@back_option
@dry_run_option
@json_option
@warehouse_option
def add(
    *,
    subject: str,
    owner: str,
    reason: str,
    days: int,
    blockers: Path | None,
    force: bool,
    actor: str,
    branch: str,
    days_back: int,
    dry_run: bool,
    as_json: bool,
    location: str,
) -> None:
    """Put a flaky test or job into quarantine; breaks and release blockers are refused."""
    from gauntlet.analyzer.flakes.edges import add_to_quarantine
    from gauntlet.analyzer.flakes.quarantine import Admission

    asked = Admission(
        subject=subject, owner=owner, reason=reason, actor=actor, days=days, force=force
    )
    row = add_to_quarantine(
        location, asked, blockers=blockers, branch=branch, days_back=days_back, dry_run=dry_run
    )
    if as_json:
        click.echo(row.model_dump_json(indent=2))
        return
    needed = json.loads(row.evidence).get("clean_runs_needed")
    ends = f", or after {needed} clean runs in a row" if needed else ""
    click.echo(f"{subject} is in quarantine until {row.expires_at:%F %R}{ends}; owner {owner}")


@quarantine.command()
@click.argument("subject")
@click.option("--reason", required=True, help="Why it may block again.")
@actor_option
@dry_run_option
@warehouse_option
def release(*, subject: str, reason: str, actor: str, dry_run: bool, location: str) -> None:
    """End a quarantine: from now on it blocks again."""
    from gauntlet.analyzer.flakes.edges import release_from_quarantine

    release_from_quarantine(location, subject, reason, actor=actor, dry_run=dry_run)
    click.echo(f"{subject} is released: it blocks again")


@quarantine.command("list")
@json_option
@warehouse_option
def list_(*, as_json: bool, location: str) -> None:
    """Show what is in quarantine, and what has expired without a release."""
    from gauntlet.analyzer.flakes.edges import plain_quarantines
    from gauntlet.analyzer.flakes.from_store import read_quarantines
    from gauntlet.analyzer.flakes.layout import quarantine_lines
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        found = read_quarantines(store)
    now = utc_now()
    if as_json:
        click.echo(json.dumps(plain_quarantines(found, now), indent=2))
    else:
        click.echo("\n".join(quarantine_lines(found, now)))


@quarantine.command()
@branch_option
@dry_run_option
@json_option
@warehouse_option
def check(*, branch: str, dry_run: bool, as_json: bool, location: str) -> None:
    """Release what has passed often enough; exit 6 where one expired without that.

    What expired blocks again, and is never extended: somebody has to decide.
    """
    from dataclasses import asdict

    from gauntlet.analyzer.flakes.edges import check_quarantines, raise_for
    from gauntlet.analyzer.flakes.layout import change_lines

    changes = check_quarantines(location, branch=branch, dry_run=dry_run)
    if as_json:
        click.echo(json.dumps([asdict(change) for change in changes], indent=2))
    else:
        click.echo("\n".join(change_lines(changes)))
    raise_for(changes)


@quarantine.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path), required=False)
@warehouse_option
def export(*, file: Path | None, location: str) -> None:
    """Write the file that the pytest plugin reads; to stdout where no FILE is given."""
    from gauntlet.analyzer.flakes.edges import export_text
    from gauntlet.analyzer.flakes.from_store import read_quarantines
    from gauntlet.core.clock import utc_now
    from gauntlet.core.files import write_atomic
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        found = read_quarantines(store)
    text = export_text(found, utc_now())
    if file is None:
        click.echo(text, nl=False)
    else:
        write_atomic(file, text)
