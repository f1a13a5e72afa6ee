"""Proof of a culprit: it fails and its parent passes, often enough to tell that from chance.

The runs at the two commits are judged by themselves, without the order of commits and without a
prior: a search may be misled by a history that broke twice, two commits side by side cannot. At
least one run of each is new, made after the culprit was named and next to a run of the other, so
that both are known to behave as they did. One failure and one pass are never enough.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from gauntlet.analyzer.culprits.posterior import Values

Proof = Literal["verified", "refuted", "undecided"]

# Either side is wrong in fewer than one of a thousand proofs (Wald's bound of a sequential test).
LEAST_RATIO = 1000.0
LEAST_RUNS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """How often one commit failed and passed; ``confirmed`` counts new runs that went as told."""

    failed: int = 0
    passed: int = 0
    confirmed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class WeighedRates:
    """Rates of failure of something fine and something broken, and the weight of each pair."""

    flake: Values
    broken: Values
    weights: Values

    def log_ratio(self, runs: Runs) -> float:
        """How much better "broken" explains the runs than "fine", as a natural logarithm."""

        def likelihood(rate: Values) -> float:
            return float(self.weights @ (rate**runs.failed * (1 - rate) ** runs.passed))

        return float(np.log(likelihood(self.broken)) - np.log(likelihood(self.flake)))


def judge(culprit: Runs, parent: Runs, rates: WeighedRates) -> Proof:
    """Say what the runs of a suspect and its parent prove."""
    enough = float(np.log(LEAST_RATIO))
    for_culprit, for_parent = rates.log_ratio(culprit), -rates.log_ratio(parent)
    if min(for_culprit, for_parent) <= -enough:
        return "refuted"
    counted = min(culprit.failed, parent.passed) >= LEAST_RUNS
    confirmed = min(culprit.confirmed, parent.confirmed) >= 1
    if counted and confirmed and min(for_culprit, for_parent) >= enough:
        return "verified"
    return "undecided"


def lacks_proof(runs: Runs, rates: WeighedRates, *, broken: bool) -> bool:
    """Whether one side still needs runs: to be shown as broken, or as fine."""
    seen = runs.failed if broken else runs.passed
    ratio = rates.log_ratio(runs) * (1 if broken else -1)
    return seen < LEAST_RUNS or runs.confirmed < 1 or ratio < float(np.log(LEAST_RATIO))


def settled(runs: Runs, rates: WeighedRates) -> Literal["broken", "fine"] | None:
    """What one commit's runs prove by themselves; None where they prove nothing yet."""
    ratio, enough = rates.log_ratio(runs), float(np.log(LEAST_RATIO))
    if ratio >= enough and runs.failed >= LEAST_RUNS:
        return "broken"
    if ratio <= -enough and runs.passed >= LEAST_RUNS:
        return "fine"
    return None
