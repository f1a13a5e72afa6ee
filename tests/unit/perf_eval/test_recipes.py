import json

import pytest
import yaml

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.perf_eval.jsonl import dump_jsonl, read_jsonl
from gauntlet.perf_eval.questions import (
    WordProblem,
    generate_tool_tasks,
    generate_word_problems,
    read_word_problems,
)
from gauntlet.perf_eval.recipe import Recipe, load_recipe
from gauntlet.perf_eval.trace import TraceRow, generate_trace, read_trace, slice_rows


def smoke(tmp_path, change):
    recipe = yaml.safe_load(load_recipe("smoke").model_dump_json())
    change(recipe)
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return str(path)


def test_an_unknown_recipe_names_the_known():
    with pytest.raises(UsageError, match="did you mean 'smoke'"):
        load_recipe("smok")


def test_a_recipe_survives_being_stored_and_read_again():
    recipe = load_recipe("nemotron_3_super-h200")
    assert Recipe.model_validate_json(recipe.model_dump_json()) == recipe


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        pytest.param(
            lambda r: r["workloads"][0]["arrivals"].update(concurency=3),
            r"recipe.yaml:\d+: workloads\[0\].*concurency: unknown key.*'concurrency'",
            id="typo",
        ),
        pytest.param(
            lambda r: r["workloads"][0]["arrivals"].update(rate=3),
            "rate: unknown key; allowed: concurrency, kind, stagger_s",
            id="key-of-another-kind",
        ),
        pytest.param(
            lambda r: r["workloads"][0]["prompts"].update(kind="rendom"), "'rendom'", id="kind"
        ),
        pytest.param(
            lambda r: r["judge"]["load"][0].update(workload="nope"),
            "judge.load names the workload 'nope'",
            id="dangling",
        ),
        pytest.param(
            lambda r: r["judge"]["evals"][0].update(task="gsm9k"),
            "did you mean 'gsm8k'",
            id="dangling-task",
        ),
        pytest.param(lambda r: r["blocks"].update(min=5), "is less than min", id="blocks"),
        pytest.param(lambda r: r["evals"][0].update(name="random"), "used twice", id="twice"),
        pytest.param(
            lambda r: r["workloads"][1]["prompts"]["source"].update(file="x"),
            "either file or",
            id="sources",
        ),
        pytest.param(
            lambda r: r.update(workloads=[], evals=[], judge={}), "at least one", id="nothing"
        ),
        pytest.param(lambda r: r.update(expected_minutes=500), "more than timeout", id="minutes"),
        pytest.param(lambda r: r.update(normalise="gpu"), "needs hardware", id="normalise"),
        pytest.param(
            lambda r: r.update(normalise="die", hardware={"accelerator": "XPU9"}),
            "dies of XPU9 are not known",
            id="dies",
        ),
    ],
)
def test_mistakes_are_named(tmp_path, change, expected):
    with pytest.raises(ConfigError, match=expected):
        load_recipe(smoke(tmp_path, change))


def test_settings_are_applied_before_the_recipe_is_used():
    recipe = load_recipe("smoke", {"workloads.random.requests": 7, "repetitions": 2})
    assert (recipe.workloads[0].requests, recipe.repetitions) == (7, 2)


def test_generated_sets_are_distinct_and_depend_on_the_seed_alone():
    problems = generate_word_problems(300, 5)
    assert problems == generate_word_problems(300, 5) != generate_word_problems(300, 6)
    assert len({problem.question for problem in problems}) == 300
    tasks = generate_tool_tasks(200, 5)
    assert len({json.dumps(task.question) for task in tasks}) == 200
    assert generate_trace(50, 1) == generate_trace(50, 1) != generate_trace(50, 2)


def test_generated_answers_are_right():
    for problem in generate_word_problems(50, 1):
        numbers = [
            int(word) for word in problem.question.replace(",", " ").split() if word.isdigit()
        ]
        start, rows, per_row, gone = numbers
        assert problem.answer.endswith(f"#### {start + rows * per_row - gone}")


def test_generated_traces_share_prefixes_and_give_one_id_per_block():
    trace = generate_trace(300, 3)
    times = [row.timestamp for row in trace]
    assert times == sorted(times)
    for row in trace:
        assert (len(row.hash_ids) - 1) * 512 < row.input_length <= len(row.hash_ids) * 512
    seen, shared = set(), 0
    for row in trace:
        shared += any(row.hash_ids[:n] in seen for n in range(2, len(row.hash_ids) + 1))
        seen |= {row.hash_ids[:n] for n in range(1, len(row.hash_ids) + 1)}
    assert shared > 150


def test_a_slice_starts_at_zero_and_is_scaled():
    rows = [
        TraceRow(timestamp=1000 * n, input_length=800, output_length=400, hash_ids=(n,))
        for n in range(9)
    ]
    arrivals = slice_rows(rows, skip=3, count=4, length_scale=0.25, max_output_tokens=64)
    assert [arrival.at_s for arrival in arrivals] == [0.0, 1.0, 2.0, 3.0]
    assert {(a.prompt_tokens, a.output_tokens) for a in arrivals} == {(200, 64)}
    with pytest.raises(ConfigError, match="the trace has 9"):
        slice_rows(rows, skip=8, count=4)
    assert [a.at_s for a in slice_rows(rows, window_s=(2.5, 5.0))] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param(
            '{"timestamp": -5, "input_length": 1, "output_length": 1, "hash_ids": [1]}',
            "timestamp",
            id="negative",
        ),
        pytest.param(
            '{"timestamp": 0, "input_length": 0, "output_length": 1, "hash_ids": [1]}',
            "input_length",
            id="zero",
        ),
        pytest.param(
            '{"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": []}',
            "hash_ids",
            id="no-ids",
        ),
        pytest.param("not json", "JSON", id="not-json"),
    ],
)
def test_bad_trace_lines_are_named(tmp_path, line, expected):
    path = tmp_path / "trace.jsonl"
    path.write_text(f"{dump_jsonl(generate_trace(2, 1))}\n{line}\n")
    with pytest.raises(ConfigError, match=rf"trace.jsonl:4:.*{expected}"):
        read_trace(path)


def test_jsonl_round_trip_and_empty_files(tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text(dump_jsonl(generate_word_problems(3, 1)))
    assert read_word_problems(path) == generate_word_problems(3, 1)
    path.write_text("\n")
    with pytest.raises(ConfigError, match="no rows"):
        read_jsonl(path, WordProblem)


def test_real_traces_and_questions_are_read(shared):
    folder = shared / "data"
    trace = read_trace(folder / "traces" / "mooncake_fast25_conversation_head2000.jsonl")
    assert (len(trace), trace[0].hash_ids[0]) == (2000, trace[0].hash_ids[0])
    assert len(read_word_problems(folder / "gsm8k" / "test.jsonl")) == 1319
