"""How fast does a test report become rows, and how fast could it be with other parsers?

Writes a report of pytest's shape (one line, parametrised ids, a millisecond clock) from a seed,
once with nothing but passing tests and once with 5 % skipped and 1 % failed ones, and reads it
with every parser in turn, round after round. The others only collect what ours collects of a
plain case, a node id, a duration and an outcome; they do not look for bad values, repeated
suites, broken text or dialects. "Start handler" is the floor of any reader over expat in this
language: it keeps the attributes of every element and does nothing with them.

    python benchmarks/junit_parse.py                    # 300,000 cases, medians of 5
    python benchmarks/junit_parse.py --cases 50000 --rounds 3

Times are the processor's (user and system), so that other work on the machine counts less. The
lower table is what a report costs until it is the bytes that ClickHouse reads; "known tests" is
the same with node ids that this process has seen before, as in all but the first builds.
"""

import argparse
import io
import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from statistics import median
from typing import ClassVar
from uuid import UUID
from xml.etree import ElementTree as ET
from xml.parsers import expat

from lxml import etree

from gauntlet.warehouse.reports import nodes
from gauntlet.warehouse.reports.block import JobContext, report_batch
from gauntlet.warehouse.reports.junit import parse_junit

CHUNK = 1 << 18
NOW = datetime(2026, 7, 1, 12, tzinfo=UTC)
JOB = JobContext(
    job_id=UUID(int=1),
    repository="vllm-project/vllm",
    sha="a" * 40,
    branch="main",
    job_key="kernels-attention",
    queue="h200",
    started_at=NOW,
)
FAILED = (
    '<failure message="AssertionError: assert 1 == 2&#10; +  where 1 = f()">def test():\n'
    "&gt;   assert f() == 2\nE   assert 1 == 2\n"
    + "x = y\n" * 40
    + "tests/a.py:12: AssertionError</failure>"
)
SKIPPED = '<skipped type="pytest.skip" message="needs 2 GPUs">tests/a.py:17: needs 2</skipped>'
Columns = tuple[list[str], list[float], Counter[str]]


def make_report(cases: int, others: float, seed: int = 1) -> bytes:
    """Write a report; ``others`` is the share of tests that did not pass."""
    rng = random.Random(seed)
    begin = (
        '<?xml version="1.0" encoding="utf-8"?><testsuites name="pytest tests"><testsuite'
        f' name="pytest" errors="0" failures="0" skipped="0" tests="{cases}" time="1234.5"'
        ' timestamp="2026-07-01T10:00:00.123456+00:00" hostname="gpu-3">'
    )
    parts = [begin]
    for number in range(cases):
        name = f"test_rotary_{number // 16 % 25}[dtype{number % 3}-{number % 16}-cuda:0-True-128]"
        head = (
            f'<testcase classname="tests.kernels.attention.test_module_{number // 400}"'
            f' name="{name}" time="{rng.expovariate(10):.3f}"'
        )
        draw = rng.random() if others else 1.0
        if draw < others:
            inside = FAILED if draw < others / 6 else SKIPPED
            parts.append(f"{head}>{inside}</testcase>")
        else:
            parts.append(f"{head} />")
    parts.append("</testsuite></testsuites>")
    return "".join(parts).encode()


def chunks(data: bytes) -> Iterator[bytes]:
    return (data[start : start + CHUNK] for start in range(0, len(data), CHUNK))


def ours(data: bytes) -> Columns:
    report = parse_junit(chunks(data), now=NOW)
    return report.nodeids, report.durations_ms.tolist(), Counter(report.counts())


def ours_expat(data: bytes) -> Columns:
    report = parse_junit(chunks(data), now=NOW, only_expat=True)
    return report.nodeids, report.durations_ms.tolist(), Counter(report.counts())


class Target:
    """Collects columns from the events of a parser."""

    WORDS: ClassVar = {"skipped": "skipped", "failure": "failed", "error": "error"}

    def __init__(self) -> None:
        self.nodeids: list[str] = []
        self.seconds: list[float] = []
        self.others: Counter[str] = Counter()

    def start(self, tag: str, attrib: dict[str, str]) -> None:
        if tag == "testcase":
            self.nodeids.append(f"{attrib['classname']}::{attrib['name']}")
            self.seconds.append(float(attrib["time"]))
        elif tag in self.WORDS:
            self.others[self.WORDS[tag]] += 1

    def close(self) -> Columns:
        passed = Counter(passed=len(self.nodeids) - self.others.total())
        return self.nodeids, self.seconds, passed + self.others


