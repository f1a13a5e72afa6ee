"""Who owns a file: a CODEOWNERS file, where the last pattern that matches decides."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OwnerRule:
    """One line: what it matches, and its owners, none where it takes ownership away."""

    pattern: re.Pattern[str]
    owners: tuple[str, ...]


def read_codeowners(text: str) -> tuple[OwnerRule, ...]:
    """Read the rules of a CODEOWNERS file, in order. Comments and empty lines are no rules."""
    rules = []
    for line in text.splitlines():
        words = line.split("#", 1)[0].split()
        if words:
            rules.append(OwnerRule(re.compile(_regex(words[0])), tuple(words[1:])))
    return tuple(rules)


def owners_of(path: str, rules: Sequence[OwnerRule]) -> tuple[str, ...]:
    """Owners of a file by the last rule that matches it; nobody where none does."""
    for rule in reversed(rules):
        if rule.pattern.match(path):
            return rule.owners
    return ()


def _regex(pattern: str) -> str:
    """Translate a gitignore-like pattern: ``*`` stays in a folder, ``**`` does not."""
    anchored = "/" in pattern.rstrip("/")
    body = pattern.strip("/")
    parts = [_part(part) for part in re.split(r"(\*\*/|/\*\*|\*\*|\*|\?)", body)]
    start = "" if anchored else "(?:.*/)?"
    # What names a folder owns all below it; `folder/*` owns its files alone.
    end = "$" if body.endswith("/*") else "/.*$" if pattern.endswith("/") else "(?:/.*)?$"
    return start + "".join(parts) + end


def _part(part: str) -> str:
    wild = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return wild.get(part, re.escape(part))
