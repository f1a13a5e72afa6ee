"""How many shards does a long job need, and how long does the slowest take?

Makes test suites like real ones from seeds: 200 to 5,000 tests in 20 to 200 files, log-normal
durations, files that set up a fixture of their own (a model, a server), noise from run to run, and
a few tests that were never measured. Each way of sharing out sees the durations of earlier runs;
"slowest" and "met" come from a run that none of them has seen, in which every part of a file sets
up the file's fixture again.

    python benchmarks/sharding.py                       # 40 suites, seeds 1000 to 1039
    python benchmarks/sharding.py --seeds 5:25 --target 15

Ways: ours; equal counts of tests in the order of collection; whole files in order, a new shard
where the next file would pass the budget (150 s for a file never measured); a hash of the id.
All get the same estimates and the same budget: the target less the overhead. Equal counts and the
hash choose no number of shards: they get the smallest with which the estimates meet the target
(60 where none does), and in the last columns the number that ours chose. Shards and minutes of the
slowest are medians over the suites; "met" is the share of suites whose slowest shard kept within
the target. "Fewest" is the share of our plans that provably have the fewest shards.
"""

import argparse
import hashlib
import random
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from statistics import mean, median

from gauntlet.pipelines.sharding.estimate import Place, estimate
from gauntlet.pipelines.sharding.inventory import CollectedCommand, Inventory
from gauntlet.pipelines.sharding.planner import ShardPolicy, decide_inventory
from gauntlet.pipelines.timings import Timings

UNKNOWN_FILE_S = 150
MOST_SHARDS = 60
RUNS, UNKNOWN, NOISE = 6, 0.03, 0.12
OVERHEAD_S = 120.0

Shards = list[list[str]]


@dataclass(frozen=True)
class Suite:
    """Tests in the order of collection, past durations, and a run that nobody has seen."""

    tests: list[str]
    past: dict[str, tuple[float, ...]]
    coming: dict[str, float]
    setup: dict[str, float]


