"""Texts that every match of a regular expression must have: what makes looking for it cheap."""

import re
from collections.abc import Iterable
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SHORTEST = 4
_MOST = 24


def required_literals(pattern: str) -> tuple[str, ...]:
    """Texts of which every match has at least one; empty where the pattern has no such texts."""
    tree = parser.parse(pattern)
    if tree.state.flags & re.IGNORECASE:
        return ()
    found = _best(_choices(tree))
    return tuple(sorted(found)) if found else ()


def _choices(tree: Iterable[tuple[Any, Any]]) -> list[frozenset[str]]:
    """Sets of texts: of each set, every match has one."""
    sets: list[frozenset[str]] = []
    run = ""
    for kind, value in tree:
        if kind is op.LITERAL:
            run += chr(value)
            continue
        if run:
            sets.append(frozenset({run}))
            run = ""
        sets += _of_node(kind, value)
    if run:
        sets.append(frozenset({run}))
    return sets


def _of_node(kind: Any, value: Any) -> list[frozenset[str]]:  # noqa: ANN401 - nodes of re's parser
    if kind is op.SUBPATTERN:
        _, on, off, inner = value
        return [] if (on | off) & re.IGNORECASE else _choices(inner)
    if kind in (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT):
        least, _, inner = value
        return _choices(inner) if least > 0 else []
    if kind is op.BRANCH:
        bests = [_best(_choices(branch)) for branch in value[1]]
        if all(bests) and sum(map(len, bests)) <= _MOST:
            return [frozenset().union(*bests)]
    return []


def _best(sets: list[frozenset[str]]) -> frozenset[str]:
    """The set whose shortest text is longest: the rarest on a line."""
    usable = [found for found in sets if all(len(text.strip()) >= SHORTEST for text in found)]
    return max(usable, key=lambda found: min(map(len, found)), default=frozenset())
