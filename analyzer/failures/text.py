"""A line of a log as rules see it: whose line it is, what it says, whether it can say anything."""

import re
from typing import NamedTuple

from gauntlet.warehouse.reports.log_text import line_text

LONGEST = 4000
_LAYERS = 6

# What stands before the words of a line: who wrote it, when, how important it is. A line may
# have several of them, one in the other.
_PREFIX = re.compile(
    r"(?:"
    r"\[(?:task|taskcluster(?::\w+)?) \d{4}-\d\d-\d\d[T ][\d:.]+Z?\] ?"
    r"|\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?: - |\s+|$)"
    r"|\d\d:\d\d:\d\d(?:[.,]\d+)?\s+(?:DEBUG|INFO|WARNING|ERROR|CRITICAL)\s+-\s+"
    r"|\[\d\d:\d\d:\d\d(?:[.,]\d+)?\] "
    r"|(?P<process>\((?:[A-Z]\w*|vllm\w*)(?: rank=\d+)?(?:,? (?:pid|ip|rank|node_id)=[^\s,)]+)+"
    r"(?:, ip=[^)]*)?\)|\[rank\d+\]:|\[gw\d+\]|\[\d+,\d+\]<std(?:err|out)>:)\s?"
    r"|(?P<service>[a-z][\w.-]{0,40})\s+\| "
    r"|\[[EWF]\d+ \d\d:\d\d:\d\d[\d.]* [\w.]+:\d+\] "
    r"|[EWFI]\d{4} \d\d:\d\d:\d\d\.\d+\s+\d+ [\w.]+:\d+\] "
    r"|(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[\w./-]+:\d+\] ?"
    r"|\[ *\d+%\] (?=FAILED|ERROR|PASSED|SKIPPED|XFAIL|XPASS|RERUN)"
    r"|(?:#\d+ )?\d{1,4}\.\d{1,3} (?=\D)"
    # A job's and a step's name before each line, as command line clients give it.
    r"|[^\t]{1,120}\t[^\t]{1,80}\t(?=\d{4}-\d\d-\d\dT)"
    r"|time=\"[^\"]*\" level=(?:error|fatal|panic) msg=\"?"
    # Output of a step in a box or set in, where it says what failed.
    r"|[ \t│|╰├─▶>]{2,}(?=(?:(?:[\w.]+\.)?[A-Z]\w*(?:Error|Exception): |[Ee]rror: |ERROR: "
    r"|fatal: |E: |CMake Error|\S+:\d+(?::\d+)?: (?:fatal )?error: ))"
    # The name of a running test stands before what it prints first.
    r"|[\w./\\-]+\.py::[^\s\[]+(?:\[[^\]]*\])? (?=\S)"
    r"(?!.*\b(?:PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS|RERUN)\b)"
    r"|(?P<github>##\[error\])"
    r"|(?P<pytest>E {2,7})(?=\S)"
    r")"
)
# Lines that name something bad without it having happened: a test that passed or was skipped,
# commands and code that is shown, code in a traceback.
_BENIGN = re.compile(
    r"\s*(?:"
    r"(?:PASSED|SKIPPED|XFAIL|XPASS)\b"
    r"|\[ +OK \]|--- PASS:|test \S+ \.\.\. ok"
    r"|\++ (?!\d)\S"
    r"|\[command\]|##\[(?:group|warning|debug|notice|endgroup)\]"
    r"|(?:> +)?(?:raise|assert|with|return|if|elif|except|echo|self\.assert\w+)\b[ (]"
    r"|# |// |\* )"
)
_PASSED_TEST = re.compile(r"::\S.* (?:PASSED|SKIPPED|XFAIL|XPASS)\b")
_FINE_TEST = re.compile(r"\.\.\. (?:ok|skipped\b.*|expected failure)$")
_WARNING = re.compile(
    r"(?:\([^)]*\) )?(?:npm (?:warn|WARN) |(?:WARNING|[Ww]arning|WARN|W)(?:: | \d\d-\d\d ))"
)
_EXPECTED = ("pytest.raises(", "assertRaises")
_SCRIPT = b"\x1b[36;1m"
# Sections of pytest's output by their heading.
_SECTION = re.compile(r"^={3,} (?P<name>[A-Za-z][A-Za-z ]*?)(?: \([^)]*\))? ={3,}$")
# What was run again shows once more among the failures, if it failed in the end.
_QUIET_SECTIONS = frozenset(
    {"PASSES", "RERUNS", "XPASSES", "warnings summary", "slowest durations"}
)


class LogLine(NamedTuple):
    """A line that may matter; ``number`` counts from 1.

    ``text`` is what a person reads, without colours and times; ``body`` is that without what says
    who wrote it, which is ``process`` (empty where it does not say).
    """

    number: int
    text: str
    body: str
    process: str


def log_line(number: int, raw: bytes) -> LogLine | None:
    """Read a line; None where it shows a script that is run, not what came of it."""
    if _SCRIPT in raw[:64]:
        return None
    text = line_text(raw)
    if len(text) > LONGEST:
        text = f"{text[: LONGEST // 2]} [cut] {text[-LONGEST // 2 :]}"
    body, process = _without_prefixes(text)
    return LogLine(number, _without_time(text), body, process)


def is_benign(line: LogLine) -> bool:
    """Whether a line only names a failure: a passed test, a command, a line of code."""
    # What pytest marks with an E happened, even where it looks like code.
    body = line.body
    if line.process == "E":
        return False
    return (
        _BENIGN.match(body) is not None
        or ("::" in body and _PASSED_TEST.search(body) is not None)
        or ("... " in body and _FINE_TEST.search(body) is not None)
        or any(text in body for text in _EXPECTED)
    )


def is_warning(line: LogLine) -> bool:
    """Whether who wrote a line went on after it."""
    return _WARNING.match(line.text) is not None


def section_of(text: str) -> str | None:
    """Name of the section that a heading of pytest begins; None for any other line."""
    if not text.startswith("==="):
        return None
    match = _SECTION.match(text)
    return match["name"] if match else None


def is_quiet(section: str) -> bool:
    """Whether what a section shows is of tests that passed, or of warnings."""
    return section in _QUIET_SECTIONS


_TIME = re.compile(
    r"^\[(?:task|taskcluster) \d{4}-\d\d-\d\d[T ][\d:.]+Z?\] (?:\d\d:\d\d:\d\d(?=\s))?\s*"
    r"|^\[?\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?\]?(?: - |\s+)"
)


def _without_time(text: str) -> str:
    return _TIME.sub("", text, count=1).strip()


def _without_prefixes(text: str) -> tuple[str, str]:
    place, process = 0, ""
    for _ in range(_LAYERS):
        match = _PREFIX.match(text, place)
        if match is None or match.end() == place:
            break
        place = match.end()
        process = (
            match["process"] or match["service"] or match["github"] or match["pytest"] or process
        )
    return text[place:], process.strip()
