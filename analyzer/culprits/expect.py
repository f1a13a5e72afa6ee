"""How many runs a search will take, before it begins: a few made worlds say."""

from statistics import fmean

import numpy as np

from gauntlet.analyzer.culprits.investigation import SUSPECT, Case
from gauntlet.analyzer.culprits.search import Search

_WORLDS = 24
_MOST_RUNS = 200
# A metric's noise is not known before it is measured; a step of 1.5 times the noise takes this.
_METRIC_RUNS = 26.0


def expected_runs(case: Case) -> float:
    """Mean runs until a suspect stands, without its proof."""
    if case.metric:
        return _METRIC_RUNS
    chance = np.random.default_rng(0)
    shares = np.asarray(case.prior) / sum(case.prior)
    flake, broken, log_weights = case.rates.grid()
    weights = np.exp(log_weights)
    counts = []
    for _ in range(_WORLDS):
        culprit = int(chance.choice(len(shares), p=shares)) + 1
        rates = int(chance.choice(len(weights), p=weights / weights.sum()))
        search = Search(case.prior, case.rates, nobody=case.nobody, before=case.before)
        runs = 0
        while runs < _MOST_RUNS and search.standing().probability < SUSPECT:
            for place in search.next_probes(case.at_once):
                rate = broken[rates] if place >= culprit else flake[rates]
                search.record(place, "failed" if chance.random() < rate else "passed")
                runs += 1
        counts.append(runs)
    return fmean(counts)
