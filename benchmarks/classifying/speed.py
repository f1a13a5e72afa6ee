"""Lines a second on one core, beside every expression on every line."""

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.evidence import Evidence, classify
from gauntlet.analyzer.failures.rules import RuleSet
from gauntlet.warehouse.reports.log_text import read_line

_CHUNK = 1 << 18
_NAIVE_LINES = 20_000


def made_log(lines: int, seed: int) -> bytes:
    """A long log of a test job: progress, chatter, warnings, and a failure near its end."""
    draw = random.Random(seed)
    kinds = (
        lambda n: f"tests/unit/test_{n % 97}.py::test_case[{n}-bf16] PASSED [ {n % 100}%]",
        lambda n: (
            f"INFO 01-02 03:04:05 [loggers.py:{n % 300}] Engine 000: throughput {n}.5 tokens/s"
        ),
        lambda n: f"#12 {n}.3 Requirement already satisfied: package-{n % 40} in /usr/lib",
        lambda n: f"[{n}/9999] Building CXX object CMakeFiles/engine.dir/part_{n % 500}.cpp.o",
        lambda n: f"2026-01-02T03:04:05.{n % 1000:03d}Z worker {n % 8}: step {n} took 12.5 ms",
        lambda n: f"(EngineCore pid={n % 70}) INFO 01-02 03:04:05 [core.py:77] step {n}",
        lambda n: f"WARNING: retry {n % 3} of shard {n}: error budget is not spent",
    )
    weights = (30, 20, 12, 15, 10, 10, 3)
    made = [
        draw.choices(kinds, weights)[0](draw.randrange(1_000_000))
        for _ in range(min(lines, 50_000))
    ]
    body = [made[index % len(made)] for index in range(lines - 3)]
    end = ["E   ValueError: shapes differ", "FAILED tests/test_x.py::test_y - ValueError", "==="]
    return ("\n".join(body + end) + "\n").encode()


def lines_per_second(data: bytes, rules: RuleSet, passes: int) -> float:
    """Median over passes; reading, rules and verdict are all in it."""
    count = data.count(b"\n")

    def once() -> None:
        pieces = (data[start : start + _CHUNK] for start in range(0, len(data), _CHUNK))
        classify(Evidence(scan=scan(pieces, rules)))

    return count / statistics.median(_seconds(once) for _ in range(passes))


def naive_lines_per_second(data: bytes, rules: RuleSet) -> float:
    """Every expression on every line, of the first lines of the same log."""
    lines = data.split(b"\n", _NAIVE_LINES)[:_NAIVE_LINES]

    def once() -> None:
        for raw in lines:
            text = read_line(raw).text
            for rule in rules.rules:
                rule.pattern.search(text)

    return len(lines) / _seconds(once)


def joined_logs(folder: Path, at_least: int) -> bytes:
    """Real logs one after the other, again and again, until there are enough lines."""
    paths = sorted(folder.glob("*.txt"))
    once = b"\n".join(path.read_bytes() for path in paths)
    return once * (at_least // max(1, once.count(b"\n")) + 1)


def _seconds(work: Callable[[], None]) -> float:
    begun = time.process_time()
    work()
    return time.process_time() - begun
