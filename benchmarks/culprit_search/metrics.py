"""How often, and in how many runs, a step of a number is located exactly."""

from collections.abc import Sequence

import numpy as np
from judging.figure import Figure

from gauntlet.analyzer.culprits.metric import Levels, MetricSearch

SIZES = (16, 32, 64)
STEP, NOISE, MOST_RUNS, STOP = 0.03, 0.02, 40, 0.95
GOAL = 0.90
# Half of the hosts are this much slower.
HOST = 0.05


def figures(seed: int, worlds: int) -> Sequence[Figure]:
    """A 3 % step at a coefficient of variation of 2 %, within 40 runs."""
    found = []
    for n in SIZES:
        for name, known, hosts, reference in (
            ("levels known", True, False, False),
            ("levels unknown", False, False, False),
            ("hosts differ, no reference", True, True, False),
            ("hosts differ, a reference run beside each", True, True, True),
        ):
            right, runs = _measure(seed, n, worlds, known=known, hosts=hosts, reference=reference)
            asked = name == "levels known"
            where = f"{n} commits: {name}"
            note = f"step 3 %, CoV 2 %, at most {MOST_RUNS} runs at commits, {worlds} worlds"
            goal = GOAL if asked else None
            found += [
                Figure(area="metrics", name=f"{where}: right", value=right, goal=goal, note=note),
                Figure(area="metrics", name=f"{where}: runs", value=runs, better="lower"),
            ]
    return found


def _measure(
    seed: int, n: int, worlds: int, *, known: bool, hosts: bool, reference: bool
) -> tuple[float, float]:
    def draw(rng: np.random.Generator, after: bool) -> tuple[float, float]:
        offset = HOST * rng.integers(0, 2) if hosts else 0.0
        value = offset + rng.normal(STEP if after else 0.0, NOISE)
        return value, offset + rng.normal(0.0, NOISE) if reference else 0.0

    right = total = 0
    for number in range(worlds):
        rng = np.random.default_rng([seed, n, number])
        culprit = int(rng.integers(1, n + 1))
        noise = NOISE * (2**0.5 if reference else 1)
        levels = Levels(before=0.0, after=STEP, sd=noise) if known else None
        search = MetricSearch((1.0,) * n, levels, nobody=0.05, before=0.01)
        runs = 0

        for place in () if known else (0, n) * 3:
            search.record(place, *draw(rng, place >= culprit))
            runs += 1
        while runs < MOST_RUNS and search.standing().probability < STOP:
            place = search.next_probes()[0]
            search.record(place, *draw(rng, place >= culprit))
            runs += 1
        standing = search.standing()
        right += (standing.ending, standing.first) == ("culprit", culprit)
        total += runs
    return right / worlds, total / worlds
