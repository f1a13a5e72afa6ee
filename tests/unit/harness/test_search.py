import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.harness.load.results import Detail, Outcome, RequestResult
from gauntlet.harness.search.bisection import Answer, Bounds, Probed, next_step
from gauntlet.harness.search.probe import Limit, judge_probe, over_saturated

BOUNDS = Bounds(low=1.0, high=64.0, tolerance=0.05)


def search(bounds, judge, most=80):
    """Run a search against ``judge(value, try) -> verdict``; return its answer and its probes."""
    probes = []
    while len(probes) < most:
        step = next_step(bounds, probes)
        if isinstance(step, Answer):
            return step, probes
        tries = sum(probe.value == step for probe in probes)
        probes.append(Probed(value=step, verdict=judge(step, tries)))
    pytest.fail("the search never ended")


@settings(max_examples=60)
@given(st.floats(1.1, 60.0))
def test_the_answer_lies_within_the_tolerance_below_the_truth(truth):
    answer, probes = search(BOUNDS, lambda value, _: "keeps" if value <= truth else "misses")
    assert answer.status == "resolved"
    assert answer.best <= truth < answer.above
    assert answer.above - answer.best <= BOUNDS.tolerance * answer.above
    assert len(probes) <= 14


@given(st.integers(1, 63))
def test_concurrency_is_found_to_the_stream(truth):
    bounds = Bounds(low=1, high=64, tolerance=0.001, whole_numbers=True)
    answer, probes = search(bounds, lambda value, _: "keeps" if value <= truth else "misses")
    assert (answer.best, answer.above) == (truth, truth + 1)
    assert all(probe.value == int(probe.value) for probe in probes)


@pytest.mark.parametrize(
    ("judge", "best", "above", "reason"),
    [
        pytest.param(lambda v, _: "misses", None, 1.0, "lowest value", id="all-miss"),
        pytest.param(lambda v, _: "keeps", 64.0, None, "highest value", id="all-keep"),
        pytest.param(lambda v, _: "unclear", None, None, "is not clear", id="all-unclear"),
        pytest.param(
            lambda v, _: "keeps" if v < 8 else "unclear" if v < 20 else "misses",
            None,
            None,
            "do not decide",
            id="unclear-in-the-middle",
        ),
        pytest.param(
            lambda v, n: "keeps" if v <= 8 and n == 0 else "misses",
            None,
            None,
            "contradict each other",
            id="kept-once-only",
        ),
    ],
)
def test_what_is_not_known_is_not_guessed(judge, best, above, reason):
    answer, _ = search(BOUNDS, judge)
    assert answer.status == "unresolved"
    assert reason in answer.reason
    if best is not None or above is not None:
        assert (answer.best, answer.above) == (best, above)


def test_an_unclear_probe_is_repeated_before_it_counts():
    judged = []

    def judge(value, tries):
        judged.append((value, tries))
        if 9 < value < 11 and tries == 0:
            return "unclear"
        return "keeps" if value <= 10 else "misses"

    answer, _ = search(BOUNDS, judge)
    assert answer.status == "resolved"
    assert any(tries == 1 and 9 < value < 11 for value, tries in judged)


def outcomes_of(ttft_ms, *, gap_ms=100.0, failed=0):
    made = []
    for n, ttft in enumerate(ttft_ms):
        sent = n * gap_ms
        status = "http-503" if n < failed else "ok"
        good = status == "ok"
        result = RequestResult(
            index=n,
            status=status,
            sent_ms=sent,
            ttft_ms=float(ttft) if good else None,
            e2e_ms=float(ttft) + 50 if good else None,
            output_tokens=6,
        )
        stamps = sent + float(ttft) + 10.0 * np.arange(6)
        detail = Detail(stamps_ms=stamps if good else np.empty(0))
        made.append(Outcome(result=result, detail=detail))
    return made


def limit(value, metric="ttft_ms", statistic="mean"):
    return Limit(metric=metric, statistic=statistic, value=value, side="at_most")


def verdict(outcomes, *limits, **fields):
    return judge_probe(outcomes, limits, confidence=0.95, seed=1, **fields)


def noisy(mean, count=400, spread=0.3, seed=5):
    return np.random.default_rng(seed).lognormal(np.log(mean), spread, count)


@pytest.mark.parametrize(
    ("bound", "expected"), [(150.0, "keeps"), (104.0, "unclear"), (80.0, "misses")]
)
def test_a_probe_decides_only_where_its_interval_is_clear(bound, expected):
    result = verdict(outcomes_of(noisy(100.0)), limit(bound))
    assert result.verdict == expected, result.reasons


def test_a_server_that_falls_behind_misses_whatever_the_mean_says():
    rising = noisy(100.0) + np.linspace(0, 300, 400)
    result = verdict(outcomes_of(rising), limit(10_000.0))
    assert result.verdict == "misses"
    assert "over-saturated: TTFT grows" in result.reasons[0]
    assert over_saturated(outcomes_of(noisy(100.0))) == ()


def test_steady_servers_are_rarely_called_over_saturated():
    """Correlated noise without a trend: false alarms stay near the level of one per cent."""
    alarms = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        level = np.zeros(400)
        for n in range(1, 400):
            level[n] = 0.8 * level[n - 1] + rng.normal(0, 8)
        alarms += bool(over_saturated(outcomes_of(np.clip(100 + level, 1, None))))
    assert alarms <= 8


def test_refusing_work_is_not_bearing_it():
    result = verdict(outcomes_of(noisy(10.0), failed=8), limit(1000.0))
    assert (result.verdict, result.reasons) == ("misses", ("8 of 400 requests failed",))


def test_too_few_requests_decide_nothing():
    assert verdict(outcomes_of(noisy(10.0, 12)), limit(1000.0)).verdict == "unclear"


def test_throughput_is_judged_by_the_second():
    rate = Limit(metric="output_tokens_per_s", statistic="total", value=50.0, side="at_least")
    assert verdict(outcomes_of(noisy(10.0)), rate).verdict == "keeps"
    high = Limit(metric="output_tokens_per_s", statistic="total", value=70.0, side="at_least")
    assert verdict(outcomes_of(noisy(10.0)), high).verdict == "misses"
