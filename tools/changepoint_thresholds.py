"""Compute the table of ``analyzer/changepoints/thresholds.py`` (some ten minutes); prints it.

Run it again whenever scores, windows or the scan change: the limits are theirs.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from gauntlet.analyzer.changepoints import thresholds
from gauntlet.analyzer.changepoints.scores import scores_of
from gauntlet.analyzer.changepoints.windows import best_split


def excesses(task: tuple[int, int, int]) -> list[float]:
    """Best excess of ``series`` noise series of one length."""
    length, series, seed = task
    rng = np.random.default_rng([seed, length])
    return [best_split(*scores_of(rng.normal(size=length))).excess for _ in range(series)]


def main() -> None:
    """Print length, quantile, smoothed quantile (which the table holds) and series."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--series", type=int, default=20_000, help="noise series of each length")
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    lengths = thresholds._LENGTHS
    tasks = [
        (length, max(2_000, asked.series * 60 // max(length, 60)) // 4, asked.seed + part)
        for length in lengths
        for part in range(4)
    ]
    with ProcessPoolExecutor(2) as pool:
        parts = list(pool.map(excesses, tasks))
    counts = [sum(map(len, parts[4 * at : 4 * at + 4])) for at in range(len(lengths))]
    raw = [
        float(np.quantile(np.concatenate(parts[4 * at : 4 * at + 4]), 1 - thresholds.FALSE_ALARMS))
        for at in range(len(lengths))
    ]
    # Few long series give uncertain quantiles: a parabola in the logarithm goes through them all.
    logs = np.log(lengths)
    smooth = np.polyval(np.polyfit(logs, raw, 2, w=np.sqrt(counts)), logs)
    for length, found, drawn, count in zip(lengths, raw, smooth, counts, strict=True):
        sys.stdout.write(f"{length:6} {found:.2f} {drawn:.2f}  ({count} series)\n")


if __name__ == "__main__":
    main()
