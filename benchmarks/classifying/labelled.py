"""Real failing logs whose decisive line is marked: are class and line found?"""

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.evidence import Evidence, classify
from gauntlet.analyzer.failures.rules import RuleSet
from gauntlet.warehouse.reports.source import file_chunks

_MARK = b"#=MATCH=# "
_KEY = ("\u2039".encode(), "\u203a".encode())
TOP = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """One log: what is right, and what was found; lines count from 1."""

    name: str
    wanted_class: str
    also: tuple[str, ...]
    found_class: str
    wanted_line: int
    found_line: int | None
    rule: str

    @property
    def class_right(self) -> bool:
        return self.found_class in (self.wanted_class, *self.also)

    @property
    def line_right(self) -> bool:
        return self.wanted_line == self.found_line


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """One log with several error lines: how many are among the first five shown."""

    name: str
    wanted: int
    found: int


def unmarked(data: bytes) -> tuple[bytes, int]:
    """Take the marks out of a log; return it and the number of the line that was marked."""
    number = 0
    lines = data.split(b"\n")
    for index, line in enumerate(lines):
        if line.startswith(_MARK):
            number = index + 1
            without = line.removeprefix(_MARK)
            for key in _KEY:
                without = without.replace(key, b"", 1)
            lines[index] = without
    return b"\n".join(lines), number


def score(folder: Path, rules: RuleSet) -> list[Scored]:
    """Classify every log of ``labels.csv``; ``also`` names classes that are right too."""
    found = []
    with (folder / "labels.csv").open(newline="", encoding="utf-8") as stream:
        labels = list(csv.DictReader(stream))
    for label in labels:
        name = f"{label['log'].removesuffix('.txt')}.txt"
        data, line = unmarked((folder / "logs" / name).read_bytes())
        told = classify(Evidence(scan=scan([data], rules)))
        found.append(
            Scored(
                name=name.removesuffix(".txt"),
                wanted_class=label["class"],
                also=tuple(filter(None, (label.get("also") or "").split("|"))),
                found_class=told.failure_class,
                wanted_line=line,
                found_line=told.line,
                rule=told.rule,
            )
        )
    return found


def score_error_lines(folder: Path, rules: RuleSet) -> list[Candidates]:
    """Logs with their expected error lines in ``NAME.logview.json``: are those shown?"""
    found = []
    for path in sorted(folder.glob("*.logview.json")):
        name = path.name.removesuffix(".logview.json")
        errors = json.loads(path.read_text())["errors"]
        shown = scan(file_chunks(folder / f"{name}.log.gz"), rules).candidates(TOP)
        # The samples count lines from 0 or from 1, by their age: text says which line is meant.
        wanted = {(error["linenumber"], _words(error["line"])) for error in errors}
        hits = [
            line for line, text in wanted
            if any(abs(f.line.number - line) <= 1 and _words(f.line.text) == text for f in shown)
        ]  # fmt: skip
        found.append(Candidates(name=name, wanted=min(len(wanted), TOP), found=len(hits)))
    return found


def _words(text: str) -> str:
    """The words of a line without the time of the harness, in bounded length."""
    return re.sub(r"^\d\d:\d\d:\d\d", "", text).strip()[:200]
