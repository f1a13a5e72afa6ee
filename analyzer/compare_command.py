"""``gauntlet analyze compare``."""

import json

import click

from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.argument("run_id")
@click.option("--dry-run", is_flag=True, help="Judge, but record nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def compare(run_id: str, dry_run: bool, as_json: bool, location: str) -> None:
    """Judge candidate against baseline in one run; exit 6 where a blocking metric is worse."""
    from gauntlet.analyzer.compare import compare_run, verdict_rows
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.warehouse.batch import decision_batch
    from gauntlet.warehouse.delivery import deliver
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        verdicts = compare_run(store, run_id)
    if not dry_run:
        now = utc_now()
        deliver(
            location, [decision_batch(run_id, "verdicts", verdict_rows(run_id, verdicts, now), now)]
        )
    if as_json:
        click.echo(json.dumps([verdict.plain() for verdict in verdicts], indent=2))
    else:
        for verdict in verdicts:
            click.echo(f"{verdict.outcome:12} {verdict.subject:40} {verdict.reason}")
    worse = [v.subject for v in verdicts if v.blocking and v.outcome == "worse"]
    if worse:
        raise NotQualifiedError(f"worse: {', '.join(worse)}")
