"""The JSON Schema is documentation: every key in it says what it means."""

import re
from pathlib import Path

from gauntlet.perf_eval.definition import Recipe

ROOT = Path(__file__).resolve().parents[3]


def properties():
    schema = Recipe.model_json_schema()
    for name, definition in {"Recipe": schema, **schema["$defs"]}.items():
        for key, found in definition.get("properties", {}).items():
            yield f"{name}.{key}", found


def test_every_key_is_described():
    bare = [key for key, found in properties() if not found.get("description")]
    assert bare == []


def test_every_key_and_kind_is_in_the_reference():
    page = (ROOT / "docs" / "reference" / "recipes.md").read_text()
    words = set(re.findall(r"[a-z_0-9]+", page))
    assert {key.split(".")[1] for key, _ in properties()} - words == set()
    kinds = {
        str(found["const"])
        for key, found in properties()
        if key.endswith(".kind") and "const" in found
    }
    assert kinds - words == set()
