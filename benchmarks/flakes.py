"""Breaks, flakes and releases on made-up histories: ours beside Ray's rule and plain LUCI.

    python benchmarks/flakes.py [--histories 400] [--seed 3] [--rates test_results.csv]

Every rule is walked forward: it is asked anew after each run. ``--rates`` is a FlakeFlagger table
(Project,Test,IsFlaky,NumFailingRuns,NumPassingRuns,...), whose flaky tests' rates are then played.
"""

import argparse
import csv
import itertools
import time
from pathlib import Path

import numpy as np

from gauntlet.analyzer.flakes.found import release_rate
from gauntlet.analyzer.flakes.judge import History, Judgement, State, judge
from gauntlet.analyzer.flakes.release_rule import clean_runs_asked, clean_runs_needed
from gauntlet.analyzer.flakes.segments import Bools, best_splits, segments_of
from gauntlet.analyzer.flakes.streaks import opened

Rng = np.random.Generator
Firsts = tuple[int | None, int | None]
RUNS, BREAK_AT, AFTER = 100, 60, 60
NEVER = 99


def state_of(failed: Bools) -> State:
    names = range(len(failed))
    return judge(
        History(failed=tuple(map(bool, failed)), commits=tuple(f"c{n}" for n in names))
    ).state


def ours(failed: Bools) -> Firsts:
    """First run at which it was called broken, and flaky; None where never."""
    broken = flaky = None
    for end in range(3, len(failed) + 1):
        part = failed[:end]
        if broken is not None and flaky is not None:
            break
        # Nothing new can be said after a pass without a failure before it.
        if not part.any():
            continue
        state = state_of(part)
        if state == "broken" and broken is None:
            broken = end
        if state == "flaky" and flaky is None:
            flaky = end
    return broken, flaky


def ray_flaky(failed: Bools) -> bool:
    """Of the newest 30, at least 7 % recoveries, unless the newest 10 all passed."""
    recent = failed[-30:]
    if len(recent) >= 10 and not recent[-10:].any():
        return False
    return bool((recent[:-1] & ~recent[1:]).sum() >= 0.07 * len(recent))


def ray(failed: Bools) -> Firsts:
    pairs = failed[1:] & failed[:-1]
    broken = int(pairs.argmax()) + 2 if pairs.any() else None
    flaky = next((n for n in range(3, len(failed) + 1) if ray_flaky(failed[:n])), None)
    return broken, flaky


def share(values: list[int | None]) -> float:
    return sum(value is not None for value in values) / len(values)


def stationary(rng: Rng, histories: int) -> None:
    print(f"Stationary flakes, {RUNS} runs, {histories} histories: share of histories")
    print(f"{'rate':>6} {'ever broken':>12} {'Ray':>7} {'flagged flaky':>14} {'median at':>10}"
          f" {'Ray':>7} {'LUCI changes':>13}")  # fmt: skip
    for rate in (0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.4):
        drawn = rng.random((histories, RUNS)) < rate
        mine = [ours(row) for row in drawn]
        rays = [ray(row) for row in drawn]
        found = [flaky for _, flaky in mine if flaky]
        luci = np.mean(best_splits(drawn)[1] > 0)
        middle = f"{np.median(found):.0f}" if found else "-"
        print(f"{rate:6.1%} {share([b for b, _ in mine]):12.2%} {share([b for b, _ in rays]):7.1%}"
              f" {share([f for _, f in mine]):14.1%} {middle:>10}"
              f" {share([f for _, f in rays]):7.1%} {luci:13.2%}")  # fmt: skip


def breaks(rng: Rng, histories: int) -> None:
    print(f"\nA break after {BREAK_AT} runs, from one rate to another: runs until it is found")
    print(f"{'from':>6} {'to':>6} {'median':>7} {'mean':>6} {'<=3':>7} {'<=8':>7} {'exact':>7}"
          f" {'in 99 %':>8} {'LUCI median':>12} {'Ray false before':>17}")  # fmt: skip
    for before, after in ((0, 1), (0.02, 1), (0.1, 1), (0.2, 1), (0, 0.8), (0.05, 0.8), (0, 0.3)):
        delays, luci, exact, inside, early = [], [], 0, 0, 0
        for _ in range(histories):
            failed = np.r_[rng.random(BREAK_AT) < before, rng.random(AFTER) < after]
            early += bool((failed[1:BREAK_AT] & failed[: BREAK_AT - 1]).any())
            delay, judged = _delay(failed)
            delays.append(delay)
            if judged is not None and judged.since is not None:
                exact += judged.since == BREAK_AT
                low, high = judged.suspects or (judged.since, judged.since)
                inside += low <= BREAK_AT <= high
            luci.append(_luci_delay(failed))
        delays = np.array(delays)
        print(f"{before:6.0%} {after:6.0%} {np.median(delays):7.0f} {delays.mean():6.1f}"
              f" {np.mean(delays <= 3):7.1%} {np.mean(delays <= 8):7.1%} {exact / histories:7.1%}"
              f" {inside / histories:8.1%} {np.median(luci):12.0f}"
              f" {early / histories:17.1%}")  # fmt: skip


