"""How well are culprits found? Every figure beside its goal, bisect and the reference search.

    python benchmarks/culprits.py                    # seed 11, as reported; six minutes
    python benchmarks/culprits.py --worlds 200 --only metrics
    python benchmarks/culprits.py --seed 3           # another seed, to tune with

Areas: ``outcomes`` (a run passes or fails) and ``metrics`` (a number steps). Worlds are those of
``culprit_bench.py`` in the ``bench`` folder of the shared inputs; its search is measured beside
ours where that folder is there, bisect with 1, 3 and 8 reruns always. Exit 6 where a goal is not
reached.
"""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from culprit_search import metrics, outcomes
from judging.figure import Figure
from judging.show import shared_folder, show

AREAS = ("outcomes", "metrics")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=11, help="11 for reports; tune with others")
    parser.add_argument("--only", choices=AREAS, action="append", help="repeatable")
    parser.add_argument("--worlds", type=int, default=1000, help="worlds of each kind")
    parser.add_argument("--shared", type=Path, default=shared_folder(), help="the shared inputs")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    parts: dict[str, Callable[[], Sequence[Figure]]] = {
        "outcomes": lambda: outcomes.figures(asked.shared, asked.seed, asked.worlds),
        "metrics": lambda: metrics.figures(asked.seed, asked.worlds),
    }
    show(parts, asked.only or AREAS, as_json=asked.json)


if __name__ == "__main__":
    main()
