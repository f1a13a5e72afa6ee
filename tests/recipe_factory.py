"""Small recipes for tests, as plain data and as models."""

from gauntlet.core.yaml_file import dump_yaml, parse_yaml
from gauntlet.perf_eval.checks import examine
from gauntlet.perf_eval.definition import Recipe


def engine(**changes):
    made = {
        "kind": "vllm",
        "version": "0.33.0",
        "model": "openai/gpt-oss-120b",
        "precision": "mxfp4",
    }
    return {**made, **changes}


def workload(name="random", **changes):
    made = {
        "name": name,
        "arrivals": {"kind": "closed", "concurrency": 4},
        "prompts": {"kind": "random", "prompt_tokens": 64, "output_tokens": 16},
        "requests": 20,
    }
    return {**made, **changes}


def recipe_data(**changes):
    made = {"name": "one", "description": "d", "owner": "me", "workloads": [workload()]}
    return {key: value for key, value in {**made, **changes}.items() if value is not None}


def recipe(**changes):
    return Recipe.model_validate(recipe_data(**changes))


def document(**changes):
    return parse_yaml(dump_yaml(recipe_data(**changes)), file="recipe.yaml")


def examined(settings=None, **changes):
    return examine(document(**changes), settings)
