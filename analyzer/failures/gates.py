"""Which lines of a log are worth a look: four bytes of each rule, searched in whole blocks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from gauntlet.analyzer.failures.rules import Rule

_WIDTH = 4
_BITS = 20
# A colour within so many bytes of a word may stand inside its text.
_NEAR = 24
# Knuth's multiplicative hash (The Art of Computer Programming, volume 3, 6.4).
_FACTOR = np.uint32(2654435761)
_SHIFT = np.uint32(32 - _BITS)
_BESIDE = np.uint32(0x9E3779B1)
_PAD = 4
_ESCAPE = 0x1B
_PAIR_BITS = np.uint64(16)
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
    b" errors error"
    b" access found which reference not the this that from into over under your attention"
    b" backend parameter parameters supported using default values pipeline Pipeline transport"
    b" template handle collection report reports date updated update local network driver"
    b" size batch scalar Torch torch_ export exports modules Tensor tensor high higher ASSERTS"
    b" asserts type types utils. _export _value values"
    b" complex Triton modules torch. call called calls backends failure cache cached cacher apply"
    b" factor vector Interface Internal internal group groups groups CMake cuda CUDA rocm object"
    b" file files Value values Build code codes dropped stopped Transformers kernel kernels native"
    b" _test tests/ test- shape shapes size= dtype float float32 bfloat16 int64 index indices input"
    b" inputs output outputs random linear matmul norm layer layers attention_ decode prefill token"
    b" tokens requests_ python python3 lib/ site-packages /usr/ bin/ include source sources header"
    b" target targets linking Linking compilation compiler static shared library libraries link"
    b" upload uploaded artifact artifacts Artifact action actions runner workflow checkout GITHUB"
    b" github. docker Docker container- sha256 digest manifest registry password key token= secret"
    b" cpu gpu GPU GPUs memory_ usage utilization nvidia hip HIP stream event graph graphs capture"
    b" pass passed passing skip skipped skipping Skipping deselected selected items session"
    b" platform"
    b" Finished Running Started Starting started start Stopping stop end ended total Total count"
    b" time times timer took elapsed seconds. minutes hours second minute hour day days 2026- T00:"
    b" name names named path paths directory directories folder root home user users group_ mode"
    b" options option flags flag args arguments argument param params key keys value: list lists"
    b" None True False self. return_ import_ from_ class def_ lambda raise except_ try: with_"
    b" assert_"
    b" ##[group] ##[endgroup] ##[command] ##[debug] [command] [36;1m [0m env: shell: run: with:"
    b" uses"
)
_ORDINARY_GRAMS = frozenset(
    _ORDINARY[start : start + _WIDTH] for start in range(len(_ORDINARY) - _WIDTH + 1)
)
# How many ordinary words' worth of rarity is given up before four bytes reach over a space.
_OVER_SPACE = 1e5
_OF_ORDINARY = 1e8


class _Mark(NamedTuple):
    """One text, and where in it its four bytes stand; the same of their word, if it has more."""

    place: int
    needle: bytes
    in_needle: int
    word: bytes
    in_word: int

    def beside(self) -> tuple[str, bytes]:
        """The two bytes that stand beside its four: after them, else before them, else none."""
        for text, place in ((self.word, self.in_word), (self.needle, self.in_needle)):
            after = text[place + _WIDTH : place + _WIDTH + 2]
            before = text[max(0, place - 2) : place]
            if len(after) == 2:
                return "after", after
            if len(before) == 2:
                return "before", before
        return "none", b""


class _Group(NamedTuple):
    """Marks whose two other bytes stand on the same side, by four bytes and those two."""

    table: npt.NDArray[np.bool_]
    marks: Mapping[int, list[_Mark]]


class _Room:
    """Arrays used again for every block: making them anew costs more than filling them."""

    def __init__(self) -> None:
        self._make(0)

    def _make(self, count: int) -> None:
        self._hashed = np.empty(count, np.uint32)
        self._index = np.empty(count, np.intp)
        self._found = np.empty(count, bool)

    def hits(
        self, codes: npt.NDArray[np.uint32], table: npt.NDArray[np.bool_]
    ) -> npt.NDArray[np.intp]:
        """Where the table has a code."""
        count = len(codes)
        if count > len(self._index):
            self._make(count)
        hashed, index, found = (
            self._hashed[:count], self._index[:count], self._found[:count]
        )  # fmt: skip
        np.multiply(codes, _FACTOR, out=hashed)
        np.right_shift(hashed, _SHIFT, out=hashed)
        index[:] = hashed
        table.take(index, out=found, mode="clip")
        return np.flatnonzero(found)


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
        self._table = _table(np.array(list(self._marks), dtype=np.uint32))
        self._groups = _groups_of(self._marks)
        self._room = _Room()

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
        found: list[tuple[int, int]] = []
        padded = np.frombuffer(b"\0" * _PAD + block + b"\0" * (_PAD + 2), np.uint8)
        colours = np.flatnonzero(padded == _ESCAPE) - _PAD if b"\x1b[" in block else None
        for offset in range(_WIDTH):
            count = (len(block) - offset) // _WIDTH
            if count <= 0:
                continue
            codes = np.frombuffer(block, "<u4", count, offset)
            hits = self._room.hits(codes, self._table)
            known = codes[hits]
            places = hits * _WIDTH + offset
            for group, pairs in zip(self._groups, _pairs(padded, places + _PAD), strict=True):
                likely = group.table.take(_hashed(known, pairs))
                keys = (known[likely].astype(np.uint64) << _PAIR_BITS) | pairs[likely]
                marks, here = group.marks, places[likely]
                near = _near(here, colours)
                for place, key, colour in zip(here.tolist(), keys.tolist(), near, strict=True):
                    for index, needle, before, word, in_word in marks.get(key, ()):
                        if (place >= before and block.startswith(needle, place - before)) or (
                            colour
                            and word
                            and place >= in_word
                            and block.startswith(word, place - in_word)
                        ):
                            found.append((place, index))
        found.sort()
        return found


def _near(places: npt.NDArray[np.int64], colours: npt.NDArray[np.int64] | None) -> Iterable[bool]:
    """Whether a colour begins near each place."""
    if colours is None:
        return repeat(False, len(places))
    after = np.searchsorted(colours, places - _NEAR)
    known = np.append(colours, np.iinfo(np.int64).max - _NEAR)
    near: list[bool] = (known[after] < places + _NEAR).tolist()
    return near


def _table(codes: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
    table = np.zeros(1 << _BITS, dtype=bool)
    table[(codes * _FACTOR) >> _SHIFT] = True
    return table


def _groups_of(marks: Mapping[int, list[_Mark]]) -> tuple[_Group, ...]:
    """Marks by where their two other bytes stand, then by all six."""
    found: dict[str, dict[tuple[int, int], list[_Mark]]] = {"after": {}, "before": {}, "none": {}}
    for code, some in marks.items():
        for mark in some:
            where, pair = mark.beside()
            key = (code, int.from_bytes(pair, "little"))
            found[where].setdefault(key, []).append(mark)
    return tuple(_group(keys) for keys in found.values())


def _group(marks: Mapping[tuple[int, int], list[_Mark]]) -> _Group:
    table = np.zeros(1 << _BITS, dtype=bool)
    if marks:
        codes, pairs = np.array(list(marks), dtype=np.uint32).T
        table[_hashed(codes, pairs)] = True
    keyed = {(code << int(_PAIR_BITS)) | pair: some for (code, pair), some in marks.items()}
    return _Group(table, keyed)


def _pairs(
    padded: npt.NDArray[np.uint8], at: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.uint32], npt.NDArray[np.uint32]]:
    """The two bytes after four, the two before them, and none."""
    high = np.uint32(8)
    after = padded.take(at + _WIDTH).astype(np.uint32) | (
        padded.take(at + _WIDTH + 1).astype(np.uint32) << high
    )
    before = padded.take(at - 2).astype(np.uint32) | (padded.take(at - 1).astype(np.uint32) << high)
    return after, before, np.zeros_like(after)


def _hashed(
    codes: npt.NDArray[np.uint32], beside: npt.NDArray[np.uint32]
) -> npt.NDArray[np.uint32]:
    return ((codes ^ (beside * _BESIDE)) * _FACTOR) >> _SHIFT


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
