"""``gauntlet recipes``: check and expand measurement recipes."""

import click


@click.group()
def recipes() -> None:
    """Check and expand measurement recipes."""


@recipes.command("list")
def list_recipes() -> None:
    """List the recipes that ship with this version."""
    from gauntlet.perf_eval.recipe import load_recipe, recipe_names

    for name in recipe_names():
        click.echo(f"{name}\n    {load_recipe(name).description}")


@recipes.command()
@click.argument("recipe", nargs=-1, required=True)
def lint(recipe: tuple[str, ...]) -> None:
    """Check recipes (names or files); every problem is printed before exit 2."""
    from gauntlet.core.errors import ConfigError, Problem
    from gauntlet.perf_eval.recipe import load_recipe

    problems: list[Problem] = []
    for name in recipe:
        try:
            load_recipe(name)
        except ConfigError as error:
            problems += error.problems
        else:
            click.echo(f"{name}: ok")
    if problems:
        raise ConfigError(problems)


@recipes.command()
@click.argument("recipe")
def expand(recipe: str) -> None:
    """Print a recipe with every default filled in, as JSON."""
    from gauntlet.perf_eval.recipe import load_recipe

    click.echo(load_recipe(recipe).model_dump_json(indent=2))
