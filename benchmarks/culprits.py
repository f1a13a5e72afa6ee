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
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

from culprit_search import metrics, outcomes
from judge import _shared, _table
from judging.figure import Figure

AREAS = ("outcomes", "metrics")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, default=11, help="11 for reports; tune with others")
    parser.add_argument("--only", choices=AREAS, action="append", help="repeatable")
    parser.add_argument("--worlds", type=int, default=1000, help="worlds of each kind")
    parser.add_argument("--shared", type=Path, default=_shared(), help="the shared inputs")
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    parts: dict[str, Callable[[], Sequence[Figure]]] = {
        "outcomes": lambda: outcomes.figures(asked.shared, asked.seed, asked.worlds),
        "metrics": lambda: metrics.figures(asked.seed, asked.worlds),
    }
    found: list[Figure] = []
    for area in asked.only or AREAS:
        begun = time.monotonic()
        figures = parts[area]()
        found += figures
        if not asked.json:
            print(f"\n{area}, {time.monotonic() - begun:.0f} s")
            print("\n".join(_table(figures)), flush=True)
    if asked.json:
        print(json.dumps([asdict(figure) | {"met": figure.met} for figure in found], indent=2))
    missed = [figure.name for figure in found if figure.met is False]
    if missed:
        sys.stdout.flush()
        print(f"not reached: {'; '.join(missed)}", file=sys.stderr)
        sys.exit(6)


if __name__ == "__main__":
    main()
