"""A server's arguments: a list of words, read and changed one flag at a time."""

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator, JsonValue

ALIASES = {
    "-tp": "--tensor-parallel-size",
    "-pp": "--pipeline-parallel-size",
    "-dp": "--data-parallel-size",
    "-dcp": "--decode-context-parallel-size",
    "-pcp": "--prefill-context-parallel-size",
    "-ep": "--enable-expert-parallel",
}
_FLAG = re.compile(r"-{1,2}[A-Za-z]")
# A flag and its value in one word; JSON after "=" may hold blanks.
_TWO_WORDS = re.compile(r"-{1,2}[A-Za-z][^\s={]*\s")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """One flag with its values, and where it stands: words ``start`` up to ``end``."""

    name: str
    values: tuple[str, ...]
    start: int
    end: int


def canonical(name: str) -> str:
    """The long form of a flag, with dashes up to its first dot."""
    head, dot, rest = ALIASES.get(name, name).partition(".")
    return head.replace("_", "-") + dot + rest


def read_flags(arguments: Sequence[str]) -> list[Flag]:
    """Every flag in order. The words up to the next flag are its values."""
    starts = [index for index, word in enumerate(arguments) if _FLAG.match(word)]
    ends = [*starts[1:], len(arguments)][: len(starts)]
    found = []
    for start, end in zip(starts, ends, strict=True):
        name, equals, value = arguments[start].partition("=")
        values = (value,) if equals else ()
        found.append(
            Flag(
                name=canonical(name),
                values=(*values, *arguments[start + 1 : end]),
                start=start,
                end=end,
            )
        )
    return found


def find_flag(arguments: Sequence[str], name: str) -> Flag | None:
    """The flag of that name, the last one where it is given twice; None where it is absent."""
    wanted = canonical(name)
    return next((flag for flag in reversed(read_flags(arguments)) if flag.name == wanted), None)


def set_flag(arguments: Sequence[str], name: str, value: JsonValue) -> list[str]:
    """Give a flag another value in its place, or append it.

    True sets it bare, False and None take it out, a mapping becomes JSON, a list several words.
    """
    wanted = canonical(name)
    words = _words(wanted, value)
    present = [flag for flag in read_flags(arguments) if flag.name == wanted]
    if not present:
        return [*arguments, *words]
    changed = list(arguments)
    for flag in reversed(present[1:]):
        del changed[flag.start : flag.end]
    changed[present[0].start : present[0].end] = words
    return changed


def _words(name: str, value: JsonValue) -> list[str]:
    if value is None or value is False:
        return []
    if value is True:
        return [name]
    return [name, *(_text(item) for item in (value if isinstance(value, list) else [value]))]


def _text(value: JsonValue) -> str:
    return value if isinstance(value, str) else json.dumps(value, separators=(",", ":"))


def _argument_list(value: object) -> object:
    if isinstance(value, str):
        msg = f"arguments are a list, one word an item: {_as_list(value)}"
        raise ValueError(msg)  # noqa: TRY004 - pydantic turns it into a complaint of ours
    if not isinstance(value, list | tuple):
        return value
    for item in value:
        if isinstance(item, str) and _TWO_WORDS.match(item):
            msg = f"{item!r} holds several words, give each its own item: {_as_list(item)}"
            raise ValueError(msg)
    number = (int, float)
    return [
        str(item) if isinstance(item, number) and not isinstance(item, bool) else item
        for item in value
    ]


def _as_list(text: str) -> str:
    try:
        return json.dumps(shlex.split(text))
    except ValueError:
        return '["--flag", "value"]'


Arguments = Annotated[tuple[str, ...], BeforeValidator(_argument_list)]


def _environment(value: object) -> object:
    if not isinstance(value, dict):
        return value
    switches = sorted(str(key) for key, item in value.items() if isinstance(item, bool))
    if switches:
        msg = f'{switches[0]} is true or false, which has no one spelling: write "1" or "0"'
        raise ValueError(msg)
    return {
        key: str(item) if isinstance(item, int | float) else item for key, item in value.items()
    }


Environment = Annotated[dict[str, str], BeforeValidator(_environment)]
