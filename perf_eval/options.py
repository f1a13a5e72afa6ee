"""Options that commands on recipes share."""

import click

setting_option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PATH=VALUE",
    help="Change one value, such as engine.commit=SHA. Repeatable.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
