"""Change points: contract, invariances, error rates on seeded noise, and real series."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.changepoints import detect
from gauntlet.analyzer.changepoints.segment import segment

finite_floats = st.floats(-1e6, 1e6, allow_subnormal=False)
series_of_floats = st.lists(finite_floats, min_size=0, max_size=60)


def noise(seed, count, *, memory=0.0, sigma=0.02):
    rng = np.random.default_rng(seed)
    values = rng.normal(0, sigma, count)
    for index in range(1, count):
        values[index] = memory * values[index - 1] + math.sqrt(1 - memory**2) * values[index]
    return 1000 * (1 + values)


def step(seed, *, at, size=0.05, count=60, memory=0.0, sigma=0.02):
    values = noise(seed, count, memory=memory, sigma=sigma)
    values[at:] *= 1 + size
    return values


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], [], id="empty"),
        pytest.param([3.0], [], id="one-point"),
        pytest.param([3.0] * 50, [], id="constant"),
        pytest.param([math.nan] * 20, [], id="nothing-measured"),
        pytest.param([1.0] * 4 + [2.0] * 4, [], id="too-short-to-say"),
        pytest.param([1.0] * 30 + [2.0] * 30, [30], id="without-noise"),
        pytest.param([0.0] * 20 + [1.0] * 20 + [0.0] * 20, [20, 40], id="up-and-back"),
        pytest.param([1.0] * 30 + [9.0] + [1.0] * 30, [], id="one-outlier"),
    ],
)
def test_simple_series_have_defined_answers(values, expected):
    assert detect(values) == expected


def test_an_infinite_value_is_an_error_that_names_it():
    with pytest.raises(ValueError, match="value 2 is infinite"):
        detect([1.0, 2.0, math.inf])


def test_a_table_is_not_a_series():
    with pytest.raises(ValueError, match="one dimension, not 2"):
        detect([[1.0, 2.0], [3.0, 4.0]])  # type: ignore[list-item]


@given(series_of_floats)
def test_answers_are_ordered_indices_of_the_series(values):
    found = detect(values)
    assert found == sorted(set(found))
    assert all(type(index) is int and 0 < index < len(values) for index in found)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(("factor", "offset"), [(1e-6, 0.0), (37.5, 0.0), (1.0, -5e3), (2.0, 1e4)])
def test_unit_and_origin_do_not_matter(seed, factor, offset):
    values = step(seed, at=25)
    assert detect(factor * values + offset) == detect(values) != []


@pytest.mark.parametrize("seed", range(6))
def test_the_direction_does_not_matter(seed):
    values = step(seed, at=35, sigma=0.01)
    assert detect(-values) == detect(values)


@pytest.mark.parametrize("seed", range(6))
def test_a_series_read_backwards_changes_at_the_same_place(seed):
    values = step(seed, at=22, sigma=0.005)
    found = detect(values)
    assert 22 in found
    assert detect(values[::-1]) == [60 - index for index in reversed(found)]


def test_shuffling_a_series_takes_its_step_away():
    values = step(3, at=30)
    assert detect(values) != []
    rng = np.random.default_rng(1)
    alarms = sum(bool(detect(rng.permutation(values))) for _ in range(200))
    assert alarms <= 4


def test_missing_points_are_skipped_and_counted():
    values = step(5, at=30, sigma=0.005)
    with_holes = np.insert(values, [3, 30, 30], math.nan)
    assert detect(values) == [30]
    assert detect(with_holes) == [33]


@pytest.mark.parametrize(
    ("memory", "most"),
    [pytest.param(0.0, 0.015, id="independent"), pytest.param(0.5, 0.08, id="AR(1)")],
)
def test_unchanged_series_rarely_alarm(memory, most):
    alarms = [bool(detect(noise(seed, 60, memory=memory))) for seed in range(400)]
    assert np.mean(alarms) <= most


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(lambda rng: rng.standard_t(3, 80), id="heavy-tails"),
        pytest.param(lambda rng: rng.exponential(size=80), id="one-sided"),
        pytest.param(lambda rng: np.exp(rng.normal(size=80)), id="lognormal"),
        pytest.param(lambda rng: rng.normal(size=80) + 9 * (rng.random(80) < 0.3), id="two-pools"),
        pytest.param(lambda rng: np.round(rng.normal(size=80)), id="few-values"),
        pytest.param(lambda rng: (rng.random(80) < 0.1) * 1.0, id="mostly-zero"),
    ],
)
def test_the_shape_of_the_noise_raises_few_alarms(shape):
    rng = np.random.default_rng(11)
    assert np.mean([bool(detect(shape(rng))) for _ in range(200)]) <= 0.03


@pytest.mark.parametrize("memory", [0.0, 0.5])
def test_steps_are_found_where_they_are(memory):
    hits = 0
    for seed in range(60):
        at = 15 + seed % 30
        found = detect(step(seed, at=at, memory=memory))
        hits += len(found) == 1 and abs(found[0] - at) <= 2
    assert hits >= 0.8 * 60


def test_a_ramp_has_no_step_and_is_a_drift():
    drifts = 0
    for seed in range(40):
        ramp = 1 + 0.05 * np.clip((np.arange(60) - 8) / 40, 0, 1)
        found = segment(noise(seed, 60, sigma=0.01) * ramp)
        drifts += len(found.drifts) == 1 and not found.steps
    assert drifts >= 34


def test_the_interval_holds_the_place():
    inside = 0
    for seed in range(60):
        at = 20 + seed % 20
        (found, *_) = segment(step(seed, at=at, size=0.06)).steps or [None]
        inside += found is not None and found.first <= at <= found.last
    assert inside >= 0.85 * 60


def test_long_series_are_split_often_and_in_bounded_time():
    values = noise(9, 10_000)
    for at in range(1_000, 10_000, 1_000):
        values[at:] *= 1.05
    found = detect(values)
    near = [min(abs(index - at) for index in found) for at in range(1_000, 10_000, 1_000)]
    assert max(near) <= 5
    assert len(found) <= 12


# Real series: what people or other programs found in them.


def test_tigerbeetle_changes_where_its_people_see_it(shared):
    # Upstream's test asserts 15 and 71, its text names 10 (one point), 16, 71 and 97 by eye.
    record = json.loads((shared / "data/perf-series/tigerbeetle.json").read_text())
    assert detect(record["series"]) == [15, 61, 71, 95]


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        pytest.param("runs1", [111], id="one-alert"),
        pytest.param("runs3", [24, 98], id="two-alerts"),
        pytest.param("runs5", [], id="only-outliers"),
    ],
)
def test_talos_series_change_where_perfherder_alerts(shared, name, ours):
    folder = shared / "data/perf-series"
    runs = sorted(
        json.loads((folder / f"{name}.json").read_text())["test_runs"], key=lambda run: run[2]
    )
    times = [run[2] for run in runs]
    alerts = json.loads((folder / "expected.json").read_text())[name]
    assert detect([run[3] for run in runs]) == ours == [times.index(alert) for alert in alerts]
