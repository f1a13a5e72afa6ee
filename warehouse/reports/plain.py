"""Plain cases, read without an XML parser: most of every report, at several times the speed.

A plain case passed, says nothing, and its tag needs no XML to be read: no entities, no line ends
in values, the attributes in an order that this document has used before. Everything else, and
every doubt, is left to the parser, which reads the same from these cases (a test compares).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from gauntlet.warehouse.reports.nodes import nodeid_prefix
from gauntlet.warehouse.reports.report import LONGEST_S

MARK = "<testcase "
_MOST_LAYOUTS = 64
_NAME = re.compile(r"[ \n]*([A-Za-z_][A-Za-z0-9_.-]*)[ \n]*=[ \n]*")
_NEXT_NAME = re.compile(r"[ \n]+([A-Za-z_][A-Za-z0-9_.-]*)[ \n]*=[ \n]*")
_END = re.compile(r"[ \n]*(/>|></testcase[ \n]*>)[ \n]*")
# These may say that the case did not run, or did not pass.
_TELLING = frozenset({"status", "result", "xmlns"})


class _Layout(NamedTuple):
    """What stands between the values of a tag, and which value is which (-1: none)."""

    between: list[str]
    name: int
    time: int
    classname: int
    file: int
    line_ends: int
    openings: int


_NO_LAYOUT = _Layout([], 0, 0, 0, 0, 0, 0)


@dataclass(slots=True)
class PlainCases:
    """Reads plain cases into the two columns that they have; all the rest is the default."""

    nodeids: list[str]
    seconds: list[float]
    _layout: _Layout = _NO_LAYOUT
    _layouts: dict[tuple[str, ...], _Layout] = field(default_factory=dict)
    _prefixes: dict[tuple[str, str], str] = field(default_factory=dict)

    def read(self, pieces: Sequence[str], start: int, stop: int, *, blanks: bool) -> int:
        """Read pieces from ``start`` on; return the place of the first that is not plain.

        A piece is what follows ``MARK``, up to the next one. ``blanks`` says that there are tabs
        or carriage returns among the pieces, which are not looked for otherwise.
        """
        between, name, time, classname, file, line_ends, openings = self._layout
        add_nodeid, add_seconds = self.nodeids.append, self.seconds.append
        for index in range(start, stop):
            piece = pieces[index]
            parts = piece.split('"')
            if parts[::2] != between:
                layout = self._find(parts[::2])
                if layout is None:
                    return index
                self._layout = layout
                between, name, time, classname, file, line_ends, openings = layout
            # Looking for one is quicker than counting, and most layouts have none.
            if (
                "&" in piece
                or (("\n" in piece or line_ends) and piece.count("\n") != line_ends)
                or (("<" in piece or openings) and piece.count("<") != openings)
                or (blanks and ("\t" in piece or "\r" in piece))
            ):
                return index
            try:
                seconds = float(parts[time])
            except ValueError:
                return index
            title = parts[name]
            prefix = parts[classname] if classname >= 0 else ""
            unfit = not title or title.isspace() or (file >= 0 and not prefix)
            if unfit or not 0 <= seconds <= LONGEST_S:
                return index
            if file >= 0:
                prefix = self._prefix(prefix, parts[file])
            add_nodeid(f"{prefix}::{title}" if prefix else title)
            add_seconds(seconds)
        return stop

    def _prefix(self, classname: str, file: str) -> str:
        found = self._prefixes.get((classname, file))
        if found is None:
            found = self._prefixes[classname, file] = nodeid_prefix(classname, file)
        return found

    def _find(self, between: list[str]) -> _Layout | None:
        if not _END.fullmatch(between[-1]):
            return None
        key = tuple(between)
        if key not in self._layouts:
            layout = _layout_of(between)
            if layout is None or len(self._layouts) == _MOST_LAYOUTS:
                return None
            self._layouts[key] = layout
        return self._layouts[key]


def _layout_of(between: list[str]) -> _Layout | None:
    """Read the names of the attributes of a tag that ends well; None where they are none."""
    matches = [
        (_NEXT_NAME if place else _NAME).fullmatch(text) for place, text in enumerate(between[:-1])
    ]
    names = [match[1] for match in matches if match]
    if len(names) != len(matches) or len(set(names)) != len(names) or _TELLING & set(names):
        return None
    places = {name: 2 * place + 1 for place, name in enumerate(names)}
    # A file without a class name can stand for itself (see make_nodeid).
    if not {"name", "time"} <= places.keys() or ("file" in places and "classname" not in places):
        return None
    text = "".join(between)
    return _Layout(
        between,
        places["name"],
        places["time"],
        places.get("classname", -1),
        places.get("file", -1),
        text.count("\n"),
        text.count("<"),
    )
