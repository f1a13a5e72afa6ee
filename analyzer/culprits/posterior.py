"""What a posterior over commits says: the likeliest answer, and how many commits remain."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

Values = npt.NDArray[np.float64]
Ending = Literal["culprit", "range", "nobody", "before"]

TINY = 1e-300


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What is believed after the runs so far: commits ``first`` … ``last`` are likeliest.

    They are more than one where none between them can be run. ``nobody``: no commit broke it;
    ``before``: the good commit, or what lies before it, is broken as well.
    """

    ending: Ending
    first: int
    last: int
    probability: float


class Posterior(ABC):
    """Hypotheses 0 … n + 1: "broken since commit c"; 0 is before the range, n + 1 is nobody."""

    def __init__(self, n: int) -> None:
        """Start with no run. Raises ValueError for a range without a commit."""
        if n < 1:
            msg = "a search needs at least one commit"
            raise ValueError(msg)
        self.n = n
        self.unbuildable: set[int] = set()

    @abstractmethod
    def posterior(self) -> Values:
        """Probability of every hypothesis, 0 … n + 1."""

    @abstractmethod
    def next_probes(self, count: int = 1) -> list[int]:
        """Choose where to run next; a commit may come twice. Empty where none can be run."""

    @property
    def testable(self) -> list[int]:
        """Commits that can be run, as far as is known; 0, the good one, is among them."""
        return [index for index in range(self.n + 1) if index not in self.unbuildable]

    def parent(self, index: int) -> int | None:
        """The nearest commit before ``index`` that can be run; None where there is none."""
        return next((one for one in reversed(self.testable) if one < index), None)

    def classes(self) -> list[tuple[int, int]]:
        """Answers that runs can tell apart, each as its first and last hypothesis."""
        found, start = [], 0
        for end in self.testable:
            found.append((start, end))
            start = end + 1
        if start <= self.n:
            # Nothing that runs comes after these commits: whether they did it, no run can tell.
            found.append((start, self.n))
        return [*found, (self.n + 1, self.n + 1)]

    def standing(self) -> Standing:
        """The likeliest answer; commits that no run can tell apart are one answer."""
        posterior = self.posterior()
        masses = [
            (float(posterior[first : last + 1].sum()), first, last)
            for first, last in self.classes()
        ]
        mass, first, last = max(masses)
        ending: Ending = "culprit" if first == last else "range"
        if first > self.n:
            ending = "nobody"
        elif first == 0:
            # The good commit itself cannot be run where it is one of several.
            ending = "before" if last == 0 else "range"
            first = min(last, 1)
        return Standing(ending=ending, first=first, last=last, probability=mass)

    def credible(self, level: float) -> list[int]:
        """The fewest commits that hold ``level`` of what is believed of commits."""
        return smallest_set(self.posterior()[1 : self.n + 1], level)


def smallest_set(shares: Values, level: float) -> list[int]:
    """Places, from 1, of the fewest shares that add up to ``level`` of them all."""
    order = np.argsort(-shares, kind="stable")
    reached = np.cumsum(shares[order]) >= level * shares.sum()
    count = int(np.argmax(reached)) + 1 if reached.any() else len(shares)
    return sorted(int(index) + 1 for index in order[:count])


def log_prior(prior: Sequence[float], *, nobody: float, before: float) -> Values:
    """Log prior of 0 … n + 1 from relative shares of commits 1 … n."""
    shares = np.asarray(prior, dtype=np.float64)
    commits = shares / shares.sum() * (1 - nobody - before)
    return np.asarray(np.log(np.maximum(np.concatenate([[before], commits, [nobody]]), TINY)))


def normalized(log: Values) -> Values:
    """Probabilities from their logarithms, up to a constant."""
    found = np.exp(log - log.max())
    return np.asarray(found / found.sum())


def from_here(values: Values, axis: int = 0) -> Values:
    """Sums from each place to the end."""
    return np.asarray(np.flip(np.cumsum(np.flip(values, axis), axis=axis), axis))
