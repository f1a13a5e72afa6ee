"""How good are the judges? Prints every figure beside its goal and beside other programs.

    python benchmarks/judge.py                        # seed 7, as reported in docs/explanation
    python benchmarks/judge.py --seed 3 --only changes
    python benchmarks/judge.py --anchor-python .venv-anchors/bin/python

Areas: ``changes`` (change points), ``sides`` (candidate against baseline), ``accuracy``, and
``shared_ab`` (the latter two beside ``ab_bench.py``). ``changes`` and ``shared_ab`` score on the
``bench`` folder of the shared inputs, and are skipped without it. Other programs' detectors (otava,
asv, ruptures) pin what this project does not: they run under a Python of their own that has them
(``pip install numpy scipy``, then ``pip install --no-deps apache-otava ruptures asv asv_runner
json5 importlib_metadata lazy-importer zipp tabulate``). Nothing else should run on the machine:
times are among the figures. Exit 6 where a goal is not reached.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from judging import accuracy, changes, shared_ab, sides
from judging.figure import Figure
from judging.show import shared_folder, show

AREAS = ("changes", "sides", "accuracy", "shared_ab")
ANCHORS = ("otava", "asv", "pelt_rbf", "binseg_l2", "zscore5", "pct5")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=7, help="7 for reports; tune with others")
    parser.add_argument("--only", choices=AREAS, action="append", help="repeatable")
    parser.add_argument("--series", type=int, default=200, help="series of each scenario")
    parser.add_argument("--releases", type=int, default=1000, help="simulated releases")
    parser.add_argument("--trials", type=int, default=2000, help="simulated evals")
    parser.add_argument("--anchors", default=",".join(ANCHORS), help="detectors to run beside ours")
    parser.add_argument("--anchor-python", help="a Python that has them; none: ours alone")
    parser.add_argument("--shared", type=Path, default=shared_folder(), help="the shared inputs")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    anchors = [name for name in asked.anchors.split(",") if name]
    parts: dict[str, Callable[[], Sequence[Figure]]] = {
        "changes": lambda: changes.figures(
            asked.shared, asked.seed, asked.series, anchors, asked.anchor_python
        ),
        "sides": lambda: sides.figures(asked.seed, asked.releases),
        "accuracy": lambda: accuracy.figures(asked.seed, asked.trials),
        "shared_ab": lambda: shared_ab.figures(asked.shared, asked.seed, asked.releases),
    }
    needs = {
        "changes": changes.bench_file(asked.shared),
        "shared_ab": shared_ab.bench_file(asked.shared),
    }
    show(parts, asked.only or AREAS, as_json=asked.json, needs=needs)


if __name__ == "__main__":
    main()
