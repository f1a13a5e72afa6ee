"""Figures on accuracy: simulated answers to GSM8K's 1,319 questions, of builds known by design."""

import math
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy import stats

from gauntlet.analyzer.accuracy.judge import decide, near_threshold
from gauntlet.analyzer.accuracy.paired import (
    Drop,
    binary_drop,
    clustered_drop,
    detectable_drop,
)
from gauntlet.analyzer.accuracy.sequential import (
    EARLY_SAME,
    Look,
    Sequential,
    evidence_paths,
    last_look_p,
)
from judging.figure import Figure

_AREA = "accuracy"
_N = 1319
_SCORE = 0.85
_MARGIN = 0.02
_ALPHA = 0.05

Differences = npt.NDArray[np.int_]
Random = np.random.Generator


def figures(seed: int = 7, trials: int = 2000) -> list[Figure]:
    """Measure everything; deterministic by ``seed``."""
    rng = np.random.default_rng(seed)
    return [
        *_full(rng, trials),
        *_sequential(rng, trials),
        *_peeking(rng, trials),
        *_detectable(),
        *_coverage(rng, trials),
        *_clusters(rng, trials),
    ]


def _answers(rng: Random, differing: float, drop: float) -> Differences:
    """Differences of one session: 1 a loss, -1 a gain."""
    share = rng.random(_N)
    return np.where(share < (differing + drop) / 2, 1, np.where(share < differing, -1, 0))


def _by_two_scores(rng: Random, drop: float) -> bool:
    before = rng.binomial(_N, _SCORE) / _N
    after = rng.binomial(_N, _SCORE - drop) / _N
    error = math.sqrt((before * (1 - before) + after * (1 - after)) / _N)
    return bool(abs(before - after) / error > stats.norm.ppf(0.975))


def _full(rng: Random, trials: int) -> list[Figure]:
    """Chances over all tables that are not absurd: exact, so without a simulation's luck."""
    dropped, unchanged = _chances(0.04, 0.02), _chances(0.04, 0.0)
    by_eye = sum(_by_two_scores(rng, 0.02) for _ in range(trials)) / trials
    case = f"n {_N}, drop 2 points, margin 2 points, 4 % of answers differ; exact"
    return [
        Figure(
            area=_AREA,
            name="power at full n",
            value=dropped["worse"],
            goal=0.95,
            anchors={"unpaired z": by_eye, "McNemar two-sided": dropped["two-sided"]},
            note=case,
        ),
        Figure(
            area=_AREA,
            name="called worse without a rerun",
            value=dropped["at once"],
            note=f"{case}; the others are asked again before anybody is accused",
        ),
        Figure(
            area=_AREA,
            name="false alarms at full n",
            value=unchanged["worse"],
            goal=0.05,
            better="lower",
            note="no drop, 4 % differ; exact",
        ),
        Figure(
            area=_AREA,
            name="unchanged called same at full n",
            value=unchanged["same"],
            note="no drop, 4 % differ; exact",
        ),
    ]


def _chances(differing: float, drop: float) -> dict[str, float]:
    """How likely each outcome is, summed over numbers of losses and gains."""
    loss, gain = (differing + drop) / 2, (differing - drop) / 2
    found = dict.fromkeys(("worse", "at once", "same", "two-sided"), 0.0)
    for losses in range(_likely(loss)):
        for gains in range(_likely(gain)):
            table = [losses, gains, _N - losses - gains]
            chance = float(stats.multinomial.pmf(table, _N, [loss, gain, 1 - differing]))
            if chance < 1e-8:
                continue
            each = binary_drop(losses, gains, _N, _ALPHA)
            outcome = decide(each, _MARGIN, _ALPHA)
            found["worse"] += chance * (outcome == "worse")
            found["same"] += chance * (outcome == "same")
            near = near_threshold(each, _MARGIN, _ALPHA)
            found["at once"] += chance * (outcome == "worse" and not near)
            found["two-sided"] += chance * (each.p_two_sided < _ALPHA)
    return found


def _likely(share: float) -> int:
    """More than this number of losses, or gains, never happens."""
    return int(_N * share + 7 * math.sqrt(_N * share)) + 1


def _session(d: Differences) -> tuple[Look, bool]:
    """Ask one by one until something is shown; the last look where nothing was."""
    session = Sequential(margin=_MARGIN, alpha=_ALPHA)
    for difference in d:
        look = session.add(float(difference))
        if look.decision != "open":
            return look, True
    return session.finish(), False


