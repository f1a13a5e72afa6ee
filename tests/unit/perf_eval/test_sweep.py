import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from recipe_factory import document, engine, examined, recipe, workload

from gauntlet.core.errors import ConfigError
from gauntlet.perf_eval.expand import expand
from gauntlet.perf_eval.sweep import SweepPart, combination_count, combinations

STREAMS = "workloads.random.arrivals.concurrency"
REQUESTS = "workloads.random.requests"
SEQUENCES = "engine.arguments.--max-num-seqs"


def part(**data):
    return SweepPart.model_validate(data)


def keys(**changes):
    return [point.key for point in expand(recipe(**changes)).points]


def test_a_grid_multiplies_a_zip_goes_side_by_side_and_rows_are_as_written():
    grid = part(grid={"a.b": [1, 2], "c.d": [3, 4]})
    assert [tuple(row.values()) for row in grid.combinations()] == [(1, 3), (1, 4), (2, 3), (2, 4)]
    side = part(zip={"a.b": [1, 2], "c.d": [3, 4]})
    assert [tuple(row.values()) for row in side.combinations()] == [(1, 3), (2, 4)]
    rows = part(rows=[{"a.b": 1}, {"a.b": 5}])
    assert rows.combinations() == [{"a.b": 1}, {"a.b": 5}]
    assert combination_count((grid, side, rows)) == 4 * 2 * 2
    assert combinations(()) == [{}]


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        pytest.param({}, "one of grid, zip and rows", id="none"),
        pytest.param({"grid": {"a": [1]}, "zip": {"a": [1]}}, "one of grid", id="two"),
        pytest.param({"zip": {"a": [1, 2], "b": [1]}}, "a has 2, b has 1", id="unequal"),
        pytest.param({"grid": {"a": []}}, "at least 1", id="empty-axis"),
        pytest.param({"rows": [{}]}, "at least 1", id="empty-row"),
        pytest.param({"rows": [{"a": 1}, {"b": 1}]}, "the same paths", id="rows"),
    ],
)
def test_a_sweep_without_a_form_is_refused(data, expected):
    with pytest.raises(ValidationError, match=expected):
        part(**data)


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        pytest.param(
            [{"grid": {STREAMS: [1, 16]}}],
            ["random/concurrency=1", "random/concurrency=16"],
            id="axis",
        ),
        pytest.param(
            [{"zip": {STREAMS: [1, 16], REQUESTS: [10, 20]}}],
            ["random/concurrency=1", "random/concurrency=16"],
            id="zip-is-told-by-its-first",
        ),
        pytest.param(
            [{"zip": {STREAMS: [1, 1], REQUESTS: [10, 20]}}],
            ["random/concurrency=1,requests=10", "random/concurrency=1,requests=20"],
            id="zip-whose-first-repeats",
        ),
        pytest.param(
            [{"grid": {SEQUENCES: [8, 9]}}, {"grid": {STREAMS: [1]}}],
            ["max-num-seqs=8/random/concurrency=1", "max-num-seqs=9/random/concurrency=1"],
            id="variants",
        ),
        pytest.param(
            [
                {
                    "grid": {
                        "workloads.random.arrivals": [
                            {"kind": "closed", "concurrency": 2},
                            {"kind": "poisson", "rate": 3},
                        ]
                    }
                }
            ],
            ["random/arrivals=#1", "random/arrivals=#2"],
            id="structures-by-number",
        ),
        pytest.param(
            [
                {
                    "grid": {
                        "workloads.random.prompts.prompt_tokens.max": [64],
                        "workloads.random.prompts.output_tokens.max": [16],
                    }
                }
            ],
            ["random/prompt_tokens.max=64,output_tokens.max=16"],
            id="as-much-of-the-path-as-tells-apart",
        ),
        pytest.param(
            [{"grid": {"engine.model": ["org/a b", "org/a_b"]}}],
            ["model=#1/random", "model=#2/random"],
            id="texts-that-would-read-alike",
        ),
    ],
)
def test_points_have_short_unique_keys(sweep, expected):
    assert keys(engine=engine(), sweep=sweep) == expected


