"""Question sets with known answers: GSM8K's and BFCL's file formats, read or generated.

Generated sets need no download and no licence; they exercise the whole path from prompt to
score. They say nothing about a model's ability, only whether two builds answer alike.
"""

import random
from pathlib import Path
from typing import Any

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel
from gauntlet.perf_eval.jsonl import read_jsonl


class WordProblem(StrictModel):
    """One row in GSM8K's format; the answer ends in ``#### NUMBER``."""

    question: str = Field(min_length=1)
    answer: str = Field(pattern=r"####\s*-?[\d,.]+\s*$")


class ToolTask(StrictModel):
    """One row in BFCL's format with its accepted answers.

    ``ground_truth`` holds, per expected call, the function's name and for each argument the
    values that count as right; an empty string among them means that it may be left out.
    """

    id: str
    question: list[list[dict[str, Any]]]
    function: list[dict[str, Any]]
    ground_truth: list[dict[str, dict[str, list[Any]]]]


_PLACES = ("bakery", "library", "garage", "harbour", "orchard", "workshop", "kitchen", "depot")
_THINGS = ("crates", "books", "tyres", "ropes", "apples", "lamps", "plates", "parcels")
_CITIES = ("Lisbon", "Oslo", "Kyoto", "Lima", "Accra", "Quebec", "Tallinn", "Perth")


def generate_word_problems(items: int, seed: int) -> list[WordProblem]:
    """Generate distinct two-step word problems, deterministic in ``items`` and ``seed``."""
    rng = random.Random(f"gauntlet-word-problems:{seed}")  # noqa: S311 - a workload, not a secret
    problems = []
    for number in range(items):
        place, thing = rng.choice(_PLACES), rng.choice(_THINGS)
        start, rows, per_row, gone = (
            rng.randint(a, b) for a, b in ((20, 99), (3, 9), (4, 12), (2, 19))
        )
        added = rows * per_row
        result = start + added - gone
        problems.append(
            WordProblem(
                question=(
                    f"Store {number + 1}: a {place} holds {start} {thing}. {rows} carts bring "
                    f"{per_row} {thing} each, and {gone} {thing} are taken away. "
                    f"How many {thing} does the {place} hold now?"
                ),
                answer=(
                    f"The carts bring {rows} * {per_row} = {added} {thing}. "
                    f"{start} + {added} - {gone} = {result}.\n#### {result}"
                ),
            )
        )
    return problems


_TOOLS: tuple[dict[str, Any], ...] = (
    {
        "name": "get_weather",
        "description": "Weather forecast of a city.",
        "parameters": {
            "type": "dict",
            "properties": {
                "city": {"type": "string", "description": "Name of the city."},
                "days": {"type": "integer", "description": "Days ahead."},
            },
            "required": ["city", "days"],
        },
    },
    {
        "name": "book_table",
        "description": "Reserve a table in a restaurant.",
        "parameters": {
            "type": "dict",
            "properties": {
                "city": {"type": "string", "description": "Name of the city."},
                "people": {"type": "integer", "description": "Number of guests."},
                "outdoors": {"type": "boolean", "description": "Whether to sit outside."},
            },
            "required": ["city", "people", "outdoors"],
        },
    },
)


def generate_tool_tasks(items: int, seed: int) -> list[ToolTask]:
    """Generate distinct one-call tasks, deterministic in ``items`` and ``seed``."""
    rng = random.Random(f"gauntlet-tool-tasks:{seed}")  # noqa: S311 - a workload, not a secret
    tasks = []
    for number in range(items):
        city, count = rng.choice(_CITIES), rng.randint(2, 12)
        if rng.random() < 0.5:
            text = f"Task {number + 1}: what will the weather in {city} be over {count} days?"
            truth = {"get_weather": {"city": [city], "days": [count]}}
        else:
            outdoors = rng.random() < 0.5
            where = "outside" if outdoors else "inside"
            text = f"Task {number + 1}: book a table for {count} people in {city}, {where}, please."
            truth = {"book_table": {"city": [city], "people": [count], "outdoors": [outdoors]}}
        tasks.append(
            ToolTask(
                id=f"generated_{number}",
                question=[[{"role": "user", "content": text}]],
                function=list(_TOOLS),
                ground_truth=[truth],
            )
        )
    return tasks


def read_word_problems(path: Path) -> list[WordProblem]:
    """Read a GSM8K JSONL file; raise one ConfigError naming the bad lines (the first ten)."""
    return read_jsonl(path, WordProblem)


def read_tool_tasks(path: Path) -> list[ToolTask]:
    """Read a BFCL JSONL file with ``ground_truth``; raise one ConfigError naming bad lines."""
    return read_jsonl(path, ToolTask)
