import pytest

from gauntlet.harness.evals.gsm8k import task_definition
from gauntlet.harness.evals.samples import Sample, judge_samples, pair_items
from gauntlet.harness.evals.tool_calls import calls_match, chat_tools, judge_message
from gauntlet.perf_eval.questions import generate_tool_tasks

TASK = generate_tool_tasks(1, 5)[0]  # get_weather in Lima over 9 days


def message(*calls, content=None):
    tool_calls = [{"function": {"name": name, "arguments": text}} for name, text in calls]
    return {"content": content, "tool_calls": tool_calls}


@pytest.mark.parametrize(
    ("answer", "status", "score"),
    [
        pytest.param(
            message(("get_weather", '{"city": "Lima", "days": 9}')), "scored", 1.0, id="right"
        ),
        pytest.param(
            message(("get_weather", '{"days": 9.0, "city": "Lima"}')), "scored", 1.0, id="float"
        ),
        pytest.param(
            message(("get_weather", '{"city": "Lima", "days": 8}')), "scored", 0.0, id="value"
        ),
        pytest.param(
            message(("get_weather", '{"city": "Lima", "days": "9"}')), "scored", 0.0, id="text"
        ),
        pytest.param(message(("get_weather", '{"city": "Lima"}')), "scored", 0.0, id="missing"),
        pytest.param(
            message(("get_weather", '{"city": "Lima", "days": 9, "x": 1}')),
            "scored",
            0.0,
            id="extra",
        ),
        pytest.param(
            message(("book_table", '{"city": "Lima", "days": 9}')), "scored", 0.0, id="function"
        ),
        pytest.param(message(content="Sunny."), "scored", 0.0, id="no-call"),
        pytest.param(message(("get_weather", '{"city": ')), "unparsable", 0.0, id="cut"),
        pytest.param(message(("get_weather", "[1]")), "unparsable", 0.0, id="list"),
        pytest.param({"tool_calls": [{"function": {}}]}, "unparsable", 0.0, id="empty"),
    ],
)
def test_answers_are_judged(answer, status, score):
    sample = judge_message(TASK, answer)
    assert (sample.status, sample.score) == (status, score)


def test_calls_match_in_any_order_and_optional_arguments_may_be_missing():
    truth = [{"f": {"a": [1, 2], "b": ["", 5]}}, {"g": {"c": [True]}}]
    assert calls_match([("g", {"c": True}), ("f", {"a": 2})], truth)
    assert not calls_match([("g", {"c": 1}), ("f", {"a": 2})], truth)
    assert not calls_match([("f", {"a": 2})], truth)
    assert not calls_match([("g", {"c": True}), ("f", {"a": 2}), ("f", {"a": 2})], truth)


def test_type_names_become_those_of_json_schema():
    function = {
        "name": "type",
        "parameters": {"type": "dict", "properties": {"x": {"type": "float"}}},
    }
    parameters = chat_tools([function])[0]["function"]["parameters"]
    assert parameters == {"type": "object", "properties": {"x": {"type": "number"}}}


def test_stop_strings_are_a_list():
    until = task_definition(64)["generation_kwargs"]["until"]
    assert isinstance(until, list)


def test_pairs_ask_different_parts():
    parts = [pair_items(range(100), count=10, pairs=3, pair=pair) for pair in range(3)]
    assert [item for part in parts for item in part] == list(range(10))


def sample(status="scored", error=""):
    return Sample(item_id="q", status=status, score=None, answer="", expected="", error=error)


@pytest.mark.parametrize(
    ("errors", "total", "status"),
    [(0, 100, "valid"), (2, 100, "valid"), (3, 100, "invalid"), (5, 5, "failed"), (0, 0, "failed")],
)
def test_lost_requests_are_not_wrong_answers(errors, total, status):
    samples = [sample("error", "HTTP 503")] * errors + [sample()] * (total - errors)
    found, reasons = judge_samples(samples)
    assert found == status
    assert (errors == 0 and total > 0) or reasons
