"""Options that several commands of ``gauntlet analyze`` have."""

from pathlib import Path

import click

where_option = click.option(
    "--where", multiple=True, metavar="KEY=VALUE", help="Filter both sides; repeatable."
)
telemetry_option = click.option(
    "--telemetry",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="JSON Lines telemetry that result files are judged by.",
)
step_margin_option = click.option(
    "--margin-percent",
    type=click.FloatRange(0, 100, max_open=True),
    default=1.0,
    show_default=True,
    help="A smaller step is for information.",
)
branch_option = click.option(
    "--branch", default="main", show_default=True, help="Whose merge order counts."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
