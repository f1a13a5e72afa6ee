"""Find machines that fail more than their peers, by rate and job by job, not by count. Pure.

Of each host's attempts in a queue, those count as failures that a machine can cause. What it should
have failed is what its peers failed in the same jobs; a commit on which a job failed on several
hosts is the job's fault, and left out. The rates of good hosts differ a little from each other: by
how much, a Beta prior says that is fitted to the peers (empirical Bayes). Two hosts in a thousand
are bad, and fail 3 to 60 times as often.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, expit, logsumexp

from gauntlet.analyzer.flakes.segments import Floats

MACHINE_CLASSES = frozenset(
    {"infra_machine", "infra_agent", "infra_capacity", "timeout", "unknown"}
)
"""Failure classes that may be the machine's fault."""
FACTOR = 3.0
"""A bad host fails at least three times as often as its peers."""
ACCUSE, CLEAR = 0.9, 0.2
"""An accusation opens at the first probability, and closes below the second."""
LEAST_FAILURES, LEAST_JOBS, LEAST_PEERS = 4, 3, 3
_TRIMMED = 0.05
_BAD_SHARE = 0.002
_BAD_FACTORS = FACTOR * np.geomspace(1, 20, 13)
_SPREADS = np.linspace(0.1, 0.8, 8)
"""How much the rates of good hosts may differ: standard deviation by mean."""


class HostAttempt(NamedTuple):
    """One attempt: ``failure_class`` is None where it passed, or failed without being classified
    as a failure of any kind that matters here."""

    host: str
    job_key: str
    sha: str
    failure_class: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HostJudgement:
    """What the attempts of one host say.

    ``expected`` is how many would have failed on its peers; ``probability`` that it fails at least
    ``FACTOR`` times as often as they do, None where it has too few peers. ``accused`` opens an
    alert, ``cleared`` closes one; neither keeps what is.
    """

    host: str
    attempts: int
    failures: int
    expected: float
    job_keys: tuple[str, ...]
    probability: float | None
    accused: bool
    cleared: bool
    reason: str


def judge_hosts(attempts: Iterable[HostAttempt]) -> list[HostJudgement]:
    """Judge all hosts of one queue over one window, the most suspect first."""
    counts = _counts(list(attempts))
    hosts = sorted({host for host, _ in counts})
    keys = sorted({key for _, key in counts})
    runs, failures = _tables(counts, hosts, keys)
    expected = _expected(runs, failures)
    totals, failed = runs.sum(axis=1), failures.sum(axis=1)
    chances = _probabilities(totals, failed, expected) if len(hosts) > LEAST_PEERS else None
    found = []
    for row, host in enumerate(hosts):
        bad = tuple(key for column, key in enumerate(keys) if failures[row, column])
        chance = None if chances is None else float(chances[row])
        found.append(_judged(host, totals[row], failed[row], expected[row], bad, chance))
    return sorted(found, key=lambda host: (-(host.probability or 0.0), -host.failures, host.host))


def _counts(attempts: Sequence[HostAttempt]) -> Mapping[tuple[str, str], tuple[int, int]]:
    """Attempts and failures by host and job, without commits on which the job failed elsewhere."""
    failing: dict[tuple[str, str], set[str]] = defaultdict(set)
    for attempt in attempts:
        if attempt.failure_class is not None:
            failing[attempt.job_key, attempt.sha].add(attempt.host)
    everywhere = {place for place, hosts in failing.items() if len(hosts) > 1}
    counts: dict[tuple[str, str], tuple[int, int]] = {}
    for attempt in attempts:
        if (attempt.job_key, attempt.sha) in everywhere:
            continue
        runs, failures = counts.get((attempt.host, attempt.job_key), (0, 0))
        bad = attempt.failure_class in MACHINE_CLASSES
        counts[attempt.host, attempt.job_key] = runs + 1, failures + bad
    return counts