def _sequential(rng: Random, trials: int) -> list[Figure]:
    found = []
    sessions = max(50, trials // 2)
    looks = [_session(_answers(rng, 0.04, 0.02)) for _ in range(sessions)]
    worse = [look for look, _ in looks if look.decision == "worse"]
    early = [look for look, stopped in looks if stopped and look.decision == "worse"]
    case = f"drop 2 points, 4 % differ, {sessions} sessions"
    found.append(
        Figure(
            area=_AREA,
            name="sequential power",
            value=len(worse) / sessions,
            goal=0.93,
            anchors={"without the last look": len(early) / sessions},
            note=case,
        )
    )
    found.append(
        Figure(
            area=_AREA,
            name="sequential share of questions asked",
            value=float(np.mean([look.items for look, _ in looks])) / _N,
            goal=0.5,
            better="lower",
            note=case,
        )
    )
    for differing in (0.02, 0.04):
        looks = [_session(_answers(rng, differing, 0.0)) for _ in range(sessions)]
        same = sum(look.decision == "same" for look, _ in looks) / len(looks)
        found.append(
            Figure(
                area=_AREA,
                name=f"share asked of an unchanged build, {differing:.0%} differ",
                value=float(np.mean([look.items for look, _ in looks])) / _N,
                better="lower",
                note=f"{same:.1%} end same",
            )
        )
    return found


def _peeking(rng: Random, trials: int) -> list[Figure]:
    """Share of sessions that ever say what is not true, looking after every answer."""
    shares = (0.02, 0.04, 0.12)
    naive = [
        sum(_naive_peek(_answers(rng, share, 0.0)) for _ in range(trials)) / trials
        for share in shares
    ]
    passes = [
        sum(_ever_same(_answers(rng, max(share, _MARGIN), _MARGIN)) for _ in range(trials)) / trials
        for share in shares
    ]
    note = "highest of 2 %, 4 % and 12 % differing, last look included"
    return [
        Figure(
            area=_AREA,
            name="false alarms under unlimited peeking",
            value=max(map(_ever_worse, shares)),
            goal=0.05,
            better="lower",
            anchors={"McNemar after each answer": max(naive)},
            note=f"{note}; exact",
        ),
        Figure(
            area=_AREA,
            name="false same under unlimited peeking",
            value=max(passes),
            goal=0.05,
            better="lower",
            note=f"drop of just the margin; {note}, {trials} sessions each",
        ),
    ]


def _ever_worse(differing: float) -> float:
    """Chance that an unchanged build is ever said to have lost, over all paths of its flips."""
    total = 0.0
    for flips in range(_likely(differing) + 1):
        tails = [last_look_p(losses, flips, _ALPHA) for losses in range(flips + 2)]
        spent = max(tail for tail in tails if tail <= _ALPHA)
        total += spent * float(stats.binom.pmf(flips, _N, differing))
    return total


def _ever_same(d: Differences) -> bool:
    """Whether it is ever claimed that the margin was not lost."""
    _, safe = evidence_paths(d, _MARGIN)
    counts = int((d > 0).sum()), int((d < 0).sum()), len(d)
    rest = binary_drop(*counts, (1 - EARLY_SAME) * _ALPHA)
    return bool(safe.max() >= -math.log(EARLY_SAME * _ALPHA) or rest.upper < _MARGIN)


def _naive_peek(d: Differences) -> bool:
    signs = d[d != 0]
    losses, asked = np.cumsum(signs > 0), np.arange(1, len(signs) + 1)
    return bool((stats.binom.sf(losses - 1, asked, 0.5) < _ALPHA).any())


def _detectable() -> list[Figure]:
    drop = binary_drop(26, 26, _N, _ALPHA)
    paired = 100 * detectable_drop(drop, 0.025, 0.8)
    error = math.sqrt(2 * _SCORE * (1 - _SCORE) / _N)
    unpaired = 100 * error * float(stats.norm.ppf(0.975) + stats.norm.ppf(0.8))
    return [
        Figure(
            area=_AREA,
            name="detectable drop",
            value=paired,
            unit="points",
            goal=1.6,
            better="lower",
            anchors={"unpaired z": unpaired},
            note="80 % power, 2.5 % on each side, 4 % of answers differ",
        )
    ]


def _coverage(rng: Random, trials: int) -> list[Figure]:
    """Lowest share of intervals (95 %) that hold the true drop, where few answers differ."""
    lowest, wald = 1.0, 1.0
    for n, differing, true in ((100, 0.02, 0.0), (100, 0.04, 0.02), (400, 0.01, 0.005)):
        chances = [(differing + true) / 2, (differing - true) / 2, 1 - differing]
        held = held_wald = 0
        for losses, gains, _ in rng.multinomial(n, chances, size=4 * trials):
            found = _tango(int(losses), int(gains), n)
            held += found.lower <= true <= found.upper
            held_wald += abs(found.effect - true) <= 1.96 * found.error
        lowest = min(lowest, held / (4 * trials))
        wald = min(wald, held_wald / (4 * trials))
    return [
        Figure(
            area=_AREA,
            name="coverage of the interval, few differing",
            value=lowest,
            goal=0.94,
            anchors={"Wald": wald},
            note="95 % intervals; 2 to 4 answers differ of 100 to 400",
        )
    ]


@cache
def _tango(losses: int, gains: int, n: int) -> Drop:
    """Few distinct tables come up; each is solved once."""
    return binary_drop(losses, gains, n, 0.025)


def _clusters(rng: Random, trials: int) -> list[Figure]:
    """Unchanged build, 200 questions asked five times."""
    clusters = [str(question) for question in range(200) for _ in range(5)]
    ours = naive = held = 0
    for _ in range(trials):
        # Kernels that sum in another order flip some questions, and mostly in every repeat.
        flipped = np.where(rng.random(200) < 0.08, rng.choice([-1, 1], 200), 0)
        d = (flipped[:, None] * (rng.random((200, 5)) < 0.8)).ravel()
        found = clustered_drop(d, clusters, 0.025)
        ours += found.p_drop < _ALPHA
        naive += binary_drop(found.losses, found.gains, len(d), _ALPHA).p_drop < _ALPHA
        held += found.lower <= 0 <= found.upper
    return [
        Figure(
            area=_AREA,
            name="false alarms with repeats",
            value=ours / trials,
            goal=0.065,
            better="lower",
            anchors={"McNemar over all answers": naive / trials},
            note=f"200 questions five times, {trials} sessions; level 5 %",
        ),
        Figure(
            area=_AREA,
            name="coverage of the interval with repeats",
            value=held / trials,
            goal=0.93,
            note="95 % intervals, the same sessions",
        ),
    ]
