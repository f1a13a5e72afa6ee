"""``gauntlet warehouse rollup``, ``timings`` and ``last-built``."""

import json
from pathlib import Path

import click

from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option("--dry-run", is_flag=True, help="List the days, and compute nothing.")
@warehouse_option
def rollup(dry_run: bool, location: str) -> None:
    """Compute the roll-ups of days that changed; queries are right without it, only slower."""
    from gauntlet.warehouse.rollups import roll_up, stale_days
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        days = stale_days(store) if dry_run else roll_up(store)
    for each in days:
        click.echo(f"{each.day} {each.target}: {each.batches} batches")
    click.echo(f"{len(days)} days {'to compute' if dry_run else 'computed'}", err=True)


@click.command()
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--days", default=14, show_default=True, help="How many days back.")
@warehouse_option
def timings(out: Path, days: int, location: str) -> None:
    """Write measured durations of jobs and tests, as gauntlet pipelines shard plan reads them."""
    from gauntlet.core.files import write_atomic
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        jobs = store.query("job_durations", days=days)
        tests = store.query("test_durations", days=days)
    report = {
        "schema_version": 1,
        "jobs": {row["job_key"]: row["seconds"] for row in jobs},
        "tests": {row["nodeid"]: row["seconds"] for row in tests},
    }
    write_atomic(out, json.dumps(report) + "\n")
    click.echo(f"{out}: {len(jobs)} jobs, {len(tests):,} tests", err=True)


@click.command("last-built")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="File to write.")
@click.option("--pipeline", default="ci", show_default=True, help="Slug of the pipeline.")
@click.option("--branch", default="main", show_default=True, help="The branch.")
@warehouse_option
def last_built(out: Path, pipeline: str, branch: str, location: str) -> None:
    """Write the newest commit that was built, as gauntlet pipelines generate --state reads it.

    Exit 3 where none was built: the file stays as it is.
    """
    from gauntlet.core.errors import ExitCode
    from gauntlet.core.files import write_atomic
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        rows = store.query("last_built", pipeline=pipeline, branch=branch)
    if not rows:
        click.echo(f"no build of {branch} in pipeline {pipeline} has ended yet", err=True)
        click.get_current_context().exit(int(ExitCode.NOTHING_SELECTED))
    write_atomic(out, json.dumps({"schema_version": 1, "commit": rows[0]["sha"]}) + "\n")
    click.echo(f"{out}: {rows[0]['sha']}", err=True)
