"""Comments of a YAML text, which a YAML parser throws away."""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import yaml

_BLOCK = re.compile(r"[|>][-+0-9]*")
_WHOLE_LINE = re.compile(r"^\s*#")


@dataclass(frozen=True, slots=True)
class Comment:
    """One comment: its line (from 1), its text from the ``#`` on, whether it has the line alone."""

    line: int
    text: str
    alone: bool


def find_comments(text: str) -> list[Comment]:
    """Return all comments in order. Raises yaml.YAMLError for text that is not YAML.

    What looks like one inside a string is none: everything that a token covers is skipped.
    """
    lines = text.split("\n")
    covered, ends = _tokens(text, lines)
    found = []
    for number, line in enumerate(lines):
        if number in covered:
            continue
        rest = line[ends.get(number, 0) :]
        if _WHOLE_LINE.match(rest):
            found.append(Comment(number + 1, rest.strip(), alone=number not in ends))
    return found


def split_by_step(comments: Sequence[Comment], starts: Sequence[int]) -> list[list[Comment]]:
    """Give every comment to the head of the file (first list) or to one of the steps.

    ``starts`` are the lines on which steps begin, ascending. Comments that stand alone directly
    above a step belong to it, with no other line between; all others to the step they are in.
    """
    parts: list[list[Comment]] = [[] for _ in range(len(starts) + 1)]
    alone = {comment.line for comment in comments if comment.alone}
    above: dict[int, int] = {}
    for index, start in enumerate(starts):
        line = start - 1
        while line in alone:
            above[line] = index + 1
            line -= 1
    for comment in comments:
        owner = above.get(comment.line, bisect_right(starts, comment.line))
        parts[owner].append(comment)
    return parts


def _tokens(text: str, lines: Sequence[str]) -> tuple[set[int], dict[int, int]]:
    """Lines (from 0) inside scalars of several lines, and where the last token of a line ends."""
    covered: set[int] = set()
    ends: dict[int, int] = {}
    for token in _scan(text):
        start, end = token.start_mark, token.end_mark
        if isinstance(token, yaml.ScalarToken) and end.line > start.line:
            block = token.style in ("|", ">")
            # A block's end is the beginning of what follows; its first line is the indicator,
            # and a comment may stand behind that.
            covered.update(range(start.line + 1, end.line + (0 if block else 1)))
            indicator = _BLOCK.match(lines[start.line], start.column)
            ends[start.line] = indicator.end() if indicator else len(lines[start.line])
            if not block:
                covered.discard(end.line)
                ends[end.line] = max(ends.get(end.line, 0), end.column)
            continue
        if end.column > start.column or end.line > start.line:
            ends[end.line] = max(ends.get(end.line, 0), end.column)
    return covered, ends


def _scan(text: str) -> Iterator[yaml.Token]:
    yield from yaml.scan(text, Loader=yaml.CSafeLoader)
