"""From a recipe with a sweep to one whole recipe for each combination, or every mistake in it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import KeyPath, YamlDocument
from gauntlet.perf_eval.definition import Recipe
from gauntlet.perf_eval.goals import Paths
from gauntlet.perf_eval.overrides import Origin, PathError, override
from gauntlet.perf_eval.sweep import VARIANT_HEADS, Combination, combinations, group_of

Side = Literal["", "baseline", "candidate"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """One combination of the sweep, and the recipe of each side with it applied."""

    combination: Combination
    sides: Mapping[Side, Recipe]


def resolve(recipe: Recipe, document: YamlDocument | None = None) -> list[Resolved]:
    """Apply every combination and both sides of a comparison, validating each as a whole.

    ``document`` says on which lines the sweep stands. Raises ConfigError with every problem.
    """
    document = document or YamlDocument(recipe.name, {}, {})
    sweep, sides = _sweep_origin(recipe, document), _sides(recipe, document)
    problems = [*_not_swept(recipe, sweep), *_not_compared(sides)]
    found: list[Resolved] = []
    for combination in combinations(recipe.sweep) if not problems else ():
        try:
            swept = override(recipe, combination, sweep)
            made = {side: override(swept, paths, where) for side, (paths, where) in sides.items()}
        except ConfigError as error:
            problems += [problem for problem in error.problems if problem not in problems]
        else:
            found.append(Resolved(combination=combination, sides=made))
    if problems:
        raise ConfigError(problems)
    return found


def _sweep_origin(recipe: Recipe, document: YamlDocument) -> Origin:
    keys: dict[str, KeyPath] = {}
    for index, part in enumerate(recipe.sweep):
        for path in part.paths:
            inner = ("rows", 0) if part.rows else ("grid",) if part.grid else ("zip",)
            keys[path] = ("sweep", index, *inner, path)
    return Origin(document=document, keys=keys, whole=("sweep",))


def _not_swept(recipe: Recipe, origin: Origin) -> list[Problem]:
    paths = [path for part in recipe.sweep for path in part.paths]
    problems = []
    for path in origin.keys:
        try:
            group_of(path)
        except PathError as error:
            problems.append(origin.problem(path, error.message))
        if paths.count(path) > 1:
            problems.append(origin.problem(path, "swept in two parts, of which one would win"))
    return problems


def _not_compared(sides: Mapping[Side, tuple[Paths, Origin]]) -> list[Problem]:
    """The load must be the same on both sides, or the difference is no longer the build's."""
    problems = []
    for paths, origin in sides.values():
        for path in paths:
            if path.partition(".")[0] not in VARIANT_HEADS:
                message = f"a side changes only what is below {', '.join(VARIANT_HEADS)}"
                problems.append(origin.problem(path, message))
    return problems


def _sides(recipe: Recipe, document: YamlDocument) -> dict[Side, tuple[Paths, Origin]]:
    if recipe.comparison is None:
        return {"": ({}, Origin(document=document))}
    sides: dict[Side, tuple[Paths, Origin]] = {}
    given: tuple[tuple[Side, Paths], ...] = (
        ("baseline", recipe.comparison.baseline),
        ("candidate", recipe.comparison.candidate),
    )
    for side, paths in given:
        keys: dict[str, KeyPath] = {path: ("comparison", side, path) for path in paths}
        sides[side] = (paths, Origin(document=document, keys=keys, whole=("comparison", side)))
    return sides