def start_handler(data: bytes) -> Columns:
    parser = expat.ParserCreate()
    found: list[dict[str, str]] = []
    keep = found.append
    parser.StartElementHandler = lambda _name, attributes: keep(attributes)
    for chunk in chunks(data):
        parser.Parse(chunk, False)
    parser.Parse(b"", True)
    return [], [], Counter()


def expat_target(data: bytes) -> Columns:
    parser = expat.ParserCreate()
    target = Target()
    parser.StartElementHandler = target.start
    for chunk in chunks(data):
        parser.Parse(chunk, False)
    parser.Parse(b"", True)
    return target.close()


def lxml_target(data: bytes) -> Columns:
    parser = etree.XMLParser(target=Target(), huge_tree=True)
    for chunk in chunks(data):
        parser.feed(chunk)
    found: Columns = parser.close()
    return found


def lxml_iterparse(data: bytes) -> Columns:
    target = Target()
    for _, element in etree.iterparse(io.BytesIO(data), events=("end",), huge_tree=True):
        target.start(element.tag, element.attrib)
        element.clear(keep_tail=True)
    return target.close()


def lxml_tree(data: bytes) -> Columns:
    target = Target()
    for element in etree.fromstring(data, etree.XMLParser(huge_tree=True)).iter():
        target.start(element.tag, element.attrib)
    return target.close()


def etree_tree(data: bytes) -> Columns:
    target = Target()
    for element in ET.fromstring(data).iter():  # noqa: S314 - written above
        target.start(element.tag, element.attrib)
    return target.close()


READERS: dict[str, Callable[[bytes], Columns]] = {
    "ours": ours,
    "ours, expat alone": ours_expat,
    "expat, start handler": start_handler,
    "expat, columns": expat_target,
    "lxml, target": lxml_target,
    "lxml, iterparse": lxml_iterparse,
    "lxml, tree": lxml_tree,
    "xml.etree, tree": etree_tree,
}


def stages(data: bytes, *, known: bool) -> dict[str, float]:
    """Processor seconds of parsing and of encoding one report."""
    if not known:
        nodes.forget_names()
    before = time.process_time()
    report = parse_junit(chunks(data), now=NOW)
    parsed = time.process_time()
    report_batch([(JOB, report)], source="junit", now=NOW)
    encoded = time.process_time()
    return {"parse": parsed - before, "encode": encoded - parsed, "all": encoded - before}


def measure(data: bytes, cases: int, rounds: int) -> None:
    times: dict[str, list[float]] = {name: [] for name in READERS}
    counts: dict[str, Counter[str]] = {}
    whole: dict[tuple[bool, str], list[float]] = {}
    for _ in range(rounds):
        for name, read in READERS.items():
            before = time.process_time()
            found = read(data)
            times[name].append(time.process_time() - before)
            counts[name] = found[2]
            del found
        for known in (False, True):
            for stage, seconds in stages(data, known=known).items():
                whole.setdefault((known, stage), []).append(seconds)
    assert all(found == counts["ours"] for found in counts.values() if found)
    print(f"{'reader':<22}{'us/row':>8}{'range':>14}{'rows/s':>12}{'MB/s':>7}")
    for name, seconds in times.items():
        middle = median(seconds)
        spread = f"{min(seconds) / cases * 1e6:.2f}-{max(seconds) / cases * 1e6:.2f}"
        print(
            f"{name:<22}{middle / cases * 1e6:>8.2f}{spread:>14}"
            f"{cases / middle:>12,.0f}{len(data) / middle / 1e6:>7.0f}"
        )
    for known in (False, True):
        print(
            f"{'known tests' if known else 'new tests':<22}"
            + ", ".join(
                f"{stage} {median(whole[known, stage]) / cases * 1e6:.2f}"
                for stage in ("parse", "encode", "all")
            )
            + " us/row"
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for what, others in (("all passed", 0.0), ("6 % did not pass", 0.06)):
        data = make_report(given.cases, others)
        print(f"\n{what}: {given.cases:,} cases, {len(data) / 1e6:.1f} MB, {given.rounds} rounds")
        measure(data, given.cases, given.rounds)


if __name__ == "__main__":
    main()