def _delay(failed: Bools) -> tuple[int, Judgement | None]:
    for after in range(1, AFTER + 1):
        names = [f"c{n}" for n in range(BREAK_AT + after)]
        judged = judge(
            History(failed=tuple(map(bool, failed[: BREAK_AT + after])), commits=tuple(names))
        )
        if judged.state == "broken":
            return after, judged
    return NEVER, None


def _luci_delay(failed: Bools) -> int:
    for after in range(1, AFTER + 1):
        changes = segments_of(failed[: BREAK_AT + after]).changes
        if any(abs(change.index - BREAK_AT) <= 3 for change in changes):
            return after
    return NEVER


def releases(rng: Rng, histories: int) -> None:
    print("\nWrongly released from quarantine (the rate is as it was), by 100 runs before it")
    print(f"{'rate':>6} {'n':>5} {'asked, median':>14} {'at once':>8} {'within 300 runs':>16}"
          f" {'n of the true rate':>19} {'10 passes':>10}")  # fmt: skip
    for rate in (0.02, 0.05, 0.1, 0.2, 0.4):
        asked, once, ever, plain, ten, count = [], 0, 0, 0, 0, 0
        n = clean_runs_needed(rate)
        while count < histories:
            failures = int((rng.random(RUNS) < rate).sum())
            if failures < 2:
                continue
            count += 1
            assumed = release_rate(failures, RUNS)
            asked.append(clean_runs_asked(assumed, 0))
            later = rng.random(max(300, asked[-1])) < rate
            once += not later[: asked[-1]].any()
            plain += not later[:n].any()
            ten += not later[:10].any()
            ever += _released(later[:300], assumed)
        print(f"{rate:6.0%} {n:5} {np.median(asked):14.0f} {once / count:8.1%}"
              f" {ever / count:16.1%} {plain / count:19.1%} {ten / count:10.1%}")  # fmt: skip


def _released(failed: Bools, assumed: float) -> bool:
    clean = failures = 0
    for bad in failed:
        clean, failures = (0, failures + 1) if bad else (clean + 1, failures)
        if clean >= clean_runs_asked(assumed, failures):
            return True
    return False


def real_rates(rng: Rng, file: Path, histories: int) -> None:
    with file.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["IsFlaky"] == "1"]
    rates = np.array(
        [int(r["NumFailingRuns"]) / (int(r["NumFailingRuns"]) + int(r["NumPassingRuns"]))
         for r in rows]
    )  # fmt: skip
    print(f"\n{len(rates)} real rates (FlakeFlagger), {RUNS} runs each: by rate of the test")
    print(f"{'rates':>14} {'tests':>6} {'ever broken':>12} {'Ray':>7} {'flagged':>8} {'Ray':>7}")
    edges = (0, 0.01, 0.05, 0.2, 0.5, 1.01)
    for low, high in itertools.pairwise(edges):
        some = rates[(rates > low) & (rates <= high)]
        some = np.repeat(some, max(1, histories // max(1, len(some))))
        drawn = rng.random((len(some), RUNS)) < some[:, None]
        mine, rays = [ours(row) for row in drawn], [ray(row) for row in drawn]
        print(f"{low:6.0%} to {min(high, 1):4.0%} {len(some):6} {share([b for b, _ in mine]):12.2%}"
              f" {share([b for b, _ in rays]):7.1%} {share([f for _, f in mine]):8.1%}"
              f" {share([f for _, f in rays]):7.1%}")  # fmt: skip


def speed(rng: Rng) -> None:
    drawn = rng.random((10_000, RUNS)) < rng.choice([0, 0, 0, 0.01, 0.05, 0.2], (10_000, 1))
    start = time.perf_counter()
    opened(drawn)
    for end in range(2, RUNS + 1):
        best_splits(drawn[:, :end])
    walked = time.perf_counter() - start
    start = time.perf_counter()
    for row in drawn[:2000]:
        state_of(row)
    once = (time.perf_counter() - start) / 2000
    print(f"\n10,000 histories walked through {RUNS} runs: {walked:.1f} s;"
          f" one full judgement: {once * 1e6:.0f} us")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--histories", type=int, default=400)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("--rates", type=Path)
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    stationary(rng, options.histories)
    breaks(rng, max(options.histories // 2, 1))
    releases(rng, options.histories)
    if options.rates:
        real_rates(rng, options.rates, options.histories)
    speed(rng)


if __name__ == "__main__":
    main()
