"""What the documentation promises exists."""

import re
from pathlib import Path

import pytest

from gauntlet.core.errors import ExitCode
from gauntlet.core.yaml_file import StrictModel
from gauntlet.harness.simulator.config import SimulatorConfig
from gauntlet.perf_eval.recipe import Recipe
from gauntlet.warehouse.tables import TABLES

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("lockfiles/*.md")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\(([^)#\s]+)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_readme_is_short_and_names_every_folder():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) <= 150
    for folder in ("pipelines", "perf_eval", "harness", "warehouse", "analyzer", "release", "hud"):
        assert f"`{folder}/`" in text


def test_make_targets_that_are_mentioned_exist():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        for target in re.findall(r"(?:`|^)make ([a-z-]+)", page.read_text(), re.MULTILINE):
            assert target in targets, f"{page.name}: make {target}"


def test_every_exit_code_is_documented():
    text = (ROOT / "docs" / "reference" / "exit-codes.md").read_text()
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == set(ExitCode)


def keys(model, prefix=""):
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, StrictModel):
            yield from keys(inner, f"{name}.")
        else:
            yield f"{prefix}{name}"


def test_every_simulator_key_is_documented():
    text = (ROOT / "docs" / "reference" / "simulator.md").read_text()
    documented = set(re.findall(r"^\| `([a-z0-9_.]+)` \|", text, re.MULTILINE))
    assert documented == set(keys(SimulatorConfig))


def test_every_recipe_key_and_table_is_documented():
    recipes = (ROOT / "docs" / "reference" / "recipes.md").read_text()
    for name in Recipe.model_fields:
        assert name in recipes
    warehouse = (ROOT / "docs" / "reference" / "warehouse.md").read_text()
    for table in TABLES:
        assert f"`{table}`" in warehouse
