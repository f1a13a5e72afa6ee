"""A session's verdicts as the warehouse gives its rows back."""

import math

import pytest
from factories import batch, metric_row, repetition_row, run_row
from stores import embedded_store

from gauntlet.analyzer.compare import compare_run, judge_rows
from gauntlet.core.errors import UsageError
from gauntlet.perf_eval.recipe import load_recipe

SLOWER = {"concurrency=1": 0.0, "concurrency=16": 0.08}


def session_rows(recipe, blocks=3):
    """A sweep of two points of which only the second is slower, a few thousandths of noise."""
    yield run_row("swept", recipe_definition=recipe.model_dump_json())
    for point, loss in SLOWER.items():
        for turn in range(4 * blocks):
            side = ("baseline", "candidate", "candidate", "baseline")[turn % 4]
            key = {
                "pair": turn // 2,
                "side": side,
                "repetition_id": f"swept/random@{point}/{turn}",
            }
            value = 10 * math.exp(loss * (side == "candidate") + 0.003 * math.sin(turn * 7.0))
            yield repetition_row("swept", point=point, settings={"plan_digest": "p"}, **key)
            yield metric_row("swept", value=value, **key)
            # Another window and another repetition's pair must not get into this one.
            yield metric_row("swept", value=3 * value, window="steady", **key)


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    recipe = load_recipe("smoke")
    with embedded_store(tmp_path_factory.mktemp("judging") / "warehouse") as store:
        store.insert(batch("swept/1", *session_rows(recipe)))
        yield store


def test_every_point_of_a_stored_sweep_is_judged_by_itself(swept):
    found = {verdict.subject: verdict.outcome for verdict in compare_run(swept, "swept")}
    assert found["load/random@concurrency=1/tpot_ms/p50"] == "same"
    assert found["load/random@concurrency=16/tpot_ms/p50"] == "worse"
    assert found["summary/random/tpot_ms/p50"] == "worse"
    assert found["load/random@concurrency=16/ttft_ms/mean"] == "missing"
    assert found["load/trace/tpot_ms/p50"] == "missing"
    assert found["requests/random@concurrency=1/failed"] == "same"


def test_an_early_look_asks_for_more_than_the_last_one(swept):
    recipe = load_recipe("smoke")
    longer = recipe.model_copy(update={"blocks": recipe.blocks.model_copy(update={"max": 12})})
    subject = "load/random@concurrency=16/tpot_ms/p50"
    widths = [
        verdict.upper - verdict.lower
        for judged in (recipe, longer)
        for verdict in judge_rows(swept, "swept", judged)
        if verdict.subject == subject
    ]
    assert widths[1] > 1.5 * widths[0]


def test_a_run_that_is_not_there_is_a_mistake_of_the_caller(swept):
    with pytest.raises(UsageError, match="no run 'other'"):
        compare_run(swept, "other")
