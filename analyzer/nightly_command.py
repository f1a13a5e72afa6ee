"""``gauntlet analyze nightly``."""

import json
from datetime import datetime
from pathlib import Path

import click

from gauntlet.analyzer.options import branch_option, json_option, step_margin_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option(
    "--night",
    type=click.DateTime(["%Y-%m-%d"]),
    help="UTC day on which its runs began.  [default: yesterday]",
)
@click.option(
    "--days", type=click.IntRange(14, 4000), default=400, show_default=True, help="How far back."
)
@step_margin_option
@branch_option
@click.option(
    "--reruns",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the plan of reruns to this JSON file.",
)
@click.option("--all", "everything", is_flag=True, help="Every series of a group.")
@click.option("--dry-run", is_flag=True, help="Judge, but record nothing.")
@json_option
@warehouse_option
def nightly(
    *,
    night: datetime | None,
    days: int,
    margin_percent: float,
    branch: str,
    reruns: Path | None,
    everything: bool,
    dry_run: bool,
    as_json: bool,
    location: str,
) -> None:
    """Judge one night; exit 6 where a regression is new, else 5 where points are missing.

    What is new is recorded as alerts, once: the next night speaks of what it adds.
    """
    from datetime import timedelta

    from gauntlet.analyzer.history.from_store import NightRequest, read_night
    from gauntlet.analyzer.history.layout import night_lines
    from gauntlet.analyzer.history.nightly import raise_for, record
    from gauntlet.analyzer.history.report import Rule
    from gauntlet.core.clock import utc_now
    from gauntlet.core.files import write_atomic
    from gauntlet.core.json_file import json_text
    from gauntlet.warehouse.store import open_store

    request = NightRequest(
        night=night.date() if night else utc_now().date() - timedelta(days=1),
        days=days,
        rule=Rule(margin_percent=margin_percent),
        branch=branch,
    )
    with open_store(location) as store:
        report, alerts = read_night(store, request)
    if reruns is not None:
        write_atomic(reruns, json_text(report.reruns))
    shown = json.dumps(report.plain(), indent=2) if as_json else None
    click.echo(shown or "\n".join(night_lines(report, everything=everything)))
    if not dry_run:
        record(report, alerts, location, utc_now())
    raise_for(report)
