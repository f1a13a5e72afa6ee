"""Lines of a job log: what a terminal would show of them, when they came, what they look like."""

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

BLOCK = 1 << 18
# Of a line that fills a block, this much is kept of its beginning and of its end.
_EDGE = 1 << 12
_CUT = b" [cut] "
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

BUILDKITE_MARK = b"\x1b_bk;t="
_BUILDKITE = re.compile("\x1b_bk;t=([0-9]{1,16})\x07")
_ISO = re.compile(r"\ufeff?(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))(?: |$)")
_ESCAPES = re.compile(
    "\x1b[_\\]P][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # strings: time marks, links, titles
    "|\x1b\\[[0-?]*[ -/]*[@-~]"  # colours, cursor
    "|\x1b[ -/]*[0-~]"
    "|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)
_HEADING = re.compile(r"(---|\+\+\+|~~~) +(.*)|##\[(group|endgroup)\](.*)")

# What an error line looks like: each pattern with bytes that it cannot do without. They are
# looked for in whole blocks, so that most lines are never touched; colours may stand between any
# two words, and a pattern sees the line without them.
_ERRORS = tuple(
    (needle, re.compile(pattern))
    for needle, pattern in (
        ("E   ", r"^E {3}"),
        ("FAILED", r"^FAILED[ :]"),
        ("ERROR", r"^ERROR[ :]|\bERROR:"),
        ("rror", r"(?:\b|[a-z])Error(?:: |$)|\b[Ee]rror(?:\[\w+\])?:|^Error |##\[error\]"),
        ("Exception", r"(?:\b|[a-z])Exception(?:: |$)"),
        ("Traceback", r"\bTraceback \(most recent call last\)"),
        ("atal", r"\b[Ff]atal(?: error)?:"),
        ("panic", r"\bpanic: |\bpanicked at\b"),
        ("Killed", r"^Killed\b"),
        ("CUDA", r"\bCUDA (?:error|out of memory)\b"),
        ("KeyboardInterrupt", r"\bKeyboardInterrupt\b"),
        ("signal", r"\b[Rr]eceived signal\b"),
        ("Segmentation", r"\bSegmentation fault\b"),
        ("dumped", r"\bcore dumped\b"),
        ("No space", r"\bNo space left on device\b"),
    )
)
NEEDLES = (
    *(b"--- ", b"+++ ", b"~~~ ", b"##["),
    *(needle.encode() for needle, _ in _ERRORS),
)


class Line(NamedTuple):
    """What is left of a line: its text, and when it was written, where it says so."""

    text: str
    at: datetime | None


class Heading(NamedTuple):
    """The beginning of a section of a log; ``mark`` is empty where a section ends."""

    mark: str
    name: str


def whole_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Cut a stream into blocks that end with a line; a line of any length is kept bounded.

    The same stream in other pieces gives the same blocks, with as many line ends as it has.
    """
    held = bytearray()
    for chunk in chunks:
        for start in range(0, len(chunk), BLOCK):
            held += chunk[start : start + BLOCK]
            while len(held) >= BLOCK:
                end = held.rfind(b"\n", 0, BLOCK) + 1
                if end:
                    yield bytes(held[:end])
                    del held[:end]
                else:
                    held[_EDGE : BLOCK - _EDGE] = _CUT
    if held:
        yield bytes(held)


def read_line(raw: bytes) -> Line:
    """Read one line as a terminal shows it: without colours, the last state of a progress bar.

    Its time is Buildkite's mark, or an ISO 8601 time that it begins with; neither stays in it.
    """
    text = raw.decode(errors="replace")
    at = None
    if mark := _BUILDKITE.search(text):
        at = _from_milliseconds(int(mark[1]))
    text = _shown(text)
    if iso := _ISO.match(text):
        at = at or _from_iso(iso[1])
        text = text[iso.end() :]
    return Line(text.rstrip(), at)


def line_text(raw: bytes) -> str:
    """The text of :func:`read_line` alone, for whom it does not matter when it was written."""
    text = _shown(raw.decode(errors="replace"))
    iso = _ISO.match(text)
    return (text[iso.end() :] if iso else text).rstrip()


def _shown(text: str) -> str:
    """What a terminal shows of a line: no colours, the last state of a progress bar."""
    if "\x1b" not in text and text.isprintable():
        return text
    text = _ESCAPES.sub("", text).rstrip("\r\n")
    states = [state for state in text.split("\r") if state.strip()]
    return states[-1] if states else ""


def heading_of(text: str) -> Heading | None:
    """Read a heading as Buildkite (``--- name``) or GitHub (``##[group]name``) writes it."""
    match = _HEADING.match(text)
    if match is None:
        return None
    if match[3] == "endgroup":
        return Heading("", "")
    return Heading(match[1] or match[3], (match[2] or match[4] or "").strip())


def is_error(text: str) -> bool:
    """Whether a line looks like an error; a hint for people and classifiers, not a verdict."""
    return any(needle in text and pattern.search(text) for needle, pattern in _ERRORS)


def _from_milliseconds(value: int) -> datetime | None:
    try:
        return _EPOCH + timedelta(milliseconds=value)
    except OverflowError:
        return None


def _from_iso(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