def make_suite(seed: int) -> Suite:
    rng = random.Random(seed)
    count = round(200 * 25 ** rng.random())
    files = min(count // 2, round(20 * 10 ** rng.random()))
    hours = rng.uniform(0.8, 3.5)
    weights = [rng.lognormvariate(0, 1.1) for _ in range(files)]
    sizes = defaultdict(int)
    for number in [*range(files), *rng.choices(range(files), weights, k=count - files)]:
        sizes[number] += 1
    typical, setup = {}, {}
    for number in range(files):
        name = f"tests/d{number % 7}/test_{number}.py"
        # Tests of one file resemble each other, and ids of one function even more.
        file_scale = rng.lognormvariate(0, 0.9)
        setup[name] = rng.lognormvariate(3, 0.8) if rng.random() < 0.3 else 0.0
        done, function = 0, 0
        while done < sizes[number]:
            ids = min(sizes[number] - done, rng.choice([1, 1, 1, 2, 4, 8, 24]))
            scale = file_scale * rng.lognormvariate(0, 0.8)
            for parameter in range(ids):
                node_id = f"{name}::test_{function}[{parameter}]"
                typical[node_id] = scale * rng.lognormvariate(0, 0.4)
            done, function = done + ids, function + 1
    stretch = hours * 3600 / sum(typical.values())
    # No test of such a job takes more than a quarter of an hour.
    typical = {node_id: min(t * stretch, 900.0) for node_id, t in typical.items()}

    def one_run() -> dict[str, float]:
        machine = exp(rng.gauss(0, 0.03))
        run = {n: t * machine * exp(rng.gauss(0, NOISE)) for n, t in typical.items()}
        return {n: t * 3 if rng.random() < 0.002 else t for n, t in run.items()}

    first = {}
    for node_id in typical:
        first.setdefault(Place.of(node_id).file, node_id)
    runs = [one_run() for _ in range(RUNS)]
    for run in runs:
        # pytest books a file's set-up on the first test that runs.
        for name, node_id in first.items():
            run[node_id] += setup[name]
    past = {n: tuple(run[n] for run in runs) for n in typical if rng.random() > UNKNOWN}
    return Suite(tests=list(typical), past=past, coming=one_run(), setup=setup)


def estimated(suite: Suite) -> dict[str, float]:
    """Seconds per test, the same for every way."""
    keys = [(0, node_id) for node_id in suite.tests]
    found = estimate(keys, Timings(schema_version=1, tests=suite.past))
    return {node_id: ms / 1000 for (_, node_id), ms in found.ms.items()}


def slowest(suite: Suite, shards: Shards) -> float:
    """Seconds of the slowest shard in the run to come."""
    return max(
        OVERHEAD_S
        + sum(suite.coming[node_id] for node_id in shard)
        + sum(suite.setup[name] for name in {Place.of(node_id).file for node_id in shard})
        for shard in shards
    )


def ours(suite: Suite, target: float) -> tuple[Shards, bool] | None:
    policy = ShardPolicy(target_s=target, overhead_s=OVERHEAD_S, max_shards=MOST_SHARDS)
    call = CollectedCommand(index=0, argv=("tests",), node_ids=tuple(suite.tests))
    inventory = Inventory(schema_version=1, commands=(call,))
    timings = Timings(schema_version=1, tests=suite.past)
    plan = decide_inventory(inventory, timings, policy).plan
    if plan is None:
        return None
    shards = [[node_id for _, node_id in shard.tests()] for shard in plan.shards]
    return shards, plan.provably_fewest


def equal_counts(suite: Suite, count: int) -> Shards:
    size = len(suite.tests)
    edges = [size * n // count for n in range(count + 1)]
    return [suite.tests[a:b] for a, b in pairwise(edges)]


def by_hash(suite: Suite, count: int) -> Shards:
    shards: Shards = [[] for _ in range(count)]
    for node_id in suite.tests:
        digest = hashlib.sha256(node_id.encode()).hexdigest()
        shards[int(digest, 16) % count].append(node_id)
    return [shard for shard in shards if shard]


def contiguous_files(suite: Suite, target: float) -> Shards:
    files: dict[str, list[str]] = defaultdict(list)
    for node_id in suite.tests:
        files[Place.of(node_id).file].append(node_id)
    estimates = estimated(suite)
    shards: Shards = [[]]
    load = 0.0
    for tests in files.values():
        known = any(node_id in suite.past for node_id in tests)
        seconds = sum(estimates[node_id] for node_id in tests) if known else UNKNOWN_FILE_S
        if shards[-1] and load + seconds > target - OVERHEAD_S:
            shards.append([])
            load = 0.0
        shards[-1] += tests
        load += seconds
    return shards


def smallest(suite: Suite, target: float, way: Callable[[Suite, int], Shards]) -> Shards:
    """The way with the smallest number of shards whose estimates meet the target."""
    estimates = estimated(suite)
    for count in range(1, MOST_SHARDS + 1):
        shards = way(suite, count)
        if max(sum(map(estimates.__getitem__, s)) for s in shards) <= target - OVERHEAD_S:
            break
    return shards


@dataclass(frozen=True)
class Row:
    shards: int
    slowest: float
    same: float | None = None
    fewest: bool | None = None


def measure(seed: int, target: float) -> dict[str, Row] | None:
    suite = make_suite(seed)
    planned = ours(suite, target)
    if planned is None:
        return None
    mine, fewest = planned
    rows = {"ours": Row(len(mine), slowest(suite, mine), slowest(suite, mine), fewest)}
    packed = contiguous_files(suite, target)
    rows["whole files in order"] = Row(len(packed), slowest(suite, packed))
    for name, way in (("equal counts", equal_counts), ("hash of the id", by_hash)):
        shards = smallest(suite, target, way)
        same = slowest(suite, way(suite, len(mine)))
        rows[name] = Row(len(shards), slowest(suite, shards), same)
    return rows


def show(results: list[dict[str, Row]], target: float) -> None:
    titles = ("shards", "(mean)", "slowest", "met", "slowest, met with our number")
    print(f"{'way':<22}{titles[0]:>8}{titles[1]:>8}{titles[2]:>10}{titles[3]:>6}{titles[4]:>32}")
    for name in results[0]:
        rows = [result[name] for result in results]
        met = mean(row.slowest <= target for row in rows)
        print(
            f"{name:<22}{median(row.shards for row in rows):>8.1f}"
            f"{mean(row.shards for row in rows):>8.1f}"
            f"{median(row.slowest for row in rows) / 60:>10.1f}{met:>6.0%}",
            end="",
        )
        same = [row.same for row in rows if row.same is not None]
        if same:
            met = mean(value <= target for value in same)
            print(f"{median(same) / 60:>25.1f}{met:>7.0%}", end="")
        print()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", default="1000:1040", metavar="FROM:TO", help="TO is left out")
    parser.add_argument("--target", type=float, default=20, metavar="MIN")
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    target = given.target * 60
    measured = [measure(seed, target) for seed in range(first, last)]
    results = [result for result in measured if result is not None]
    without = len(measured) - len(results)
    print(f"{len(results)} suites, target {given.target:g} min; {without} without a plan")
    if results:
        show(results, target)
        print(f"fewest: {mean(bool(result['ours'].fewest) for result in results):.0%}")


if __name__ == "__main__":
    main()
