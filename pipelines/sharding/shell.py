"""Which commands of a job a shard may repeat: plain pytest calls, and the settings around them.

Whatever is not understood for certain is a doubt, and a doubt leaves the job as it is.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_OPERATORS = "|&;<>()"
_WILDCARDS = "*?[{~"
_HEADS = (("pytest",), ("py.test",), ("python", "-m", "pytest"), ("python3", "-m", "pytest"))
_OWN_SHARDS = "BUILDKITE_PARALLEL_JOB"

_BLANKS = " \t\n"
_NEVER = (
    (_OWN_SHARDS, "has shards of its own"),
    ("$", "uses a variable"),
    ("`", "runs another command inside it"),
)

# Options under which one shard's tests depend on more than its plan, each with the reason.
_PARALLEL = "runs tests in parallel by itself"
_SHARDED = "has shards of its own"
_CACHED = "chooses tests by what ran before"
_NO_RUN = "runs no test"
_REFUSED = {
    "-n": _PARALLEL,
    "-d": _PARALLEL,
    "-f": _PARALLEL,
    "--numprocesses": _PARALLEL,
    "--dist": _PARALLEL,
    "--tx": _PARALLEL,
    "--looponfail": _PARALLEL,
    "--shard-id": _SHARDED,
    "--num-shards": _SHARDED,
    "--splits": _SHARDED,
    "--group": _SHARDED,
    "--lf": _CACHED,
    "--last-failed": _CACHED,
    "--ff": _CACHED,
    "--failed-first": _CACHED,
    "--nf": _CACHED,
    "--new-first": _CACHED,
    "--sw": _CACHED,
    "--stepwise": _CACHED,
    "--sw-skip": _CACHED,
    "--stepwise-skip": _CACHED,
    "--testmon": _CACHED,
    "--co": _NO_RUN,
    "--collect-only": _NO_RUN,
    "--keep-duplicates": "may run one test twice",
    "--pyargs": "names packages instead of files",
    "--": "takes no options at its end",
}
# Short options that may share one word, and those whose value ends it.
_SHORT_WITH_VALUE = frozenset("kmpocrW")


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """A job's commands as understood.

    ``pytest`` holds, for each pytest call in order, its position among the commands and its
    arguments. ``doubt`` says why the commands cannot be shared out, or is None.
    """

    pytest: tuple[tuple[int, tuple[str, ...]], ...]
    doubt: str | None = None


class _DoubtError(Exception):
    """Why a text is not one plain command."""


@dataclass(slots=True)
class _Word:
    """One word after the shell's quoting; ``plain`` is how many of its characters had none."""

    text: str = ""
    plain: int | None = None

    def quote(self) -> None:
        if self.plain is None:
            self.plain = len(self.text)

    @property
    def assigns(self) -> bool:
        """Whether the shell reads it as ``NAME=value``."""
        match = _ASSIGNMENT.match(self.text)
        return match is not None and (self.plain is None or match.end() <= self.plain)


def read_commands(commands: Sequence[str]) -> Commands:
    """Read all commands of a job."""
    found = []
    for position, command in enumerate(commands):
        try:
            arguments = _read(command)
        except _DoubtError as doubt:
            return Commands(pytest=(), doubt=f"command {position + 1} {doubt}")
        if arguments is not None:
            found.append((position, arguments))
    if not found:
        return Commands(pytest=(), doubt="no command is a pytest call")
    return Commands(pytest=tuple(found))


def _read(command: str) -> tuple[str, ...] | None:
    """Arguments of a pytest call; None for a command that only sets the scene for later ones."""
    words = _split(command)
    while words and words[0].assigns:
        words = words[1:]
    plain = tuple(word.text for word in words)
    if not plain or (plain[0] == "export" and all(word.assigns for word in words[1:])):
        return None
    if plain[0] == "cd" and len(plain) == 2 and plain[1] != "-":
        return None
    for head in _HEADS:
        if plain[: len(head)] == head:
            arguments = plain[len(head) :]
            _check(arguments)
            return arguments
    msg = f"is no pytest call: it runs {plain[0]!r}"
    raise _DoubtError(msg)


def _check(arguments: Sequence[str]) -> None:
    for word in arguments:
        option = word.partition("=")[0]
        reason = _REFUSED.get(option) or _REFUSED.get(_short_option(word))
        if option.startswith("--gauntlet-"):
            reason = "is a shard already"
        if reason:
            msg = f"{reason} ({word})"
            raise _DoubtError(msg)


def _short_option(word: str) -> str:
    """The first option inside ``-vn4`` that would be refused, or ""."""
    if word.startswith("--") or not word.startswith("-"):
        return ""
    for letter in word[1:]:
        if f"-{letter}" in _REFUSED:
            return f"-{letter}"
        if letter in _SHORT_WITH_VALUE:
            break
    return ""


def _split(text: str) -> list[_Word]:
    """Split one simple command into words as a POSIX shell does; anything more is a doubt."""
    text = text.strip(_BLANKS)
    for sign, what in _NEVER:
        if sign in text:
            raise _DoubtError(what)
    words: list[_Word] = []
    word: _Word | None = None
    position = 0
    while position < len(text):
        letter = text[position]
        if letter in "'\"":
            word = word or _Word()
            word.quote()
            position = _quoted(text, position, word)
        elif letter == "\\":
            escaped = text[position + 1 : position + 2]
            if not escaped:
                msg = "ends in a backslash"
                raise _DoubtError(msg)
            if escaped != "\n":
                word = word or _Word()
                word.quote()
                word.text += escaped
            position += 2
        elif letter in " \t":
            words += [word] if word else []
            word = None
            position += 1
        else:
            word = word or _Word()
            _check_bare(letter, word)
            word.text += letter
            position += 1
    return words + ([word] if word else [])


def _quoted(text: str, start: int, word: _Word) -> int:
    """Take what stands between quotes into the word; return where the shell reads on."""
    quote = text[start]
    position = start + 1
    while position < len(text):
        letter = text[position]
        if letter == quote:
            return position + 1
        if letter == "\\" and quote == '"' and text[position + 1 : position + 2] in {'"', "\\"}:
            position += 1
            letter = text[position]
        elif letter == "\\" and quote == '"' and text[position + 1 : position + 2] == "\n":
            position += 2
            continue
        word.text += letter
        position += 1
    msg = "has a quote without its end"
    raise _DoubtError(msg)


def _check_bare(letter: str, word: _Word) -> None:
    """Refuse a character that the shell does not take as it is."""
    begins = not word.text and word.plain is None
    if letter in _OPERATORS:
        msg = f"is more than one command ({letter!r})"
    elif letter in "\n\r":
        msg = "has several lines"
    elif letter in _WILDCARDS:
        msg = f"has a sign that the shell may expand ({letter!r})"
    elif letter == "#" and begins:
        msg = "has a comment"
    else:
        return
    raise _DoubtError(msg)
