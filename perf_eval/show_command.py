"""``gauntlet recipes expand`` and ``explain``."""

import json
import sys

import click

from gauntlet.perf_eval.options import json_option, setting_option


@click.command()
@click.argument("recipe")
@setting_option
@click.option("--table", is_flag=True, help="Print a table, as on a terminal.")
@json_option
def expand(recipe: str, settings: tuple[str, ...], table: bool, as_json: bool) -> None:
    """Print every server and point of a recipe with its exact command.

    A table on a terminal, else JSON, which also holds the recipe with every default filled in.
    """
    from gauntlet.perf_eval.recipe import examine_recipe
    from gauntlet.perf_eval.render import expansion_json, expansion_table

    examined = examine_recipe(recipe, settings)
    for warning in examined.warnings:
        click.echo(f"warning: {warning}", err=True)
    if table or (sys.stdout.isatty() and not as_json):
        click.echo(expansion_table(examined.expansion))
    else:
        click.echo(json.dumps(expansion_json(examined.expansion), indent=2))


@click.command()
@click.argument("recipe")
@setting_option
def explain(recipe: str, settings: tuple[str, ...]) -> None:
    """Say on one page what a recipe measures, what was checked, what decides, and why so."""
    from gauntlet.perf_eval.explain import explain as page
    from gauntlet.perf_eval.recipe import examine_recipe

    click.echo(page(examine_recipe(recipe, settings)))
