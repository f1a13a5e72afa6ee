"""The benchmark of comparisons, on a handful of releases: that it measures what it says."""

import math

import numpy as np
from judging import sides


def test_every_figure_is_a_number_with_a_name_of_its_own():
    figures = sides.figures(seed=1, releases=4)
    assert len({figure.name for figure in figures}) == len(figures)
    assert all(figure.area == "sides" and math.isfinite(figure.value) for figure in figures)
    assert sum(figure.goal is not None for figure in figures) == 5


def test_a_large_loss_ends_a_session_early_and_alone():
    losses = np.zeros(sides.METRICS)
    losses[3] = 0.2
    ended = sides.play(np.random.default_rng(2), sides.Machine(), losses)
    assert [n for n, outcome in enumerate(ended.outcomes) if outcome == "worse"] == [3]
    assert ended.blocks < sides.BLOCKS.max


def test_a_drift_cancels_in_the_effect():
    quiet = sides.Machine(common=0.0, drift=0.04)
    turns = sides._turns(np.random.default_rng(3), quiet)
    still = sides._turns(np.random.default_rng(3), sides.Machine())
    one, other = sides._finding(0, turns[0]), sides._finding(0, still[0])
    assert math.isclose(one.evidence.loss, other.evidence.loss, abs_tol=1e-9)
