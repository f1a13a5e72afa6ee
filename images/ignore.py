"""``.dockerignore``: which files of a context a builder never sees."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.yaml_file import read_text

FILE = ".dockerignore"


@dataclass(frozen=True, slots=True)
class Ignore:
    """Patterns in order; the last that fits a path, or a folder that it is in, decides."""

    rules: tuple[tuple[bool, re.Pattern[str]], ...] = ()

    def hides(self, path: str) -> bool:
        """Whether a path, relative to the context, is left out."""
        parts = path.split("/")
        parents = ["/".join(parts[:n]) for n in range(1, len(parts) + 1)]
        hidden = False
        for again, pattern in self.rules:
            if any(pattern.fullmatch(parent) for parent in parents):
                hidden = not again
        return hidden


def load_ignore(context: Path) -> Ignore:
    """Read that of a context; one that hides nothing where there is none."""
    file = context / FILE
    return parse_ignore(read_text(file).splitlines()) if file.exists() else Ignore()


def parse_ignore(lines: Iterable[str]) -> Ignore:
    """Read its lines."""
    rules: list[tuple[bool, re.Pattern[str]]] = []
    for line in lines:
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        again = text.startswith("!")
        pattern = text.removeprefix("!").strip().strip("/").removeprefix("./")
        rules.append((again, wildcard(pattern)))
    return Ignore(tuple(rules))


def wildcard(pattern: str) -> re.Pattern[str]:
    """A pattern of paths: ``*`` and ``?`` within a folder, ``**`` through folders, ``[a-z]``."""
    text, at = "", 0
    while at < len(pattern):
        char = pattern[at]
        if pattern.startswith("**/", at):
            text, at = text + "(?:.*/)?", at + 3
            continue
        if pattern.startswith("**", at):
            text, at = text + ".*", at + 2
            continue
        end = pattern.find("]", at + 1) if char == "[" else -1
        if end > 0:
            text, at = text + pattern[at : end + 1], end + 1
            continue
        text += {"*": "[^/]*", "?": "[^/]"}.get(char, re.escape(char))
        at += 1
    return re.compile(text, re.DOTALL)
