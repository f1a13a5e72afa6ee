"""Read Prometheus' text format, as far as an engine's ``/metrics`` needs it.

A small reader of our own: of the 600 lines of a server some ten are wanted, once a second, beside
a load that must not be disturbed. Lines of other metrics are passed over by one search.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

_LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"((?:[^"\\]|\\.)*)"\s*(,|(?=\}))')
_ESCAPED = re.compile(r"\\(.)")
_UNESCAPED = {"n": "\n", '"': '"', "\\": "\\"}


@dataclass(frozen=True, slots=True)
class MetricPoint:
    """One line: a series and its value."""

    name: str
    labels: Mapping[str, str]
    value: float


def read_metrics(text: str, wanted: Collection[str]) -> list[MetricPoint]:
    """Return the points of the wanted names, in order.

    Raises ValueError, with number and text of the line, where a line of a wanted name is broken.
    """
    points = []
    for match in _lines_of(frozenset(wanted)).finditer(text):
        point = _point(match[1], match[2])
        if point is None:
            number = text.count("\n", 0, match.start()) + 1
            msg = f"line {number} is no metric: {match[0][:200]!r}"
            raise ValueError(msg)
        points.append(point)
    return points


@cache
def _lines_of(names: frozenset[str]) -> re.Pattern[str]:
    """Match a whole line of any of the names, and of no longer name."""
    words = "|".join(re.escape(name) for name in sorted(names))
    return re.compile(rf"^({words})(?![a-zA-Z0-9_:])(.*)$", re.MULTILINE)


def _unescape(match: re.Match[str]) -> str:
    return _UNESCAPED.get(match[1], match[0])


def _point(name: str, rest: str) -> MetricPoint | None:
    labels: dict[str, str] = {}
    if rest.startswith("{"):
        position = 1
        while rest[position : position + 1] != "}":
            label = _LABEL.match(rest, position)
            if label is None:
                return None
            labels[label[1]] = _ESCAPED.sub(_unescape, label[2])
            position = label.end()
        rest = rest[position + 1 :]
    words = rest.split()
    # A time stamp may follow the value; it is the server's, and not needed.
    if len(words) not in {1, 2}:
        return None
    try:
        return MetricPoint(name, labels, float(words[0]))
    except ValueError:
        return None
