"""Right and wrong function calls, and the calls that a request forces."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from gauntlet.harness.simulator.knowledge import ToolFact, plain_name
from gauntlet.harness.simulator.tokens import int_hash

_EXAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "array": [],
    "object": {},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One function call; ``arguments`` is JSON text, as the API has it."""

    name: str
    arguments: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that a request offers."""

    name: str
    parameters: dict[str, Any]


def right_calls(fact: ToolFact, tools: tuple[Tool, ...]) -> list[ToolCall]:
    """Make the accepted calls: of each argument the first accepted value, none where optional."""
    return [
        ToolCall(name=_offered_name(name, tools), arguments=_dump(_first_values(arguments)))
        for name, arguments in fact.calls
    ]


def wrong_calls(fact: ToolFact, tools: tuple[Tool, ...], *, question: str) -> list[ToolCall]:
    """Make calls that no checker accepts; by question, one of three kinds of mistake.

    A wrong value, a wrong function, or no call at all (an empty list). Where the right thing is
    to call nothing, the mistake is a call.
    """
    right = right_calls(fact, tools)
    if not right:
        return [forced_call(tools[0])] if tools else []
    kind = int_hash("tool-mistake", question) % 3
    if kind == 2:
        return []
    first = right[0]
    arguments = json.loads(first.arguments)
    if kind == 1 or not arguments:
        others = [tool.name for tool in tools if tool.name != first.name]
        wrong = ToolCall(name=others[0] if others else "other_function", arguments=first.arguments)
    else:
        key = next(iter(arguments))
        wrong = ToolCall(name=first.name, arguments=_dump({**arguments, key: "wrong value"}))
    return [wrong, *right[1:]]


def forced_call(tool: Tool) -> ToolCall:
    """Make a call with a plausible value of every required argument, by the tool's schema."""
    properties = tool.parameters.get("properties")
    required = tool.parameters.get("required")
    arguments = {
        key: _example(properties.get(key) if isinstance(properties, dict) else None)
        for key in (required if isinstance(required, list) else ())
    }
    return ToolCall(name=tool.name, arguments=_dump(arguments))


def _example(schema: object) -> object:
    if not isinstance(schema, dict):
        return "text"
    allowed = schema.get("enum")
    if isinstance(allowed, list) and allowed:
        return allowed[0]
    return _EXAMPLES.get(str(schema.get("type")), "text")


def _offered_name(name: str, tools: tuple[Tool, ...]) -> str:
    """Write the name as the request does: the API has no dots in names, the data has."""
    names = {tool.name for tool in tools}
    return name if name in names or plain_name(name) not in names else plain_name(name)


def _first_values(arguments: Mapping[str, object]) -> dict[str, object]:
    values = {}
    for key, accepted in arguments.items():
        choices = accepted if isinstance(accepted, list) else [accepted]
        if choices and "" not in choices:
            values[key] = _unwrap(choices[0])
    return values


def _unwrap(value: object) -> object:
    """Resolve lists of accepted values inside objects, which nest in the ground truth."""
    if isinstance(value, dict):
        return _first_values(value)
    if isinstance(value, list):
        return [_unwrap(item) for item in value]
    return value


def _dump(arguments: Mapping[str, object]) -> str:
    return json.dumps(arguments, ensure_ascii=False)
