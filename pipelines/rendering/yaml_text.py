"""Write a pipeline as YAML: the same bytes every time, for people to read and agents to parse.

A general YAML writer takes longer than everything else that a decision does. This one knows only
what a pipeline is made of (mappings with text keys, lists, scalars), writes a value that many
steps share once, and never uses anchors, which would tie steps together that have nothing in
common.
"""

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache

# Only such text is written without quotes as cannot be taken for anything but text.
_PLAIN = re.compile(r"[A-Za-z/_][^\x00-\x1f]*")
_NOT_PLAIN = re.compile(r": |:$| #| $")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})
# What YAML allows on one line as it is. Its other line breaks and the byte order mark are left out.
_PRINTABLE = re.compile(
    "[\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]*"
)
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t"}
_STEP = "  "

Memo = dict[tuple[int, str], str]


def to_yaml(pipeline: Mapping[str, object]) -> str:
    """Serialise a pipeline; equal pipelines give equal bytes.

    Raises TypeError for a value that no pipeline holds.
    """
    return _mapping(pipeline, "", {}).removeprefix("\n") + "\n"


def _node(value: object, indent: str, memo: Memo) -> str:
    """Text of a value as it follows the colon of its key."""
    if isinstance(value, str):
        return " " + (_literal(value, indent) or _scalar(value))
    if isinstance(value, Mapping | list | tuple):
        known = memo.get((id(value), indent))
        if known is None:
            write = _mapping if isinstance(value, Mapping) else _sequence
            known = memo[id(value), indent] = write(value, indent, memo)  # type: ignore[arg-type]
        return known
    return f" {_atom(value)}"


def _mapping(value: Mapping[str, object], indent: str, memo: Memo) -> str:
    if not value:
        return " {}"
    return "".join(
        f"\n{indent}{_key(key)}:{_node(item, _inner(item, indent), memo)}"
        for key, item in value.items()
    )


def _sequence(value: Sequence[object], indent: str, memo: Memo) -> str:
    if not value:
        return " []"
    return "".join(f"\n{indent}-{_item(item, indent + _STEP, memo)}" for item in value)


def _item(value: object, indent: str, memo: Memo) -> str:
    text = _node(value, indent, memo)
    # The first key of a mapping, or dash of a list, stands on the line of its own dash.
    return f" {text[len(indent) + 1 :]}" if text.startswith("\n") else text


def _inner(value: object, indent: str) -> str:
    """Indent of what is below a key; the dashes of a list stand below the key itself."""
    return indent if isinstance(value, list | tuple) else indent + _STEP


def _key(key: object) -> str:
    if isinstance(key, str):
        return _scalar(key)
    msg = f"a pipeline cannot have the key {key!r}"
    raise TypeError(msg)


def _atom(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # YAML takes a number for a float only where it has a point.
        text = repr(value)
        return text if "." in text else text.replace("e", ".0e", 1)
    msg = f"a pipeline cannot hold {value!r}"
    raise TypeError(msg)


@lru_cache(maxsize=1 << 14)
def _scalar(text: str) -> str:
    """Text on one line: plain where that is safe, else quoted."""
    if not _PRINTABLE.fullmatch(text):
        return f'"{"".join(map(_escaped, text))}"'
    if _PLAIN.fullmatch(text) and not _NOT_PLAIN.search(text) and text.lower() not in _WORDS:
        return text
    return "'" + text.replace("'", "''") + "'"


def _escaped(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    if _PRINTABLE.fullmatch(character):
        return character
    code = ord(character)
    if 0xD800 <= code <= 0xDFFF:
        # Half a character, from bytes that were no text; YAML has no way to say it.
        return "\ufffd"
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"


@lru_cache(maxsize=1 << 12)
def _literal(text: str, indent: str) -> str | None:
    """Text of several lines as a block, for people to read; None where none can hold it."""
    if "\n" not in text:
        return None
    lines = text.split("\n")
    if not text.strip() or any(line.isspace() for line in lines):
        return None
    if not all(_PRINTABLE.fullmatch(line.replace("\t", " ")) for line in lines):
        return None
    body = text.rstrip("\n")
    ends = len(text) - len(body)
    # A block is as deep as its first line, unless it is told how deep it is.
    depth = "2" if text[0] in " \n\t" else ""
    chomp = "-" if ends == 0 else "" if ends == 1 else "+"
    shown = [f"{indent}{line}" if line else "" for line in body.split("\n")]
    return "\n".join([f"|{depth}{chomp}", *shown, *[""] * (ends - 1)])
