"""Prompts from files: ShareGPT's format, rows of one's own, and the questions of accuracy sets."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import StrictModel, key_text, read_text
from gauntlet.harness.load.requests import Prompt
from gauntlet.perf_eval.jsonl import read_jsonl
from gauntlet.perf_eval.questions import (
    generate_tool_tasks,
    generate_word_problems,
    read_tool_tasks,
    read_word_problems,
)
from gauntlet.perf_eval.workloads import JsonlPrompts, QuestionPrompts, SharegptPrompts

FilePrompts = SharegptPrompts | JsonlPrompts | QuestionPrompts
_MOST_PROBLEMS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptRow:
    """One prompt of a file. ``max_tokens`` and ``due_s`` are None where the row has none."""

    prompt: Prompt
    max_tokens: int | None = None
    due_s: float | None = None


def read_rows(prompts: FilePrompts) -> list[PromptRow]:
    """Read the rows of a file. Raises ConfigError naming the bad ones (the first ten)."""
    if isinstance(prompts, SharegptPrompts):
        return _sharegpt(prompts)
    if isinstance(prompts, JsonlPrompts):
        return [row.as_prompt() for row in read_jsonl(prompts.file, _OwnRow)]
    return _questions(prompts)


class _OwnRow(StrictModel):
    """One row of a custom JSONL file; exactly one of the three forms of a prompt."""

    prompt: str | None = Field(default=None, min_length=1)
    prompt_token_ids: tuple[int, ...] | None = Field(default=None, min_length=1)
    messages: tuple[dict[str, str], ...] | None = Field(default=None, min_length=1)
    max_tokens: int | None = Field(default=None, ge=1)
    timestamp: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _one_prompt(self) -> Self:
        given = [each for each in (self.prompt, self.prompt_token_ids, self.messages) if each]
        if len(given) != 1:
            msg = "give exactly one of prompt, prompt_token_ids and messages"
            raise ValueError(msg)
        return self

    def as_prompt(self) -> PromptRow:
        """The row as the client needs it; timestamps are milliseconds in the file."""
        prompt = self.prompt or self.prompt_token_ids or self.messages or ""
        due_s = None if self.timestamp is None else self.timestamp / 1000
        return PromptRow(prompt=prompt, max_tokens=self.max_tokens, due_s=due_s)


class _Turn(StrictModel, extra="ignore"):
    speaker: str = Field(alias="from")
    value: str


class _Conversation(StrictModel, extra="ignore"):
    conversations: tuple[_Turn, ...]


def _sharegpt(prompts: SharegptPrompts) -> list[PromptRow]:
    """The first turn of each conversation that a person opens and that has a fitting length."""
    rows = []
    for conversation in _read_conversations(prompts.file):
        turns = conversation.conversations
        if not turns or turns[0].speaker not in {"human", "user"}:
            continue
        text = turns[0].value
        if prompts.min_characters <= len(text) <= prompts.max_characters:
            rows.append(PromptRow(prompt=text))
    if not rows:
        message = (
            f"no conversation opens with {prompts.min_characters}..{prompts.max_characters} "
            "characters by a person"
        )
        raise ConfigError([Problem(file=str(prompts.file), message=message)])
    return rows


def _read_conversations(path: Path) -> list[_Conversation]:
    text = read_text(path)
    if path.suffix == ".jsonl":
        return read_jsonl(path, _Conversation)
    try:
        return TypeAdapter(list[_Conversation]).validate_json(text)
    except ValidationError as error:
        problems = [
            Problem(file=str(path), key=key_text(each["loc"]) or None, message=each["msg"])
            for each in error.errors()[:_MOST_PROBLEMS]
        ]
        raise ConfigError(problems) from error


def _questions(prompts: QuestionPrompts) -> list[PromptRow]:
    source = prompts.source
    if prompts.format == "gsm8k":
        problems = (
            read_word_problems(source.file)
            if source.file is not None
            else generate_word_problems(source.generate or 0, source.seed)
        )
        return [PromptRow(prompt=f"Question: {each.question}\nAnswer:") for each in problems]
    tasks = (
        read_tool_tasks(source.file)
        if source.file is not None
        else generate_tool_tasks(source.generate or 0, source.seed)
    )
    return [PromptRow(prompt=_tool_text(task.function, task.question)) for task in tasks]


def _tool_text(functions: Sequence[dict[str, Any]], turns: Sequence[Sequence[Any]]) -> str:
    """Functions and question as one text: as long as the chat template would make it, about."""
    offered = "\n".join(json.dumps(function) for function in functions)
    asked = "\n".join(str(message.get("content", "")) for message in turns[0])
    return f"Functions:\n{offered}\n\n{asked}"
