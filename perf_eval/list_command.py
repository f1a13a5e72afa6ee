"""``gauntlet recipes list``."""

import json

import click

from gauntlet.perf_eval.options import json_option


@click.command("list")
@click.option("--nightly", is_flag=True, help="Only those of the nightly matrix.")
@click.option("--tag", help="Only those with this tag.")
@json_option
def list_recipes(nightly: bool, tag: str | None, as_json: bool) -> None:
    """List the recipes that ship with this version."""
    from gauntlet.perf_eval.recipe import load_recipe, recipe_names

    found = [load_recipe(name) for name in recipe_names()]
    chosen = [
        recipe
        for recipe in found
        if (recipe.nightly or not nightly) and (tag is None or tag in recipe.tags)
    ]
    if as_json:
        keys = {"name", "description", "owner", "nightly", "tags", "expected_minutes"}
        click.echo(json.dumps([recipe.model_dump(mode="json", include=keys) for recipe in chosen]))
        return
    for recipe in chosen:
        click.echo(f"{recipe.name}\n    {recipe.description}")
