"""Candidate against baseline: false alarms, power and cost of whole releases, by the real code.

A release is a session of A B B A blocks, looked at after each from the second to the eighth, with
twenty blocking metrics whose margin is 3 %. Values of a turn vary by 1.5 % (log scale). What others
do with the same noise is measured beside it: flat limits on one run each, tests that take requests
or the order A-then-B for independent.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt
from scipy import stats

from gauntlet.analyzer.comparison.decide import Finding, decide
from gauntlet.analyzer.comparison.effects import PairKey, Turns, interleaved_effect
from gauntlet.analyzer.comparison.evidence import RatioEvidence
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.verdict import Verdict
from gauntlet.perf_eval.judgement import Blocks
from judging.figure import Figure

Values = npt.NDArray[np.float64]

METRICS = 20
MARGIN_PERCENT = 3.0
RUN_NOISE = 0.015
BLOCKS = Blocks(min=2, max=8)
_DRIFT = 0.04
_REQUESTS = 500
_REQUEST_SPREAD = 0.5

_figure = partial(Figure, area="sides")


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What a session's turns share: a common part of the noise, a drift, the prompts of a pair."""

    common: float = 0.0
    drift: float = 0.0
    pair_noise: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a session ended: the verdict on each metric, and after how many blocks."""

    verdicts: tuple[Verdict, ...]
    blocks: int

    @property
    def outcomes(self) -> tuple[str, ...]:
        """What each verdict says."""
        return tuple(verdict.outcome for verdict in self.verdicts)


def play(random: np.random.Generator, machine: Machine, losses: Values) -> Ended:
    """Run one session to its end; ``losses`` are what each metric really loses (log scale)."""
    turns = _turns(random, machine, len(losses))
    turns[:, :, 1:3] += losses[:, None, None]
    for blocks in range(BLOCKS.min, BLOCKS.max + 1):
        findings = [_finding(number, turns[number, :blocks]) for number in range(len(losses))]
        budget = Budget(false_alarm_rate=0.01, shares=BLOCKS.looks(blocks))
        ended = Ended(verdicts=tuple(decide(findings, budget)), blocks=blocks)
        open_still = "inconclusive" in ended.outcomes and "worse" not in ended.outcomes
        if not open_still or blocks == BLOCKS.max:
            return ended
    raise AssertionError


def _turns(random: np.random.Generator, machine: Machine, metrics: int = METRICS) -> Values:
    """Log values as (metric, block, turn A B B A)."""
    shape = (metrics, BLOCKS.max, 4)
    own = random.normal(0, RUN_NOISE * math.sqrt(1 - machine.common), shape)
    shared = random.normal(0, RUN_NOISE * math.sqrt(machine.common), shape[1:])
    pairs = random.normal(0, machine.pair_noise, (metrics, BLOCKS.max, 2)).repeat(2, axis=2)
    drift = np.linspace(0, machine.drift, shape[1] * 4).reshape(shape[1:])
    turns: Values = own + shared + pairs + drift
    return turns


def _finding(number: int, blocks: Values) -> Finding:
    pairs = {}
    for block, (first, second, third, fourth) in enumerate(blocks.tolist()):
        pairs[PairKey("", 2 * block)] = Turns(first, second)
        pairs[PairKey("", 2 * block + 1)] = Turns(fourth, third)
    return Finding(
        subject=str(number),
        blocking=True,
        margin=MARGIN_PERCENT,
        unit="%",
        evidence=RatioEvidence(effect=interleaved_effect(pairs), higher_is_better=False),
    )


def figures(seed: int, releases: int = 1000) -> list[Figure]:
    """Measure everything; about 45 s on one core for 1,000 releases."""
    random = np.random.default_rng(seed)
    return [
        *_unchanged(random, releases),
        *_slower(random, max(releases // 2, 1)),
        *_drifting(random, max(releases // 2, 1)),
        _per_metric(random, max(releases // 4, 1)),
    ]


def _sessions(
    random: np.random.Generator, machine: Machine, count: int, loss: float = 0.0
) -> list[Ended]:
    """Play releases of which the first metric loses ``loss``."""
    losses = np.zeros(METRICS)
    losses[0] = loss
    return [play(random, machine, losses) for _ in range(count)]


def _quiet(ended: list[Ended]) -> float:
    return float(np.mean(["worse" not in each.outcomes for each in ended]))


def _unchanged(random: np.random.Generator, releases: int) -> Iterator[Figure]:
    independent = _sessions(random, Machine(), releases)
    yield _figure(
        name="unchanged releases of 20 metrics without a false worse",
        value=_quiet(independent),
        unit="share",
        goal=0.99,
        anchors=_flat_rules(random, min(releases, 200)),
        note=f"{releases} releases, looks after 2 to 8 blocks; anchors: one run a side",
    )
    correlated = _sessions(random, Machine(common=0.5), max(releases // 2, 1))
    yield _figure(
        name="the same, half of the noise common to all metrics",
        value=_quiet(correlated),
        unit="share",
        goal=0.99,
        note=f"{len(correlated)} releases",
    )
    yield _figure(
        name="unchanged releases that end with every metric same",
        value=float(np.mean([set(each.outcomes) == {"same"} for each in independent])),
        unit="share",
        note="margin 3 %, at most 8 blocks",
    )
    yield _figure(
        name="blocks that an unchanged release needs",
        value=float(np.mean([each.blocks for each in independent])),
        unit="blocks",
        better="lower",
    )


def _slower(random: np.random.Generator, releases: int) -> Iterator[Figure]:
    loss = math.log1p(0.03)
    for name, machine, goal in (
        ("a loss of 3 % in one of 20 metrics found with at most 8 blocks", Machine(), 0.90),
        (
            "the same, prompts of a pair moving its values by 1.5 %",
            Machine(pair_noise=RUN_NOISE),
            None,
        ),
    ):
        ended = _sessions(random, machine, releases, loss)
        found = [each for each in ended if each.outcomes[0] == "worse"]
        yield _figure(
            name=name,
            value=len(found) / len(ended),
            unit="share",
            goal=goal,
            note=f"{releases} releases; {np.mean([each.blocks for each in ended]):.1f} blocks used",
        )


def _drifting(random: np.random.Generator, releases: int) -> Iterator[Figure]:
    ended = _sessions(random, Machine(drift=_DRIFT), releases)
    yield _figure(
        name="false alarms of releases while the machine drifts by 4 %",
        value=1 - _quiet(ended),
        unit="share",
        goal=0.05,
        better="lower",
        anchors={"Welch's t, A then B, one metric": _a_then_b(random)},
        note=f"{releases} releases of 20 metrics; the anchor: 6 runs a side, 1 % noise, level 5 %",
    )


def _a_then_b(random: np.random.Generator, sessions: int = 2000) -> float:
    """Share of unchanged builds that Welch's test calls changed when A is measured before B."""
    values = np.linspace(0, _DRIFT, 12) + random.normal(0, 0.01, (sessions, 12))
    found = stats.ttest_ind(values[:, :6], values[:, 6:], axis=1, equal_var=False)
    return float(np.mean(np.asarray(found.pvalue) < 0.05))


