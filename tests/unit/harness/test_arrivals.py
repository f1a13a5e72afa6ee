import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gauntlet.harness.load.arrivals import schedule
from gauntlet.perf_eval.workloads import Arrivals

ADAPTER = TypeAdapter(Arrivals)


def arrivals(**fields):
    return ADAPTER.validate_python(fields)


def gaps(made):
    return np.diff(made.due_s)


def test_streams_of_a_closed_loop_start_spread_not_together():
    made = schedule(arrivals(kind="closed", concurrency=50), 500, seed=1)
    assert (made.label, made.due_s, made.streams) == ("closed", None, 50)
    assert made.stagger_s[0] == 0.0
    assert len(set(made.stagger_s)) == 50
    assert max(made.stagger_s) < 1.0
    together = schedule(arrivals(kind="closed", concurrency=50, stagger_s=0), 500, seed=1)
    assert set(together.stagger_s) == {0.0}


def test_there_are_never_more_streams_than_requests():
    assert schedule(arrivals(kind="closed", concurrency=50), 7, seed=1).streams == 7


def test_a_constant_rate_is_constant():
    made = schedule(arrivals(kind="constant", rate=40), 100, seed=1)
    assert gaps(made) == pytest.approx(np.full(99, 0.025))
    assert made.label == "open"


@pytest.mark.parametrize(
    ("kind", "variation"),
    [
        ({"kind": "poisson"}, 1.0),
        ({"kind": "gamma", "burstiness": 0.25}, 2.0),
        ({"kind": "gamma", "burstiness": 4.0}, 0.5),
    ],
)
def test_random_gaps_have_their_mean_and_their_variation(kind, variation):
    """Coefficient of variation of gamma gaps of shape k is 1 / sqrt(k); Poisson is k = 1."""
    made = schedule(arrivals(rate=20, **kind), 40_000, seed=3)
    assert gaps(made).mean() == pytest.approx(0.05, rel=0.05)
    assert gaps(made).std() / gaps(made).mean() == pytest.approx(variation, rel=0.05)


@pytest.mark.parametrize("shape", ["linear", "exponential"])
@pytest.mark.parametrize(("start", "end"), [(5.0, 50.0), (50.0, 5.0), (10.0, 10.0)])
def test_a_ramp_goes_from_its_first_rate_to_its_last(shape, start, end):
    made = schedule(
        arrivals(kind="ramp", start_rate=start, end_rate=end, shape=shape, gaps="constant"),
        2000,
        seed=1,
    )
    assert 1 / gaps(made)[0] == pytest.approx(start, rel=0.05)
    assert 1 / gaps(made)[-1] == pytest.approx(end, rel=0.05)
    assert (gaps(made) > 0).all()


def test_a_ramp_with_random_gaps_keeps_its_length():
    made = schedule(arrivals(kind="ramp", start_rate=10, end_rate=30), 4000, seed=2)
    assert made.due_s[-1] == pytest.approx(200, rel=0.1)
    assert list(made.due_s) == sorted(made.due_s)


def test_timestamps_are_replayed_from_the_first_and_scaled():
    made = schedule(arrivals(kind="timed", time_scale=0.5), 3, seed=1, timestamps_s=[7.0, 9.0, 8.0])
    assert made.due_s == (0.0, 1.0, 0.5)


def test_a_request_without_its_timestamp_is_no_request_at_zero():
    with pytest.raises(ValueError, match="1 of 3 requests have no timestamp"):
        schedule(arrivals(kind="timed"), 3, seed=1, timestamps_s=[0.0, None, 2.0])


def test_everything_at_once_is_called_a_burst():
    assert schedule(arrivals(kind="burst"), 4, seed=1).label == "burst"


@given(st.integers(0, 1000), st.integers(0, 1000))
def test_arrivals_depend_on_the_seed_alone(one, other):
    poisson = arrivals(kind="poisson", rate=5)
    made = schedule(poisson, 20, seed=one)
    assert made == schedule(poisson, 20, seed=one)
    assert (made == schedule(poisson, 20, seed=other)) == (one == other)
