"""Where did it break? A posterior over commits, and the runs that may teach most.

Commits stand in order, 1 … n; 0 is the good one. A run fails with the rate of something broken
from the culprit on, and with the flake rate before it. Neither rate is known exactly, so a few of
each are carried along and weighed by what is seen (after Flake Aware Culprit Finding, ICST 2023,
which takes both as given).

The next run is where its answer tells most about the culprit: not at the median, because a pass
and a failure do not tell equally much. Runs side by side are chosen for what they tell together.
"""

from collections.abc import Sequence

import numpy as np

from gauntlet.analyzer.culprits.model import ProbeOutcome
from gauntlet.analyzer.culprits.posterior import (
    TINY,
    Posterior,
    Values,
    from_here,
    log_prior,
    normalized,
)
from gauntlet.analyzer.culprits.rates import Rates

# Joint answers of runs side by side double with every run.
MOST_AT_ONCE = 8


class Search(Posterior):
    """The state of one search: what was believed, and how often each commit failed and passed."""

    def __init__(
        self, prior: Sequence[float], rates: Rates, *, nobody: float = 0.1, before: float = 0.02
    ) -> None:
        """Start with no run.

        ``prior`` are relative shares of commits 1 … n; ``nobody`` and ``before`` are the
        probabilities that no commit broke it, and that the good commit is broken too.
        """
        super().__init__(len(prior))
        self.rates = rates
        self.failed = np.zeros(self.n + 1)
        self.passed = np.zeros(self.n + 1)
        self._log_prior = log_prior(prior, nobody=nobody, before=before)
        self._flake, self._broken, self._log_weights = rates.grid()

    def record(self, index: int, outcome: ProbeOutcome) -> None:
        """Take note of a run at commit ``index`` (0: the good one); ``infra`` says nothing."""
        match outcome:
            case "failed":
                self.failed[index] += 1
            case "passed":
                self.passed[index] += 1
            case "unbuildable":
                self.unbuildable.add(index)
            case "infra":
                pass

    def log_likelihoods(self) -> tuple[Values, Values]:
        """Log likelihoods of each commit's runs if it is fine, and if it is broken.

        Both (n + 1) x pairs of rates.
        """
        fails, passes = self.failed[:, None], self.passed[:, None]
        fine = fails * np.log(self._flake) + passes * np.log1p(-self._flake)
        broken = fails * np.log(self._broken) + passes * np.log1p(-self._broken)
        return fine, broken

    @property
    def log_weights(self) -> Values:
        """Log weights of the pairs of rates before any run."""
        return self._log_weights

    def log_joint(self) -> Values:
        """Log probability of every hypothesis with every pair of rates, (n + 2) x pairs."""
        fine, broken = self.log_likelihoods()
        nothing = np.zeros_like(fine[:1])
        before = np.concatenate([nothing, np.cumsum(fine, axis=0)])
        since = np.concatenate([from_here(broken), nothing])
        return np.asarray(self._log_prior[:, None] + self._log_weights + before + since)

    def posterior(self) -> Values:
        """Probability of every hypothesis, 0 … n + 1."""
        return np.asarray(normalized(self.log_joint()).sum(axis=1))

    def rate_weights(self) -> Values:
        """Weights of the pairs of rates after the runs so far."""
        return np.asarray(normalized(self.log_joint()).sum(axis=0))

    def believed_rates(self) -> tuple[float, float]:
        """Flake rate and rate of something broken, as believed after the runs so far."""
        weights = self.rate_weights()
        return float(weights @ self._flake), float(weights @ self._broken)

    def next_probes(self, count: int = 1) -> list[int]:
        """Choose where to run next, ``count`` (at most 8) at once; a commit may come twice.

        Greedy in the information about the culprit that the answers give together. Empty where no
        commit can be run.
        """
        places = np.array(self.testable)
        if not len(places):
            return []
        joint = normalized(self.log_joint())
        posterior = joint.sum(axis=1)
        given = joint / np.maximum(posterior, TINY)[:, None]
        fails_broken, fails_fine = given @ self._broken, given @ self._flake
        # What an answer would leave to chance even if the culprit were known.
        chance = (
            np.cumsum(posterior * _entropy(fails_broken))[:-1]
            + from_here(posterior * _entropy(fails_fine))[1:]
        )
        answers = posterior[None, :]
        chosen: list[int] = []
        for _ in range(min(count, MOST_AT_ONCE)):
            failing = (
                np.cumsum(answers * fails_broken, axis=1)[:, :-1]
                + from_here(answers * fails_fine, axis=1)[:, 1:]
            )
            passing = answers.sum(axis=1, keepdims=True) - failing
            told = _surprise(failing).sum(axis=0) + _surprise(passing).sum(axis=0) - chance
            best = int(places[np.argmax(told[places])])
            chosen.append(best)
            fails = np.where(np.arange(self.n + 2) <= best, fails_broken, fails_fine)
            answers = np.concatenate([answers * fails, answers * (1 - fails)])
        return chosen


def _surprise(share: Values) -> Values:
    kept = np.maximum(share, TINY)
    return np.asarray(-kept * np.log(kept))


def _entropy(rate: Values) -> Values:
    return _surprise(rate) + _surprise(1 - rate)
