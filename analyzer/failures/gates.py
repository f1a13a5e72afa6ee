"""Which lines of a log are worth a look: four bytes of each rule, searched in whole blocks."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from gauntlet.analyzer.failures.rules import Rule

_WIDTH = 4
_BITS = 20
# A colour within so many bytes of a word may stand inside its text.
_NEAR = 24
# Knuth's multiplicative hash (The Art of Computer Programming, volume 3, 6.4).
_FACTOR = np.uint32(2654435761)
_SHIFT = np.uint32(32 - _BITS)
# How common letters are in words, per mille; all else counts as rare.
_COMMON = dict(
    zip("etaoinsrhldcumfpgwybvkxjqz", (127, 91, 82, 75, 70, 67, 63, 60, 61, 40, 43, 28, 28, 24, 22,
    19, 20, 24, 20, 15, 10, 8, 2, 2, 1, 1), strict=True)
) | {" ": 180, ".": 30, ":": 30, "=": 30, "-": 30}  # fmt: skip

# Words of logs of jobs that pass: what is in them stands on too many lines to tell anything.
_ORDINARY = (
    b"test_ tests/unit/test_case.py::test_one [ 50%] s [100%] .py: .cpp .com ==== ---- ...."
    b" INFO DEBUG WARNING Warning: Engine throughput running Building CMakeFiles object objects"
    b" Requirement requirement already satisfied package packages worker workers Core setting"
    b" settings collecting testing function functions generated generation compiled compile"
    b" compiling export exporting torch Torch with without work workspace memory module modules"
    b" device devices background common command commands request requests Build build building"
    b" code .code assert Assert status Status complete completed Completed download Downloading"
    b" downloaded install Installing installed connection connect Connected context content"
    b" container config configuration version versions process processes Process processing"
    b" model models loading Loading weights initialized Init information failed: 0 errors"
    b" warnings deprecated DeprecationWarning import imported service remote repository"
    b" Repository branch fetch checkout image images layer pulled extracting available resource"
    b" resources returned return response expected number node nodes seconds matching match"
    b" access found which reference not the this that from into over under your attention"
    b" backend parameter parameters supported using default values pipeline Pipeline transport"
    b" template handle collection report reports date updated update local network driver"
)
_ORDINARY_GRAMS = frozenset(
    _ORDINARY[start : start + _WIDTH] for start in range(len(_ORDINARY) - _WIDTH + 1)
)
# How many ordinary words' worth of rarity is given up before four bytes reach over a space.
_OVER_SPACE = 1e5
_OF_ORDINARY = 1e6


class _Mark(NamedTuple):
    """One text, and where in it its four bytes stand; the same of their word, if it has more."""

    place: int
    needle: bytes
    in_needle: int
    word: bytes
    in_word: int


class Gates:
    """Texts by four of their bytes, and the rules that a line with one of them may match.

    Colours may stand between two words, so the four bytes lie within one; where a colour is near,
    that word is enough.
    """

    def __init__(self, rules: Sequence[Rule], also: Iterable[str] = ()) -> None:
        """Cover every rule; ``also`` are texts that are wanted whatever the rules say."""
        found: dict[str, list[Rule]] = {text: [] for text in also}
        for rule in rules:
            for needle in rule.needles:
                found.setdefault(needle, []).append(rule)
        self._rules = [tuple(rules) for rules in found.values()]
        self._together: dict[tuple[int, ...], tuple[Rule, ...]] = {}
        self._marks: dict[int, list[_Mark]] = {}
        for index, needle in enumerate(found):
            code, mark = _mark_of(index, needle)
            self._marks.setdefault(code, []).append(mark)
        codes = np.array(list(self._marks), dtype=np.uint32)
        self._table = np.zeros(1 << _BITS, dtype=bool)
        self._table[(codes * _FACTOR) >> _SHIFT] = True

    def lines(self, block: bytes) -> Iterator[tuple[int, int, tuple[int, ...]]]:
        """Give start, end and marks of every line that has one, in order."""
        start = end = -1
        marks: set[int] = set()
        for place, mark in self._hits(block):
            if place >= end:
                if marks:
                    yield start, end, tuple(sorted(marks))
                    marks = set()
                start = block.rfind(b"\n", 0, place) + 1
                end = block.find(b"\n", place)
                end = len(block) if end < 0 else end
            marks.add(mark)
        if marks:
            yield start, end, tuple(sorted(marks))

    def rules(self, marks: tuple[int, ...]) -> tuple[Rule, ...]:
        """Rules of a line that has these marks, by rank."""
        found = self._together.get(marks)
        if found is None:
            union = {rule.rank: rule for mark in marks for rule in self._rules[mark]}
            found = self._together[marks] = tuple(union[rank] for rank in sorted(union))
        return found

    def _hits(self, block: bytes) -> list[tuple[int, int]]:
        found = []
        coloured = b"\x1b[" in block
        for offset in range(_WIDTH):
            count = (len(block) - offset) // _WIDTH
            if count <= 0:
                continue
            codes = np.frombuffer(block, "<u4", count, offset)
            hits = np.flatnonzero(self._table[(codes * _FACTOR) >> _SHIFT])
            for hit, code in zip(hits.tolist(), codes[hits].tolist(), strict=True):
                place = hit * _WIDTH + offset
                for index, needle, before, word, in_word in self._marks.get(code, ()):
                    if (place >= before and block.startswith(needle, place - before)) or (
                        coloured
                        and word
                        and place >= in_word
                        and block.startswith(word, place - in_word)
                        and block.find(b"\x1b[", max(0, place - _NEAR), place + _NEAR) >= 0
                    ):
                        found.append((place, index))
        found.sort()
        return found


def _mark_of(index: int, needle: str) -> tuple[int, _Mark]:
    """Choose the rarest four bytes of a text, within one word unless all of them are ordinary."""
    whole = needle.encode()
    pieces = [(whole, _OVER_SPACE), *((word.encode(), 1.0) for word in needle.split())]
    grams = [
        (_commonness(piece[start : start + _WIDTH]) * factor, piece, start)
        for piece, factor in pieces
        for start in range(len(piece) - _WIDTH + 1)
    ]
    _, word, start = min(grams)
    code = int.from_bytes(word[start : start + _WIDTH], "little")
    return code, _Mark(
        index, whole, whole.index(word) + start, word if word != whole else b"", start
    )


def _commonness(gram: bytes) -> float:
    value = _OF_ORDINARY if gram in _ORDINARY_GRAMS else 1.0
    for byte in gram:
        value *= _COMMON.get(chr(byte), 4)
    return value
