"""``gauntlet analyze series``."""

import json
from typing import IO

import click

from gauntlet.analyzer.options import json_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.argument("file", required=False, type=click.File(encoding="utf-8"))
@click.option("--column", metavar="NAME", help="Column of a CSV file.")
@click.option(
    "--direction",
    type=click.Choice(["lower", "higher"]),
    help="Which way is better.  [default: lower; of a series in the warehouse, its own]",
)
@click.option("--series-id", metavar="ID", help="A series of the warehouse instead of a file.")
@click.option("--metric", default="tpot_ms", show_default=True, help="With --series-id.")
@click.option("--statistic", default="p50", show_default=True, help="With --series-id.")
@click.option(
    "--days",
    type=click.IntRange(1, 4000),
    default=400,
    show_default=True,
    help="With --series-id: how far back.",
)
@click.option(
    "--margin-percent",
    type=click.FloatRange(0, 100, max_open=True),
    default=1.0,
    show_default=True,
    help="A smaller step does not matter.",
)
@json_option
@warehouse_option
def series(
    *,
    file: IO[str] | None,
    column: str | None,
    direction: str | None,
    series_id: str | None,
    metric: str,
    statistic: str,
    days: int,
    margin_percent: float,
    as_json: bool,
    location: str,
) -> None:
    """Say what happened to one series of numbers: steps, drifts, outliers, an alarm at its end.

    FILE (- is standard input) holds a JSON list, CSV with --column, or a number a line, in order of
    time; an empty line, NaN, null and NA are missing values.
    """
    from gauntlet.analyzer.history.numbers import read_numbers
    from gauntlet.analyzer.history.one import Numbers, OneRequest, Stored, read_one
    from gauntlet.core.errors import UsageError

    if (file is None) == (series_id is None):
        msg = "give either FILE or --series-id"
        raise UsageError(msg, hint="`-` reads standard input")
    one: Numbers | Stored
    request = OneRequest(direction=direction, margin_percent=margin_percent)
    if file is not None:
        one = request.of_numbers(read_numbers(file.read(), name=file.name, column=column))
    else:
        one = read_one(
            request,
            str(series_id),
            metric=metric,
            statistic=statistic,
            days=days,
            location=location,
        )
    click.echo(json.dumps(one.plain(), indent=2) if as_json else "\n".join(one.lines()))