def _requests(random: np.random.Generator, count: int, runs: int) -> Values:
    """Latencies of (count, runs, requests) on an unchanged build."""
    levels = random.normal(0, RUN_NOISE, (count, runs, 1))
    spread = random.normal(0, _REQUEST_SPREAD, (count, runs, _REQUESTS))
    values: Values = np.exp(levels + spread)
    return values


def _changed_by_rule(
    random: np.random.Generator, count: int
) -> Mapping[str, npt.NDArray[np.bool_]]:
    """Which of ``count`` unchanged metrics flat limits on one run a side call changed."""
    runs = _requests(random, count, 2)
    means = runs.mean(axis=2)
    tails = np.quantile(runs, 0.99, axis=2)
    mean_change = np.abs(means[:, 1] / means[:, 0] - 1)
    return {
        "5 % on means": mean_change > 0.05,
        "2 % on means": mean_change > 0.02,
        "5 % on p99": np.abs(tails[:, 1] / tails[:, 0] - 1) > 0.05,
    }


def _flat_rules(random: np.random.Generator, releases: int) -> dict[str, float]:
    """Share of releases of 20 unchanged metrics without an alarm, by flat limits."""
    called = _changed_by_rule(random, releases * METRICS)
    return {
        rule: float(np.mean(~changed.reshape(releases, METRICS).any(axis=1)))
        for rule, changed in called.items()
    }


def _per_metric(random: np.random.Generator, count: int) -> Figure:
    """False alarms on a single metric after eight blocks, as others publish theirs."""
    budget = Budget(false_alarm_rate=0.01)
    turns = [_turns(random, Machine()) for _ in range(count)]
    outcomes = [
        decide([_finding(0, metric)], budget)[0].outcome for turn in turns for metric in turn
    ]
    anchors = {
        rule: float(changed.mean()) for rule, changed in _changed_by_rule(random, 4000).items()
    }
    anchors["Mann-Whitney over pooled requests, level 1 %"] = _pooled(random, 300)
    return _figure(
        name="false alarms on one unchanged metric",
        value=float(np.mean([outcome == "worse" for outcome in outcomes])),
        unit="share",
        goal=0.01,
        better="lower",
        anchors=anchors,
        note=f"{len(outcomes)} metrics, 8 blocks, one look; anchors: 500 requests a run",
    )


def _pooled(random: np.random.Generator, count: int, runs: int = 8) -> float:
    called = 0
    for _ in range(count):
        sides = _requests(random, 2, runs).reshape(2, -1)
        called += stats.mannwhitneyu(sides[0], sides[1]).pvalue < 0.01
    return float(called / count)
