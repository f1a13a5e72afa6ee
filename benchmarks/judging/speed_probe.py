"""CPU time of one detector: ``speed_probe.py BENCH DETECTOR`` prints milliseconds by length.

Runs under any Python, ours or that of another program: it needs numpy and the detector only.
"""

import importlib.util
import json
import sys
import time

import numpy as np

WARM, LEAST_S = 3, 1.0


def main() -> None:
    """Time the detector on series with a step and without."""
    spec = importlib.util.spec_from_file_location("bench", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    bench = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(bench)
    detect = bench.load(sys.argv[2])
    found = {}
    for points in (60, 500):
        rng = np.random.default_rng(4)
        series = [list(1000 * (1 + rng.normal(0, 0.02, points))) for _ in range(20)]
        for values in series[::2]:
            for at in range(points // 3, points):
                values[at] *= 1.05
        for values in series[:WARM]:
            detect(values)
        times = []
        begun = time.process_time()
        while time.process_time() - begun < LEAST_S or len(times) < len(series):
            values = series[len(times) % len(series)]
            before = time.process_time()
            detect(values)
            times.append(time.process_time() - before)
            if len(times) >= 2 and sum(times) > 60:
                break
        whole = times[: len(times) - len(times) % 2] or times
        found[str(points)] = 1000 * sum(whole) / len(whole)
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