def _tables(
    counts: Mapping[tuple[str, str], tuple[int, int]], hosts: Sequence[str], keys: Sequence[str]
) -> tuple[Floats, Floats]:
    rows, columns = ({name: i for i, name in enumerate(names)} for names in (hosts, keys))
    runs, failures = np.zeros((2, len(hosts), len(keys)))
    for (host, key), (made, bad) in counts.items():
        runs[rows[host], columns[key]], failures[rows[host], columns[key]] = made, bad
    return runs, failures


def _expected(runs: Floats, failures: Floats) -> Floats:
    """Failures that each host would have at the rates of its peers, job by job.

    A job's rate is drawn towards that of the queue by as much as twenty attempts say, for most jobs
    ran only a few times on the others.
    """
    peers_runs = runs.sum(axis=0) - runs
    peers_failures = failures.sum(axis=0) - failures
    all_runs = peers_runs.sum(axis=1, keepdims=True)
    overall = (peers_failures.sum(axis=1, keepdims=True) + 0.5) / (all_runs + 1)
    rates = (peers_failures + 20 * overall) / (peers_runs + 20)
    return np.asarray((runs * rates).sum(axis=1))


def _probabilities(totals: Floats, failed: Floats, expected: Floats) -> Floats:
    """Probability that each host is a bad one, which fails at least ``FACTOR`` times as often."""
    means = np.clip(expected / np.maximum(totals, 1), 1e-6, 0.3)
    strengths = (1 - means) / (means * _SPREADS[:, None] ** 2) - 1
    good = _likelihood(failed, totals, means[None, :], strengths)
    # Bad hosts must not pass for a wide spread of good ones: the worst few do not shape the prior.
    excess = (failed + 0.5) / (expected + 0.5)
    worst = np.argsort(-excess)[: max(1, round(_TRIMMED * len(totals)))]
    shaping = good.copy()
    shaping[:, worst] = 0.0
    fitted = (shaping.sum(axis=1, keepdims=True) - shaping).argmax(axis=0)
    here = np.arange(len(totals))
    strength, as_good = strengths[fitted, here], good[fitted, here]
    worse = np.clip(means[None, :] * _BAD_FACTORS[:, None], 0, 0.95)
    as_bad = logsumexp(_likelihood(failed, totals, worse, strength[None, :]), axis=0)
    odds = as_bad - np.log(len(_BAD_FACTORS)) - as_good + np.log(_BAD_SHARE / (1 - _BAD_SHARE))
    return np.asarray(expit(odds))


def _likelihood(failed: Floats, totals: Floats, means: Floats, strength: Floats) -> Floats:
    """Log of the Beta-Binomial likelihood, but for a constant of each host."""
    a, b = means * strength, (1 - means) * strength
    return np.asarray(betaln(a + failed, b + totals - failed) - betaln(a, b))


def _judged(
    host: str, attempts: float, failures: float, expected: float, bad: tuple[str, ...],
    chance: float | None,
) -> HostJudgement:  # fmt: skip
    enough = failures >= LEAST_FAILURES and len(bad) >= LEAST_JOBS
    shown = (
        f"{failures:.0f} of {attempts:.0f} attempts failed in {len(bad)} jobs, "
        f"its peers would have failed {expected:.1f}"
    )
    if chance is None:
        reason = f"{shown}; fewer than {LEAST_PEERS} peers to compare with"
    elif not enough:
        reason = f"{shown}; an accusation needs {LEAST_FAILURES} failures in {LEAST_JOBS} jobs"
    else:
        reason = f"{shown}; at least {FACTOR:g} times as bad with probability {chance:.4f}"
    return HostJudgement(
        host=host,
        attempts=int(attempts),
        failures=int(failures),
        expected=float(expected),
        job_keys=bad,
        probability=chance,
        accused=enough and chance is not None and chance >= ACCUSE,
        cleared=chance is not None and chance < CLEAR,
        reason=reason,
    )
