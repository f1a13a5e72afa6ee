import pytest
from pydantic import ValidationError
from recipe_factory import recipe, workload

from gauntlet.perf_eval.goals import Objective, Search, Soak

OPEN = workload(arrivals={"kind": "poisson", "rate": 5})
LIMIT = {"workload": "random", "metric": "ttft_ms", "statistic": "mean", "at_most": 100}
SEARCH = {"parameter": "rate", "low": 1, "high": 9, "probe_s": 60}
SOAK = {"duration_s": 7200, "rss_mb_per_h_at_most": 20}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"metric": "output_tokens_per_s", "statistic": "total", "at_least": 1, "at_most": None},
        {"metric": "failed_share", "statistic": "total", "at_most": 0.01},
        {"metric": "itl_ms", "statistic": "p95"},
    ],
)
def test_limits_that_mean_something(changes):
    assert Objective.model_validate({**LIMIT, **changes}).workload == "random"


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"at_most": None, "at_least": 5}, "limited by at_most", id="wrong-side"),
        pytest.param({"at_least": 5}, "by nothing else", id="both"),
        pytest.param({"statistic": "total"}, "mean or a percentile, not total", id="total"),
        pytest.param(
            {"metric": "goodput_per_s", "at_most": None, "at_least": 1},
            "goodput_per_s is total",
            id="mean",
        ),
        pytest.param({"metric": "speed"}, "ttft_ms", id="metric"),
    ],
)
def test_limits_that_mean_nothing_are_refused(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        Objective.model_validate({**LIMIT, **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"low": 9}, "must be less than high", id="order"),
        pytest.param({"probe_s": None}, "probe_s or probe_requests", id="no-length"),
        pytest.param({"probe_requests": 5}, "probe_s or probe_requests", id="two-lengths"),
        pytest.param({"parameter": "concurrency", "low": 1.5}, "whole number", id="half-a-stream"),
        pytest.param({"confidence": 0.5}, "greater than 0.5", id="confidence"),
    ],
)
def test_searches_without_sense_are_refused(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        Search.model_validate({**SEARCH, **changes})


def test_a_soak_settles_for_a_tenth_but_at_most_an_hour():
    assert Soak(duration_s=7200, rss_mb_per_h_at_most=1).settled_after_s == 720
    assert Soak(duration_s=864_000, rss_mb_per_h_at_most=1).settled_after_s == 3600
    assert Soak(duration_s=7200, settle_s=0, rss_mb_per_h_at_most=1).settled_after_s == 0


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"duration_s": 15}, "no two samples", id="short"),
        pytest.param({"rss_mb_per_h_at_most": None}, "give a limit", id="no-limit"),
        pytest.param({"rate_share": 1.5}, "less than or equal to 1", id="share"),
    ],
)
def test_soaks_without_sense_are_refused(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        Soak.model_validate({**SOAK, **changes})


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"search": SEARCH, "soak": SOAK, "objectives": [LIMIT]}, "exclude each other", id="both"
        ),
        pytest.param({"search": SEARCH}, "needs objectives for random", id="search-without-limits"),
        pytest.param(
            {"search": {**SEARCH, "parameter": "concurrency"}, "objectives": [LIMIT]},
            "arrivals of kind closed, random has poisson",
            id="search-other-parameter",
        ),
        pytest.param(
            {"soak": SOAK, "workloads": [workload()]}, "soak needs arrivals", id="soak-closed"
        ),
        pytest.param(
            {"soak": SOAK, "workloads": [OPEN, {**OPEN, "name": "b"}]},
            "soak needs to name one",
            id="which",
        ),
        pytest.param(
            {"soak": {**SOAK, "workload": "randm"}}, "did you mean 'random'", id="unknown"
        ),
        pytest.param(
            {
                "objectives": [
                    {
                        "workload": "random",
                        "metric": "goodput_per_s",
                        "statistic": "total",
                        "at_least": 1,
                    }
                ]
            },
            "needs workloads.random.goodput",
            id="goodput-without-limits",
        ),
        pytest.param(
            {"comparison": {"candidate": {"engine.version": "1"}}, "repetitions": 3},
            "repeats in blocks",
            id="comparison-with-repetitions",
        ),
        pytest.param(
            {"workloads": [{**OPEN, "goodput": {}}]}, "at least one of ttft_ms", id="no-goodput"
        ),
    ],
)
def test_goals_that_do_not_fit_the_recipe_are_refused(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        recipe(**{"workloads": [OPEN], **changes})


def test_goals_that_fit():
    made = recipe(
        workloads=[{**OPEN, "goodput": {"ttft_ms": 100}}],
        objectives=[
            LIMIT,
            {
                **LIMIT,
                "metric": "goodput_per_s",
                "statistic": "total",
                "at_least": 1,
                "at_most": None,
            },
        ],
        search=SEARCH,
    )
    assert made.goal_workload(made.search).name == "random"
