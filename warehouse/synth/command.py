"""``gauntlet warehouse synth``."""

import json
import sys
from datetime import date, datetime

import click

from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option("--days", type=click.IntRange(min=1), required=True, help="Whole days to make.")
@click.option("--scale", default="small", show_default=True, help="vllm, demo or small.")
@click.option("--seed", default=1, show_default=True, help="The same seed gives the same rows.")
@click.option(
    "--until",
    type=click.DateTime(["%Y-%m-%d"]),
    help="Last day (UTC); default: yesterday.",
)
@click.option("--dry-run", is_flag=True, help="List the statements' tables and days only.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def synth(
    days: int,
    scale: str,
    seed: int,
    until: datetime | None,
    dry_run: bool,
    as_json: bool,
    location: str,
) -> None:
    """Fill a warehouse with a made-up history of commits, builds, jobs, tests and nights."""
    from datetime import timedelta

    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.batch import NO_DAY
    from gauntlet.warehouse.store import open_store
    from gauntlet.warehouse.synth.history import SynthRequest, make_history, plan_history

    last = until.date() if until else utc_now().date() - timedelta(days=1)
    request = SynthRequest(days=days, until=last, scale=scale, seed=seed)
    if dry_run:
        for step in plan_history(request):
            click.echo(f"{step.day} {step.table}")
        return
    shown: list[date] = []

    def progress(day: date, rows: int) -> None:
        if sys.stderr.isatty() and day != NO_DAY and (not shown or shown[-1] != day):
            shown.append(day)
            click.echo(f"\r{day}: {rows:,} rows", err=True, nl=False)

    with open_store(location) as store:
        made = make_history(store, request, progress)
    if shown:
        click.echo("", err=True)
    report = {
        "rows": made.rows,
        "seconds": round(made.seconds, 1),
        "rows_per_s": round(sum(made.rows.values()) / made.seconds),
        "skipped": made.skipped,
        "rolled_up": made.rolled_up,
    }
    if as_json:
        click.echo(json.dumps(report))
        return
    click.echo(f"{sum(made.rows.values()):,} rows in {report['seconds']} s")
    for name, count in made.rows.items():
        click.echo(f"  {name:14} {count:>13,}")
