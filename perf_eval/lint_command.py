"""``gauntlet recipes lint``."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gauntlet.core.errors import ConfigError, Problem, UsageError
from gauntlet.perf_eval.options import json_option, setting_option

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """What one recipe's examination found."""

    name: str
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()


@click.command()
@click.argument("recipe", nargs=-1, required=True)
@setting_option
@click.option("--strict", is_flag=True, help="Warnings are errors.")
@json_option
def lint(recipe: tuple[str, ...], settings: tuple[str, ...], strict: bool, as_json: bool) -> None:
    """Check recipes (names or files); every problem of all of them is printed before exit 2."""
    found = [lint_one(name, settings) for name in recipe]
    if as_json:
        click.echo(json.dumps([_plain(each) for each in found]))
    for each in found:
        for warning in each.warnings if not strict else ():
            click.echo(f"warning: {warning}", err=True)
        if not as_json and not _wrong(each, strict):
            click.echo(f"{each.name}: ok")
    problems = list(dict.fromkeys(problem for each in found for problem in _wrong(each, strict)))
    if problems:
        raise ConfigError(problems)


def lint_one(name: str, settings: Sequence[str] = ()) -> Linted:
    """Examine one recipe; problems are returned, not raised."""
    from gauntlet.perf_eval.overrides import parse_settings
    from gauntlet.perf_eval.recipe import examine_recipe

    # A wrong setting is wrong for all recipes, and said once.
    parse_settings(settings)
    try:
        warnings = examine_recipe(name, settings).warnings
    except ConfigError as error:
        return Linted(name=name, problems=error.problems)
    except UsageError as error:
        return Linted(name=name, problems=(Problem(file=name, message=error.message),))
    return Linted(name=name, warnings=warnings)


def _wrong(linted: Linted, strict: bool) -> tuple[Problem, ...]:
    return (*linted.problems, *(linted.warnings if strict else ()))


def _plain(linted: Linted) -> dict[str, object]:
    def texts(problems: tuple[Problem, ...]) -> "Iterator[str]":
        return (str(problem) for problem in problems)

    problems, warnings = list(texts(linted.problems)), list(texts(linted.warnings))
    return {"recipe": linted.name, "problems": problems, "warnings": warnings}
