"""The recipes that ship: all of them valid, and the nightly matrix as upstream runs it."""

import pytest

from gauntlet.perf_eval.recipe import examine_recipe, load_recipe, recipe_names

COMMIT = "0123456789abcdef0123456789abcdef01234567"

# Model, accelerator, GPUs used, tensor x data parallel, experts spread, tokens drafted,
# prompts and streams of the main load, BFCL categories.
NIGHTLY = {
    "deepseek_v4_flash-b200": ("DeepSeek-V4-Flash", "B200", 8, (2, 4), True, 2, 512, 128, 5),
    "deepseek_v4_pro-h200": ("DeepSeek-V4-Pro", "H200", 8, (1, 8), True, 0, 512, 128, 5),
    "deepseek_v4_pro-mi355x": ("DeepSeek-V4-Pro", "MI355X", 8, (8, 1), False, 0, 512, 128, 0),
    "gemma_4_31b_it_h200": ("gemma-4-31B", "H200", 1, (1, 1), False, 0, 512, 128, 5),
    "glm_5_1-h200": ("GLM-5.1-FP8", "H200", 8, (8, 1), False, 3, 512, 128, 5),
    "glm_5_2-mi355x": ("GLM-5.2-FP8", "MI355X", 8, (8, 1), False, 0, 512, 128, 0),
    "gpt_oss_120b-b200": ("gpt-oss-120b", "B200", 1, (1, 1), False, 0, 512, 128, 3),
    "gpt_oss_120b-h200": ("gpt-oss-120b", "H200", 4, (4, 1), False, 0, 512, 128, 3),
    "gpt_oss_120b-mi355x": ("gpt-oss-120b", "MI355X", 1, (1, 1), False, 0, 512, 128, 0),
    "kimi_k2_5-h200": ("Kimi-K2.5", "H200", 8, (8, 1), False, 0, 512, 128, 5),
    "kimi_k2_5-mi300x": ("Kimi-K2.5", "MI300X", 8, (8, 1), False, 0, 512, 128, 0),
    "kimi_k2_5-mi355x": ("Kimi-K2.5", "MI355X", 8, (8, 1), False, 0, 512, 128, 0),
    "minimax_m2_5-h200": ("MiniMax-M2.5", "H200", 4, (4, 1), True, 0, 512, 128, 5),
    "minimax_m2_5-mi300x": ("MiniMax-M2.5", "MI300X", 8, (8, 1), True, 0, 512, 128, 0),
    "minimax_m2_5-mi355x": ("MiniMax-M2.5", "MI355X", 4, (4, 1), True, 0, 512, 128, 0),
    "minimax_m3-b200": ("MiniMax-M3-NVFP4", "B200", 2, (2, 1), False, 0, 512, 16, 4),
    "minimax_m3-mi355x": ("MiniMax-M3-MXFP4", "MI355X", 4, (4, 1), False, 0, 512, 16, 0),
    "nemotron_3_super-h200": ("Nemotron-3-Super", "H200", 8, (8, 1), True, 5, 512, 128, 5),
    "qwen3_5-b200": ("Qwen3.5-397B-A17B-NVFP4", "B200", 8, (8, 1), True, 0, 256, 128, 0),
    "qwen3_5-h200": ("Qwen3.5-397B-A17B-FP8", "H200", 8, (8, 1), True, 0, 256, 128, 0),
    "qwen3_5-mi355x": ("Qwen3.5-397B-A17B-FP8", "MI355X", 8, (8, 1), True, 0, 512, 128, 0),
}


@pytest.mark.parametrize("name", recipe_names())
def test_recipes_that_ship_are_valid_and_doubtful_only_in_their_build(name):
    examined = examine_recipe(name)
    assert examined.recipe.name == name
    assert [
        each for each in examined.warnings if "not pinned: version: nightly" not in str(each)
    ] == []


@pytest.mark.parametrize("name", NIGHTLY)
def test_a_nightly_recipe_is_pinned_by_the_commit_it_is_given(name):
    assert examine_recipe(name, [f"engine.commit={COMMIT}"]).warnings == ()


def test_the_nightly_matrix_is_complete():
    nightly = [name for name in recipe_names() if load_recipe(name).nightly]
    assert nightly == sorted(NIGHTLY)
    assert sum(load_recipe(name).hardware.count for name in nightly) == 125


@pytest.mark.parametrize("name", NIGHTLY)
def test_a_nightly_recipe_measures_what_upstream_does_and_more(name):
    model, accelerator, gpus, (tp, dp), experts, drafted, prompts, streams, categories = NIGHTLY[
        name
    ]
    examined = examine_recipe(name)
    recipe = examined.recipe
    assert model in recipe.engine.model
    assert recipe.engine.precision
    assert (recipe.hardware.accelerator, examined.expansion.gpus) == (accelerator, gpus)
    parallel = recipe.topology.parallel
    assert ((parallel.tp, parallel.dp), bool(parallel.ep)) == ((tp, dp), experts)
    assert recipe.engine.speculates == bool(drafted)
    if drafted:
        assert f'"num_speculative_tokens": {drafted}' in " ".join(recipe.engine.arguments)
    loads = {load.name: load for load in recipe.workloads}
    main = loads["throughput"]
    assert (main.requests, main.concurrency) == (prompts, streams)
    assert loads["latency"].concurrency == 1 < loads["middle"].concurrency < streams
    assert {
        load.prompts.prompt_tokens.max for load in loads.values() if load.prompts.kind == "random"
    } == {8192}
    evals = {task.name: task for task in recipe.evals}
    assert evals["gsm8k"].fewshot == 5
    assert len(evals["bfcl"].categories if "bfcl" in evals else ()) == categories


@pytest.mark.parametrize("name", NIGHTLY)
def test_no_nightly_recipe_replays_prompts_or_judges_drafts_on_random_tokens(name):
    recipe = load_recipe(name)
    texts = {load.name for load in recipe.workloads if load.prompts.kind == "questions"}
    assert recipe.repetitions == 3
    assert recipe.between_repetitions == ("reset_cache" if texts else "new_seed")
    if recipe.engine.speculates:
        judged = {objective.workload for objective in recipe.judge.load if objective.blocking}
        assert judged <= texts
        assert judged
