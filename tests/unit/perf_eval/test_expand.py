import pytest
from recipe_factory import engine, examined, recipe, workload

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.perf_eval.expand import expand, request_count
from gauntlet.perf_eval.explain import explain
from gauntlet.perf_eval.render import expansion_table
from gauntlet.perf_eval.workloads import Workload

STREAMS = "workloads.random.arrivals.concurrency"
SWEEP = [{"grid": {"topology.parallel.tp": [2, 4]}}, {"grid": {STREAMS: [1, 8]}}]
PLACED = {
    "engine": engine(),
    "topology": {"parallel": {"tp": 1}},
    "hardware": {"accelerator": "H200", "count": 4},
}


def test_variants_have_their_servers_and_points_their_workload():
    expansion = expand(recipe(**PLACED, sweep=SWEEP, repetitions=3))
    assert [(v.label, v.gpus, v.topology.parallel.tp) for v in expansion.variants] == [
        ("tp=2", 2, 2),
        ("tp=4", 4, 4),
    ]
    assert "--tensor-parallel-size 4" in " ".join(expansion.variants[1].servers[0].argv)
    assert [point.workload.arrivals.concurrency for point in expansion.points_of("tp=4")] == [1, 8]
    assert (expansion.gpus, expansion.measured, expansion.requests) == (4, 3, 4 * 20 * 3)


def test_the_command_of_a_point_runs_it_with_the_same_settings():
    expansion = expand(recipe(sweep=SWEEP[1:]), reference="my.yaml", settings=["a.b=c d"])
    assert expansion.points[0].command == (
        *("gauntlet", "bench", "run", "my.yaml", "--point", "random/concurrency=1"),
        *("--set", "a.b=c d"),
    )
    assert "--set 'a.b=c d'" in expansion_table(expansion)


def test_a_point_is_found_by_key_or_by_a_label_that_is_its_own():
    expansion = expand(recipe(**PLACED, sweep=SWEEP))
    assert expansion.point("tp=2/random/concurrency=8").workload.concurrency == 8
    with pytest.raises(UsageError, match="2 points are labelled"):
        expansion.point("concurrency=8")
    with pytest.raises(UsageError, match="did you mean 'tp=2/random/concurrency=8'"):
        expansion.point("tp=2/random/concurency=8")
    assert expand(recipe(sweep=SWEEP[1:])).point("concurrency=8").label == "concurrency=8"


def test_a_comparison_has_two_sides_of_each_variant_and_the_same_points():
    sides = {"baseline": {"engine.version": "0.32.0"}, "candidate": {}}
    expansion = expand(recipe(**PLACED, sweep=SWEEP, comparison=sides, blocks={"min": 2, "max": 3}))
    assert [(v.label, v.side, v.engine.version) for v in expansion.variants] == [
        ("tp=2", "baseline", "0.32.0"),
        ("tp=2", "candidate", "0.33.0"),
        ("tp=4", "baseline", "0.32.0"),
        ("tp=4", "candidate", "0.33.0"),
    ]
    assert (len(expansion.points), expansion.measured) == (4, 8)


@pytest.mark.parametrize(
    ("comparison", "expected"),
    [
        pytest.param(
            {"candidate": {"engine.versions": "1"}}, "comparison.candidate.*'version'", id="typo"
        ),
        pytest.param(
            {"candidate": {"workloads.random.requests": 1}}, "only what is below", id="load"
        ),
        pytest.param({}, "are the same", id="same"),
    ],
)
def test_a_comparison_of_nothing_or_of_loads_is_refused(comparison, expected):
    with pytest.raises(ConfigError, match=expected):
        examined(**PLACED, comparison=comparison)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, 20, id="said"),
        pytest.param(
            {"requests": None, "prompts": {"kind": "trace", "source": {"generate": 9}}},
            9,
            id="made",
        ),
        pytest.param(
            {"requests": None, "prompts": {"kind": "trace", "source": {"generate": 9}, "rows": 4}},
            4,
            id="rows",
        ),
        pytest.param(
            {
                "requests": None,
                "prompts": {"kind": "trace", "source": {"generate": 9}, "window_s": [0, 5]},
            },
            None,
            id="window",
        ),
        pytest.param(
            {"requests": None, "prompts": {"kind": "jsonl", "file": "x"}}, None, id="file"
        ),
    ],
)
def test_requests_are_counted_where_they_are_known(changes, expected):
    assert request_count(Workload.model_validate(workload(**changes))) == expected


def test_an_unknown_number_of_requests_makes_the_sum_unknown():
    load = workload("rows", requests=None, prompts={"kind": "jsonl", "file": "x.jsonl"})
    expansion = expand(recipe(workloads=[workload(), load]))
    assert expansion.requests is None
    assert "unknown requests" in expansion_table(expansion)


def test_a_recipe_without_engine_runs_against_what_it_is_given():
    expansion = expand(recipe())
    assert (expansion.variants[0].servers, expansion.gpus) == ((), 0)
    assert "--base-url or --runtime" in expansion_table(expansion)


def test_an_explanation_has_numbers_reasons_and_what_decides():
    limits = [{"workload": "random", "metric": "ttft_ms", "statistic": "mean", "at_most": 500}]
    search = {"parameter": "concurrency", "low": 1, "high": 64, "probe_requests": 50}
    page = explain(examined(**PLACED, sweep=SWEEP, objectives=limits, search=search))
    for expected in (
        "20 requests, sent closed (concurrency 4); prompts random (prompt_tokens 64",
        "sweep 2: 2 combinations of workloads.random.arrivals.concurrency",
        "search on random: (parameter concurrency, low 1, high 64, probe_requests 50)",
        "ok: heads % tp [tp=4]: 64 attention heads % tp 4 = 0",
        "mean ttft_ms of random: at most 500",
        "between_repetitions new_seed: every repetition has prompts of its own",
        "--point tp=4/random/concurrency=8",
    ):
        assert expected in page
    assert "nothing: the figures are kept" in explain(examined())
