"""Lines that no green log has: what to show where no rule knows the failure."""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from gauntlet.analyzer.failures.text import LogLine, is_benign, log_line
from gauntlet.core.files import write_atomic
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.reports.log_text import whole_lines
from gauntlet.warehouse.reports.source import ByteSource, file_chunks

SHOWN = 5
_MOST_BYTES = 16 << 30
_MOST_TEMPLATES = 200_000
_WORDS = 12
_VOLATILE = re.compile(r"\d|[/\\@=]|^[0-9a-f]{6,}$")
_TELLING = re.compile(
    r"(?i)error|fail|fatal|exception|abort|denied|refused|cannot|could not|unable|killed"
    r"|timed? ?out|missing|invalid|not found|panic|crash|unexpected"
)


class GreenTemplates(StrictModel):
    """Templates of the lines of logs that passed, as numbers in hexadecimal."""

    schema_version: Literal[1] = 1
    logs: int
    templates: frozenset[str]


def template(text: str) -> str:
    """Name what lines of one statement have in common: how many words, and the first steady ones.

    Words with digits, paths, addresses and values are left out.
    """
    words = text.split()
    steady = ["*" if _VOLATILE.search(word) else word for word in words[:_WORDS]]
    key = f"{min(len(words), 40)} {' '.join(steady)}"
    return hashlib.blake2b(key.encode(errors="replace"), digest_size=8).hexdigest()


def learn(paths: Iterable[Path]) -> GreenTemplates:
    """Learn from logs that passed, or from files of templates that were saved.

    Raises ConfigError for a file of templates that is broken, UnreadableReportError for a log.
    """
    found: set[str] = set()
    logs = 0
    for path in paths:
        if path.suffix == ".json":
            saved = load_json_model(path, GreenTemplates)
            found |= saved.templates
            logs += saved.logs
            continue
        logs += 1
        for block in whole_lines(ByteSource(file_chunks(path), limit=_MOST_BYTES)):
            found |= {
                template(line.body) for raw in block.split(b"\n") if (line := log_line(1, raw))
            }
            if len(found) > _MOST_TEMPLATES:
                break
    return GreenTemplates(logs=logs, templates=frozenset(found))


def save(templates: GreenTemplates, path: Path) -> None:
    """Write templates to a file. Raises InfrastructureError where the disk refuses."""
    write_atomic(path, json_text(templates))


class Novelty:
    """Looks for lines of one log that green logs do not have."""

    def __init__(self, green: GreenTemplates) -> None:
        self._green = green.templates
        self._seen: dict[str, tuple[float, LogLine]] = {}

    def look(self, block: bytes, first: int) -> None:
        """Look at the next block, whose first line has the number ``first``."""
        for number, raw in enumerate(block.split(b"\n"), first):
            line = log_line(number, raw) if raw else None
            if line is None or not line.body or is_benign(line):
                continue
            name = template(line.body)
            if name in self._green or name in self._seen or len(self._seen) >= _MOST_TEMPLATES:
                continue
            self._seen[name] = (1.0 if _TELLING.search(line.body) else 0.0, line)

    def top(self, most: int = SHOWN) -> tuple[LogLine, ...]:
        """The new lines that say most: those with a word of trouble, the latest first."""
        ranked = sorted(self._seen.values(), key=lambda told: (-told[0], -told[1].number))
        return tuple(line for _, line in ranked[:most])
