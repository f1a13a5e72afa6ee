"""The door to recipes: those that ship, their names, and how one is loaded."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pydantic import JsonValue

from gauntlet.core.errors import unknown_name
from gauntlet.core.yaml_file import YamlDocument, load_yaml
from gauntlet.perf_eval.checks import Examined, examine
from gauntlet.perf_eval.definition import Recipe
from gauntlet.perf_eval.judgement import (
    LOAD_METRICS,
    Blocks,
    EvalObjective,
    Judgement,
    LoadObjective,
)
from gauntlet.perf_eval.overrides import parse_settings

__all__ = [
    "LOAD_METRICS",
    "Blocks",
    "EvalObjective",
    "Judgement",
    "LoadObjective",
    "Recipe",
    "examine_recipe",
    "load_recipe",
    "read_document",
    "recipe_names",
    "recipe_path",
]


def recipe_names() -> list[str]:
    """Names of the recipes that ship with this version."""
    return sorted(_shipped())


def recipe_path(name_or_path: str) -> Path:
    """Path of a recipe by its name, or the path itself. Raises UsageError for an unknown name."""
    shipped, path = _shipped(), Path(name_or_path)
    if name_or_path not in shipped:
        if path.suffix in (".yaml", ".yml") or "/" in name_or_path or path.exists():
            return path
        raise unknown_name("recipe", name_or_path, shipped, hint="or give the path of a .yaml file")
    return shipped[name_or_path]


def load_recipe(name_or_path: str, settings: Mapping[str, JsonValue] | None = None) -> Recipe:
    """Load a recipe by its name or from a file, with ``settings`` (path to value) applied.

    Raises UsageError for an unknown name and ConfigError with every problem in the file, its sweep
    and the way it divides a model.
    """
    return examine(read_document(name_or_path), settings).recipe


def examine_recipe(name_or_path: str, settings: Sequence[str] = ()) -> Examined:
    """Load a recipe with ``path=value`` settings; return it written out, with all that was checked.

    Raises UsageError for an unknown name or setting and ConfigError with every problem.
    """
    document = read_document(name_or_path)
    chosen = parse_settings(settings)
    return examine(document, chosen, reference=name_or_path, said=settings)


def read_document(name_or_path: str) -> YamlDocument:
    """The YAML of a recipe, not yet validated. Raises UsageError or ConfigError."""
    return load_yaml(recipe_path(name_or_path))


def _shipped() -> dict[str, Path]:
    folder = Path(__file__).with_name("configs")
    return {path.stem: path for path in folder.rglob("*.yaml")}
