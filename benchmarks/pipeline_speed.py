"""How long does it take from a diff to a pipeline, and where does the time go?

Runs the whole command in a process of its own for a one-file diff, on real definitions and on ten
copies of them, interleaved, and reports medians with the range. The anchor in every round is the
bare reading of the same files: an interpreter that imports PyYAML and parses them, with its C
parser and with its Python parser; no generator in this language can be quicker than the first.

    python benchmarks/pipeline_speed.py [--rounds N] [TREE...]
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

SHARED = Path(__file__).resolve().parents[2] / "shared/data"
CHANGED = "M\tvllm/v1/core/sched/scheduler.py\n"
COPIES = 10
_READ = """
import sys, yaml
loader = getattr(yaml, sys.argv[1])
for path in sys.argv[2:]:
    yaml.load(open(path, encoding="utf-8"), Loader=loader)
"""
_STAGES = """
import json, sys, time
marks = [("start", time.perf_counter())]
def mark(name):
    marks.append((name, time.perf_counter()))
from gauntlet.pipelines import decide_command
mark("import")
from pathlib import Path
from gauntlet.pipelines.changes import ChangeSet, parse_changes
from gauntlet.pipelines.decide import DecideRequest
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.fleet import parse_fleet
from gauntlet.pipelines.decide import decide
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.sources import open_source
import gauntlet.pipelines.decide as stage
source = open_source(Path(sys.argv[1]))
request = DecideRequest.from_source(source, ChangeSet(files=parse_changes(sys.argv[2])))
mark("read files")
def timed(name, function):
    def run(*arguments, **options):
        before = time.perf_counter()
        try:
            return function(*arguments, **options)
        finally:
            inside[name] = inside.get(name, 0.0) + time.perf_counter() - before
    return run
inside = {}
for name, attribute in json.loads(sys.argv[3]).items():
    setattr(stage, attribute, timed(name, getattr(stage, attribute)))
before = time.perf_counter()
stage.decide(request)
whole = time.perf_counter() - before
times = {name: b - a for (_, a), (name, b) in zip(marks, marks[1:])}
print(json.dumps(times | inside | {"rest": whole - sum(inside.values())}))
"""
STAGES = {
    "definitions": "parse_definitions",
    "fleet": "parse_fleet",
    "selection": "select",
    "plan": "make_plan",
    "render": "render",
    "schema of steps": "step_problems",
    "checks of graph": "structure_problems",
    "dump YAML": "to_yaml",
}


@dataclass
class Series:
    """Times in seconds and peak memory in MiB of one kind of run."""

    name: str
    command: Sequence[str]
    seconds: list[float] = field(default_factory=list)
    peak_mib: float = 0.0

    def run(self) -> None:
        """Run once."""
        before = time.perf_counter()
        done = _run(self.command)
        self.seconds.append(time.perf_counter() - before)
        if done.returncode != 0:
            msg = f"{self.name}: exit {done.returncode}: {done.stderr[-500:]}"
            raise RuntimeError(msg)

    def measure_memory(self) -> None:
        """Run once more under a child of its own, whose peak is then known."""
        code = (
            "import resource, subprocess, sys;"
            "subprocess.run(sys.argv[1:], stdin=sys.stdin, stdout=subprocess.DEVNULL,"
            " stderr=subprocess.DEVNULL, check=True);"
            "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
        )
        argv = [sys.executable, "-c", code, *self.command]
        done = subprocess.run(argv, input=CHANGED, capture_output=True, text=True, check=True)
        self.peak_mib = int(done.stdout) / 1024


def multiplied(tree: Path, folder: Path, copies: int) -> Path:
    """Make a tree that holds every job file ``copies`` times, every key with a number."""
    config = (tree / ".buildkite/ci_config.yaml").read_text(encoding="utf-8")
    (folder / ".buildkite").mkdir(parents=True)
    (folder / ".buildkite/ci_config.yaml").write_text(config, encoding="utf-8")
    for directory in re.findall(r'"(\.buildkite/[a-z_]+)"', config):
        for path in sorted((tree / directory).rglob("*.yaml")):
            text = path.read_text(encoding="utf-8")
            for number in range(copies):
                target = folder / path.relative_to(tree).with_suffix(f".{number}.yaml")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(_renamed(text, number), encoding="utf-8")
    return folder


def _renamed(text: str, number: int) -> str:
    """Give every key and every dependency of a file its number; labels make keys, too."""
    for pattern, replacement in (
        (r"^(\s*-?\s*key: )(\S+)$", rf"\1\2-{number}"),
        (r'^(- label: "?[^"\n]*)("?)$', rf"\1 {number}\2"),
        (r"^(\s*- )([a-z0-9-]*image-build[a-z0-9-]*)$", rf"\1\2-{number}"),
    ):
        text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
    return text


def _run(argv: Sequence[str]) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(argv, input=CHANGED, capture_output=True, text=True, check=False)


def generate(tree: Path) -> list[str]:
    """The command that is measured."""
    argv = [sys.executable, "-m", "gauntlet", "pipelines", "generate"]
    return [*argv, "--definitions", str(tree), "--changes", "-", "--out", "-"]


def reading(tree: Path, loader: str) -> list[str]:
    """The anchor: an interpreter that only parses the same files."""
    files = [str(path) for path in sorted((tree / ".buildkite").rglob("*.yaml")) if _job(path)]
    return [sys.executable, "-c", _READ, loader, *files]


def _job(path: Path) -> bool:
    return path.parent.name in {"image_build", "test_areas", "hardware_tests"}


def stages(tree: Path, rounds: int) -> dict[str, float]:
    """Median seconds of every stage, inside one process."""
    argv = [sys.executable, "-c", _STAGES, str(tree), CHANGED, json.dumps(STAGES)]
    found = [
        json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)
        for _ in range(rounds)
    ]
    return {name: median(run[name] for run in found) for name in found[0]}


def main() -> None:
    """Measure and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    defaults = [SHARED / "vllm-0.25.0", SHARED / "vllm-0.33.0"]
    parser.add_argument("trees", nargs="*", type=Path, default=defaults)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gauntlet-speed-") as scratch:
        big = {tree: multiplied(tree, Path(scratch) / tree.name, COPIES) for tree in given.trees}
        series = []
        for tree in given.trees:
            for what, command in (
                ("diff to pipeline", generate(tree)),
                (f"the same, {COPIES} x definitions", generate(big[tree])),
                ("anchor, C parser", reading(tree, "CSafeLoader")),
                ("anchor, Python parser", reading(tree, "SafeLoader")),
            ):
                series.append(Series(f"{tree.name}: {what}", command))
        for _ in range(given.rounds):
            for one in series:
                one.run()
        for one in series:
            one.measure_memory()
        print(
            f"{'whole process, one changed file':<44} {'median s':>9} {'range':>15} {'peak MiB':>9}"
        )
        for one in series:
            spread = f"{min(one.seconds):.2f} - {max(one.seconds):.2f}"
            row = f"{one.name:<44} {median(one.seconds):>9.3f} {spread:>15} {one.peak_mib:>9.0f}"
            print(row)
        for tree in given.trees:
            print(f"\nwhere the time goes, {tree.name} (ms)")
            for name, seconds in stages(tree, given.rounds).items():
                print(f"  {name:<20} {seconds * 1000:>7.1f}")


if __name__ == "__main__":
    main()
