import pytest
import yaml

from gauntlet.core.errors import ConfigError
from gauntlet.perf_eval.bfcl_categories import CATEGORIES, cases_of, expand_categories
from gauntlet.perf_eval.recipe import load_recipe


def evaluation(tmp_path, **settings):
    """The one eval of a recipe in a file."""
    recipe = yaml.safe_load(load_recipe("smoke").model_dump_json())
    recipe["evals"] = [{"name": "e", **settings}]
    recipe["judge"]["evals"] = []
    path = tmp_path / "recipe.yaml"
    path.write_text(yaml.safe_dump(recipe))
    return load_recipe(str(path)).evals[0]


def lm_eval(tmp_path, **settings):
    return evaluation(tmp_path, kind="lm_eval", task="gsm8k_local", **settings)


def test_an_lm_eval_task_needs_little(tmp_path):
    task = lm_eval(tmp_path)
    assert (task.repeat_seeds, task.chat_template, task.metric) == ((1234,), False, "exact_match")
    assert lm_eval(tmp_path, endpoint="chat").chat_template
    assert lm_eval(tmp_path, repeats=3).repeat_seeds == (1234, 1235, 1236)
    assert lm_eval(tmp_path, repeats=2, seeds=[5, 9]).repeat_seeds == (5, 9)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param(
            {"generation": {"until": "Question:"}},
            r"until: must be a list, such as \['Question:'\].*every answer",
            id="stop as text",
        ),
        pytest.param({"generation": {"until": ["a", ""]}}, "empty stop string", id="empty stop"),
        pytest.param(
            {"endpoint": "chat", "generation": {"until": list("abcde")}},
            "sends at most 4 stops",
            id="chat stops",
        ),
        pytest.param(
            {"endpoint": "chat", "apply_chat_template": False}, "messages only", id="chat as text"
        ),
        pytest.param({"apply_chat_template": True}, "model_arguments.tokenizer", id="tokenizer"),
        pytest.param(
            {"model_arguments": {"base_url": "x"}}, "base_url is set by the harness", id="ours"
        ),
        pytest.param({"model_arguments": {"x": [1]}}, "model_arguments", id="no scalar"),
        pytest.param({"repeats": 2, "seeds": [1]}, "1 entries for 2 repeats", id="seeds"),
        pytest.param({"repeats": 2, "seeds": [1, 1]}, "seeds must differ", id="same seed"),
        pytest.param({"few_shot": 5}, "did you mean 'fewshot'", id="typo"),
    ],
)
def test_mistakes_in_lm_eval_are_named(tmp_path, settings, said):
    with pytest.raises(ConfigError, match=said):
        lm_eval(tmp_path, **settings)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        pytest.param({"categories": ["simple_pyton"]}, "did you mean 'simple_python'", id="typo"),
        pytest.param({"categories": ["livee"]}, "did you mean 'live'", id="group"),
        pytest.param({"categories": ["xyzzy"]}, "known: simple_python", id="unlike any"),
        pytest.param({"categories": ["format_sensitivity"]}, "prompted", id="prompting"),
        pytest.param({"categories": []}, "categories", id="none"),
        pytest.param(
            {"categories": ["live"], "max_cases": {"liv": 3}}, "unknown category", id="cases"
        ),
        pytest.param({"categories": ["live"], "max_cases": 0}, "max_cases", id="no cases"),
    ],
)
def test_mistakes_in_bfcl_are_named(tmp_path, settings, said):
    with pytest.raises(ConfigError, match=said):
        evaluation(tmp_path, kind="bfcl", **settings)


def test_groups_become_categories_each_once():
    assert expand_categories(["all"]) == CATEGORIES
    assert expand_categories(["single_turn", "live"]) == CATEGORIES[:13]
    assert expand_categories(["multi_turn_base", "simple_python"]) == (
        "simple_python",
        "multi_turn_base",
    )


def test_a_category_s_own_number_goes_before_that_of_its_group():
    asked = expand_categories(["single_turn"])
    found = cases_of({"live_simple": 5, "single_turn": 50, "live": 20}, asked)
    assert (found["simple_java"], found["live_multiple"], found["live_simple"]) == (50, 20, 5)
    assert set(cases_of(None, asked).values()) == {None}
    assert set(cases_of(7, asked).values()) == {7}
