import numpy as np
import pytest

from gauntlet.harness.soak import SegmentPoint, growth_of, segments_of
from gauntlet.perf_eval.goals import Soak
from gauntlet.perf_eval.workloads import Workload

SOAK = Soak(
    duration_s=36_000,
    rate_share=0.5,
    rss_mb_per_h_at_most=10,
    rss_mb_per_1k_requests_at_most=1,
)
WORKLOAD = Workload.model_validate(
    {
        "name": "w",
        "arrivals": {"kind": "poisson", "rate": 4},
        "prompts": {"kind": "random", "prompt_tokens": 8, "output_tokens": 4},
        "requests": 10,
        "warmup_requests": 3,
    }
)


def points(per_hour, *, requests_per_h=7200, noise=0.0, settle=0.0, seed=1):
    rng = np.random.default_rng(seed)
    hours = np.linspace(0.1, 9.9, 60)
    start = settle * np.exp(-hours * 3)
    return [
        SegmentPoint(
            at_s=h * 3600,
            rss_mb=1000 + per_hour * h - s + rng.normal(0, noise),
            requests=round(h * requests_per_h),
        )
        for h, s in zip(hours, start, strict=True)
    ]


def test_segments_cover_the_soak_at_its_share_of_the_rate():
    segments = segments_of(WORKLOAD, SOAK)
    assert len(segments) == 60
    assert {segment.arrivals.rate for segment in segments} == {2.0}
    assert sum(segment.requests for segment in segments) == 72_000
    assert [segment.warmup_requests for segment in segments] == [3] + [0] * 59


@pytest.mark.parametrize(("duration", "count"), [(60, 12), (14, 7), (3, 1), (86_400, 144)])
def test_short_and_long_soaks_have_segments_of_a_useful_length(duration, count):
    soak = Soak(duration_s=duration, settle_s=0, sample_s=0.5, rss_mb_per_h_at_most=1)
    assert len(segments_of(WORKLOAD, soak)) == count


@pytest.mark.parametrize("noise", [0.0, 20.0])
def test_a_leak_is_measured_and_called_one(noise):
    growth = growth_of(points(30, noise=noise), SOAK)
    assert growth.per_hour_mb.low <= 30 <= growth.per_hour_mb.high
    assert growth.per_1k_requests_mb.value == pytest.approx(30 / 7.2, rel=0.3)
    assert growth.grows
    assert "MB/h" in growth.reasons[0]


def test_what_only_warms_up_does_not_leak():
    assert not growth_of(points(0, settle=400, noise=3), SOAK).grows


def test_growth_within_its_limit_is_none():
    assert not growth_of(points(5, noise=5), SOAK).grows


def test_an_idle_server_that_grows_by_the_hour_only_is_not_accused():
    """Many requests, little of it each: both limits have to be exceeded."""
    assert not growth_of(points(30, requests_per_h=200_000), SOAK).grows


def test_steady_noise_is_rarely_called_growth():
    alarms = sum(growth_of(points(0, noise=50, seed=seed), SOAK).grows for seed in range(100))
    assert alarms == 0


def test_too_few_points_say_nothing():
    growth = growth_of(points(30)[:8], SOAK)
    assert (growth.per_hour_mb, growth.grows) == (None, False)
