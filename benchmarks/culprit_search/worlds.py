"""Ranges of commits with a known culprit, or none; and how others look for it."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

MOST_RUNS = 400


@dataclass
class World:
    """Commits 1 … n; a run fails with ``broken`` from ``culprit`` on and with ``flake`` before.

    ``culprit`` n + 1: nobody. The same draws in the same order as ``culprit_bench.py``.
    """

    rng: np.random.Generator
    n: int
    flake: float
    broken: float
    culprit: int
    runs: int = 0

    @classmethod
    def made(cls, seed: int, n: int, flake: float, broken: float, number: int) -> "World":
        rng = np.random.default_rng([seed, n, int(flake * 100), int(broken * 100), number])
        nobody = rng.random() < (0.2 if flake else 0.0)
        culprit = n + 1 if nobody else int(rng.integers(1, n + 1))
        return cls(rng, n, flake, broken, culprit)

    def run(self, place: int) -> bool:
        """Whether a run fails."""
        self.runs += 1
        return bool(self.rng.random() < (self.broken if place >= self.culprit else self.flake))


def bisect(world: World, reruns: int) -> int:
    """Bisect, with a commit bad only where all ``reruns`` attempts fail; the last commit first."""

    def bad(place: int) -> bool:
        return all(world.run(place) for _ in range(reruns))

    if not bad(world.n):
        return world.n + 1
    good, worse = 0, world.n
    while worse - good > 1:
        middle = (good + worse) // 2
        good, worse = (good, middle) if bad(middle) else (middle, worse)
    return worse


def reference(shared: Path) -> Callable[..., int] | None:
    """The reference search of the shared inputs; None without them."""
    file = shared / "bench" / "culprit_bench.py"
    if not file.is_file():
        return None
    spec = importlib.util.spec_from_file_location("culprit_bench", file)
    assert spec is not None
    assert spec.loader is not None
    module = ModuleType("culprit_bench")
    spec.loader.exec_module(module)

    def search(world: World, flake: float, broken: float, stop: float) -> int:
        module_world = _Seen(world)
        found: int = module.facf(module_world, flake, broken, stop=stop)
        return found

    return search


class _Seen:
    """A world by the names of the reference."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.n = world.n

    @property
    def runs(self) -> int:
        return self._world.runs

    def run(self, place: int) -> bool:
        return self._world.run(place)