def test_a_workload_is_not_repeated_for_the_axes_of_another():
    loads = [workload(), workload("trace")]
    assert keys(workloads=loads, sweep=[{"grid": {STREAMS: [1, 2, 3]}}]) == [
        "random/concurrency=1",
        "random/concurrency=2",
        "random/concurrency=3",
        "trace",
    ]


@given(
    variants=st.lists(st.integers(1, 500), min_size=1, max_size=4, unique=True),
    streams=st.lists(st.integers(1, 500), min_size=1, max_size=4, unique=True),
    lengths=st.lists(st.integers(1, 500), min_size=1, max_size=3, unique=True),
    zipped=st.integers(1, 3),
)
def test_points_are_the_product_of_what_touches_them(variants, streams, lengths, zipped):
    requests = list(range(1, zipped + 1))
    sweep = [
        {"grid": {SEQUENCES: variants, STREAMS: streams}},
        {"grid": {"workloads.other.prompts.prompt_tokens": lengths}},
        {"zip": {REQUESTS: requests, "workloads.random.warmup_requests": requests}},
    ]
    made = recipe(engine=engine(), workloads=[workload(), workload("other")], sweep=sweep)
    expansion = expand(made)
    assert combination_count(made.sweep) == math.prod(
        map(len, (variants, streams, lengths, requests))
    )
    assert len(expansion.variants) == len(variants)
    of_random = len(streams) * len(requests)
    assert len(expansion.points) == len(variants) * (of_random + len(lengths))
    assert len({point.key for point in expansion.points}) == len(expansion.points)
    for point in expansion.points:
        assert expansion.point(point.key) is point


@pytest.mark.parametrize(
    ("sweep", "expected"),
    [
        pytest.param(
            {"grid": {"workloads.random.arrivals.concurency": [1]}},
            r"sweep\[0\].grid.workloads.*.concurency: unknown key; did you mean 'concurrency'",
            id="unknown-key",
        ),
        pytest.param({"grid": {"workloads.nope.requests": [1]}}, "nothing named 'nope'", id="name"),
        pytest.param(
            {"zip": {STREAMS: [1, 0]}}, r"greater than or equal to 1 \(got 0\)", id="value"
        ),
        pytest.param({"grid": {"repetitions": [1, 2]}}, "only what is below engine", id="head"),
        pytest.param({"grid": {"workloads.random.name": ["a"]}}, "cannot be swept", id="identity"),
        pytest.param({"rows": [{"engine.kind": "openai"}]}, "needs a model", id="whole"),
    ],
)
def test_a_sweep_that_cannot_be_applied_is_refused_with_its_line(sweep, expected):
    with pytest.raises(ConfigError, match=rf"recipe.yaml:\d+: .*{expected}"):
        examined(sweep=[sweep])


def test_the_line_is_that_of_the_path():
    text = document(sweep=[{"grid": {STREAMS: [1, 2], "workloads.random.request": [3]}}])
    with pytest.raises(ConfigError) as caught:
        expand(recipe(sweep=text.value["sweep"]), document=text)
    (problem,) = caught.value.problems
    assert problem.line == text.lines["sweep", 0, "grid", "workloads.random.request"]


def test_a_path_swept_twice_is_refused():
    with pytest.raises(ConfigError, match="in two parts"):
        examined(sweep=[{"grid": {STREAMS: [1]}}, {"grid": {STREAMS: [2]}}])


def test_a_sweep_too_large_to_run_is_refused():
    with pytest.raises(ConfigError, match="10000 combinations, at most 4096"):
        examined(sweep=[{"grid": {STREAMS: list(range(1, 101)), REQUESTS: list(range(1, 101))}}])
