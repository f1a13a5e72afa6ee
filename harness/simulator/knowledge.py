"""What the simulated engine knows: maths questions and function calls, from JSON Lines files.

A row is one of

- ``{"question": str, "answer": "... #### 18"}``, the layout of GSM8K;
- ``{"id": ..., "question": [[{"role": "user", "content": str}]], "function": [...],
  "ground_truth": [{"name": {"argument": [accepted, ...]}}]}``, the layout of BFCL; question and
  ground truth may stand in two rows, in any of the files, with the same ``id``.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import read_text

# How few-shot prompts mark a question's start and its end.
_MARKS = (("Question:", "\nAnswer"), ("Q:", "\nA:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFact:
    """The calls that answer one request; none where the right thing is to call nothing."""

    functions: frozenset[str]
    # Name, and accepted values by argument ("" among them: the argument may be left out).
    calls: tuple[tuple[str, dict[str, list[Any]]], ...]


@dataclass(slots=True)
class Knowledge:
    """Answers by normalised question: the last line of a maths answer, or tool calls."""

    maths: dict[str, str] = field(default_factory=dict)
    tools: dict[str, list[ToolFact]] = field(default_factory=dict)

    def find_maths(self, text: str) -> tuple[str, str] | None:
        """Question and answer line for a prompt: its last marked question, else all of it."""
        if not self.maths:
            return None
        for start, end in _MARKS:
            _, mark, rest = text.rpartition(start)
            question = normalise(rest.split(end, 1)[0]) if mark else ""
            if question in self.maths:
                return question, self.maths[question]
        question = normalise(text)
        return (question, self.maths[question]) if question in self.maths else None

    def find_tools(self, text: str, offered: Sequence[str]) -> tuple[str, ToolFact] | None:
        """Question and fact for a user's message, preferring one whose functions are offered."""
        question = normalise(text)
        facts = self.tools.get(question)
        if not facts:
            return None
        names = {plain_name(name) for name in offered}
        fitting = [fact for fact in facts if fact.functions <= names]
        return question, (fitting or facts)[0]


def normalise(text: str) -> str:
    """Make texts that differ in white space alone equal."""
    return " ".join(text.split())


def plain_name(function: str) -> str:
    """Write a function's name as the OpenAI API allows it, without dots."""
    return function.replace(".", "_")


def load_knowledge(paths: Sequence[str]) -> Knowledge:
    """Read knowledge files; raise ConfigError with every row that cannot be used."""
    knowledge = Knowledge()
    problems: list[Problem] = []
    by_id: dict[str, dict[str, Any]] = {}
    for path in paths:
        for line, row in _rows(Path(path), problems):
            if isinstance(row.get("question"), str) and isinstance(row.get("answer"), str):
                last = row["answer"].strip().splitlines()[-1:]
                knowledge.maths[normalise(row["question"])] = last[0] if last else ""
            elif isinstance(row.get("question"), list) or "ground_truth" in row:
                key = str(row.get("id", f"{path}:{line}"))
                by_id.setdefault(key, {"at": (path, line)}).update(row)
            else:
                message = "neither a maths row (question, answer) nor a function-calling row"
                problems.append(Problem(file=path, line=line, message=message))
    for row in by_id.values():
        _learn_tools(knowledge, row, problems)
    if problems:
        raise ConfigError(problems, hint="rows are laid out as in GSM8K or BFCL")
    return knowledge


def _rows(path: Path, problems: list[Problem]) -> Iterator[tuple[int, dict[str, Any]]]:
    for line, text in enumerate(read_text(path).split("\n"), start=1):
        if not text.strip():
            continue
        try:
            row = json.loads(text)
        except ValueError as error:
            problems.append(Problem(file=str(path), line=line, message=f"not JSON: {error}"))
            continue
        if isinstance(row, dict):
            yield line, row
        else:
            problems.append(Problem(file=str(path), line=line, message="not a JSON object"))


def _learn_tools(knowledge: Knowledge, row: dict[str, Any], problems: list[Problem]) -> None:
    file, line = row["at"]
    try:
        turns = row["question"]
        messages = turns[-1] if isinstance(turns[-1], list) else turns
        user = [m["content"] for m in messages if m["role"] == "user"][-1]
        functions = frozenset(plain_name(f["name"]) for f in row.get("function", ()))
        calls = tuple(
            (name, dict(arguments))
            for call in row.get("ground_truth", ())
            for name, arguments in call.items()
        )
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        message = f"function-calling row not understood: {type(error).__name__}: {error}"
        problems.append(Problem(file=file, line=line, message=message))
        return
    fact = ToolFact(functions=functions, calls=calls)
    knowledge.tools.setdefault(normalise(user), []).append(fact)
