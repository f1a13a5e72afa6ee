"""``gauntlet analyze perf``."""

import json

import click

from gauntlet.analyzer.options import branch_option, json_option, step_margin_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option("--recipe", "recipes", multiple=True, help="Only this one; repeatable.")
@click.option("--metric", help="Only this metric.  [default: the ones that block]")
@click.option("--statistic", default="p50", show_default=True, help="With --metric.")
@click.option(
    "--days", type=click.IntRange(1, 4000), default=400, show_default=True, help="How far back."
)
@step_margin_option
@branch_option
@click.option("--all", "everything", is_flag=True, help="Also what does not hold any more.")
@json_option
@warehouse_option
def perf(
    *,
    recipes: tuple[str, ...],
    metric: str | None,
    statistic: str,
    days: int,
    margin_percent: float,
    branch: str,
    everything: bool,
    as_json: bool,
    location: str,
) -> None:
    """Say what happened to the speed of every nightly series, and how each of them stands."""
    from gauntlet.analyzer.history.from_store import read_history
    from gauntlet.analyzer.history.layout import history_lines
    from gauntlet.analyzer.history.load import DEFAULT_STATISTICS, HistoryRequest
    from gauntlet.analyzer.history.report import Rule
    from gauntlet.analyzer.measured import Statistic
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.store import open_store

    chosen = (Statistic(metric, statistic),) if metric else DEFAULT_STATISTICS
    request = HistoryRequest(night=utc_now().date(), days=days, recipes=recipes, statistics=chosen)
    with open_store(location) as store:
        report = read_history(store, request, Rule(margin_percent=margin_percent), branch=branch)
    if as_json:
        click.echo(json.dumps(report.plain(), indent=2))
    else:
        click.echo("\n".join(history_lines(report, everything=everything)))
