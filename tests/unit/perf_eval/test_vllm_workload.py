from pathlib import Path

import pytest

from gauntlet.core.errors import ConfigError
from gauntlet.core.yaml_file import load_yaml, parse_yaml, validate_model
from gauntlet.perf_eval.checks import examine
from gauntlet.perf_eval.definition import Recipe
from gauntlet.perf_eval.vllm_workload import import_workload

FOLDER = Path(__file__).with_name("workloads")
LEAST = "gpu: H200\nvllm: {model: org/m}\nlm_eval: {tasks: [{name: gsm8k}]}\n"
BENCH = "{name: a, input_len: 8, output_len: 8, num_prompts: 4, max_concurrency: 2%s}"


def imported(name):
    return import_workload(load_yaml(FOLDER / f"{name}.yaml"), stem=name, owner="me")


def from_text(text, settings=None):
    made = import_workload(
        parse_yaml(text, file="upstream.yaml"), stem="up", owner="me", settings=settings
    )
    return read(made), [str(warning) for warning in made.warnings]


def from_bench(more, **settings):
    config = BENCH % "".join(f", {key}: {value}" for key, value in settings.items())
    text = f"gpu: H200\nvllm: {{model: org/m}}\nvllm_bench: {{configs: [{config}]}}\n{more}"
    return from_text(text)


def read(made):
    return validate_model(parse_yaml(made.text, file="made.yaml"), Recipe)


@pytest.mark.parametrize("name", [path.stem for path in FOLDER.glob("*.yaml")])
def test_what_is_written_passes_lint(name):
    assert examine(parse_yaml(imported(name).text, file="made.yaml")).recipe.owner == "me"


def test_the_server_is_taken_over_with_its_sizes_and_names():
    recipe = read(imported("large_model"))
    assert recipe.engine.arguments == (
        "--max-model-len=32768",
        "--compilation-config",
        '{"mode":0,"cudagraph_mode":"FULL"}',
        "--trust-remote-code",
    )
    assert (recipe.engine.version, recipe.engine.served_name) == ("nightly", "large")
    assert recipe.engine.precision == "fp8"
    assert recipe.engine.env == {"EXAMPLE_SWITCH": "1", "EXAMPLE_FOLDER": "/opt/example"}
    parallel = recipe.topology.parallel
    assert (parallel.tp, parallel.dp, parallel.ep) == (2, 2, True)
    assert (recipe.hardware.accelerator, recipe.hardware.count) == ("H200", 4)
    assert (recipe.nightly, recipe.timeout_minutes) == (True, 180)


def test_lists_become_a_sweep_and_arguments_become_keys():
    made = examine(parse_yaml(imported("large_model").text, file="made.yaml"))
    found = {point.key: point for point in made.expansion.points}
    assert {key: point.requests for key, point in found.items()} == {
        "8k-in-1k-out/concurrency=1": 10,
        "8k-in-1k-out/concurrency=128": 512,
        "chat/max_concurrency=4": 64,
        "chat/max_concurrency=16": 64,
    }
    first, chat = made.recipe.workloads
    assert (first.warmup_requests, first.endpoint) == (128, "completions")
    assert (chat.arrivals.kind, chat.arrivals.rate, chat.arrivals.burstiness) == ("gamma", 8, 0.5)
    assert (chat.prompts.prompt_tokens.min, chat.prompts.prompt_tokens.max) == (410, 614)
    assert chat.body == {"temperature": 0.6, "top_p": 0.95, "skip_special_tokens": False}
    assert (chat.goodput.ttft_ms, chat.goodput.tpot_ms, chat.endpoint) == (2000, 50, "chat")
    assert made.recipe.repetitions == 3


def test_accuracy_tasks_are_taken_over():
    first, second, bfcl = read(imported("large_model")).evals
    assert (first.task, first.fewshot, first.concurrency) == ("gsm8k", 5, 64)
    assert first.generation.max_tokens == 8192
    assert first.model_arguments == {"tokenized_requests": False}
    assert (second.name, second.fewshot, second.timeout_s) == ("gsm8k-2", 0, 6000)
    assert bfcl.categories == ("simple_python", "multi_turn")
    assert (bfcl.threads, bfcl.max_cases, bfcl.maximum_steps) == (16, {"multi_turn": 240}, 10)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param(
            "large_model",
            [
                "7: team: unknown key",
                "speed_bench_category: has no effect",
                "args.ignore_eos: --ignore-eos belongs to the wrapper",
                "args.seed: --seed is not translated",
                "tokenizer_backend has no plain value",
                "seed is set by the harness",
                "the name 'gsm8k' becomes 'gsm8k-2'",
                "second value of --served-model-name, large-alias",
                "num_gpus: reserves 8, the arguments use 4",
            ],
            id="large_model",
        ),
        pytest.param(
            "accuracy_only",
            ["--port is chosen here", "declare engine.precision, it is not guessed"],
            id="accuracy_only",
        ),
        pytest.param(
            "bench_only",
            [
                "'Bench Only' becomes 'bench-only'",
                "warp: unknown key",
                "dataset speed_bench is not translated: load left out",
                "backend openai-embeddings is not translated: load left out",
                "bench_only: its accuracy tasks",
                "declare engine.precision",
            ],
            id="bench_only",
        ),
    ],
)
def test_everything_that_is_lost_is_told(name, expected):
    warnings = [str(warning) for warning in imported(name).warnings]
    assert len(warnings) == len(expected)
    for text in expected:
        assert any(text in warning for warning in warnings), text


def test_quoted_words_are_read_as_a_shell_does():
    recipe = read(imported("accuracy_only"))
    assert recipe.engine.arguments == ("--trust-remote-code", "--chat-template", "{{ a b }}")
    assert recipe.engine.image == "example/vllm-rocm:nightly"
    assert recipe.name == "accuracy_only"


@pytest.mark.parametrize(
    ("args", "kind"),
    [("{request_rate: inf}", "closed"), ("{request-rate: 2}", "poisson"), ("{}", "closed")],
)
def test_a_rate_makes_an_open_loop(args, kind):
    recipe, _ = from_bench("", args=args)
    assert recipe.workloads[0].arrivals.kind == kind


@pytest.mark.parametrize(
    ("more", "settings", "expected"),
    [
        pytest.param(
            "", {"args": "{goodput: ['speed:3']}"}, "'speed:3' is not translated", id="goodput"
        ),
        pytest.param("", {"args": "{extra_body: {a: [1]}}"}, "a is no single value", id="body"),
        pytest.param(
            "", {"args": "{lora-modules: x}"}, "--lora-modules is not translated", id="flag"
        ),
        pytest.param("num_gpus: 4\n", {}, "reserves 4, the arguments use 1", id="gpus"),
    ],
)
def test_arguments_without_a_counterpart_are_told(more, settings, expected):
    _, warnings = from_bench(more, **settings)
    assert any(expected in warning for warning in warnings)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("a: 1\n", "gpu: required key", id="another-file"),
        pytest.param("gpu: H200\nvllm: {model: m}\n", "nothing in it", id="nothing"),
        pytest.param(LEAST.replace("org/m", "''"), "at least 1 character", id="no-model"),
        pytest.param(LEAST + "num_gpus: many\n", "num_gpus: .*integer", id="type"),
        pytest.param(
            LEAST.replace("}\nlm", ", serve_args: -tp two}\nlm"), "two is no whole number", id="tp"
        ),
        pytest.param(LEAST + "gpu: B200\n", "gpu: key given twice", id="twice"),
    ],
)
def test_files_that_make_no_recipe_are_refused(text, expected):
    with pytest.raises(ConfigError, match=expected):
        from_text(text)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"num_prompts": "[1, 2]"}, "needs a list of max_concurrency"),
        ({"num_prompts": "[1, 2]", "max_concurrency": "[1]"}, "2 values beside 1"),
        ({"max_concurrency": "[]"}, "an empty list"),
        ({"args": "{request-rate: fast}"}, "'fast' is no number"),
    ],
)
def test_lists_that_do_not_fit_are_refused(settings, expected):
    values = {"input_len": 8, "output_len": 8, "num_prompts": 4, "max_concurrency": 2, **settings}
    config = ", ".join(f"{key}: {value}" for key, value in {"name": "a", **values}.items())
    text = f"gpu: H200\nvllm: {{model: org/m}}\nvllm_bench: {{configs: [{{{config}}}]}}\n"
    with pytest.raises(ConfigError, match=expected):
        from_text(text)


def test_metadata_that_contradicts_is_told():
    text = (
        "gpu: H200\nvllm: {model: org/m}\nvllm_bench: {metadata: {device: b200, tp: 8}, configs: ["
    )
    _, warnings = from_text(text + BENCH % "" + "]}\n")
    assert any("device b200 differs from gpu H200" in warning for warning in warnings)
    assert any("tp 8 differs from the 1 ranks" in warning for warning in warnings)


def test_a_division_that_cannot_work_is_refused():
    text = LEAST.replace("org/m", "openai/gpt-oss-120b, serve_args: -tp 3")
    with pytest.raises(ConfigError, match="64 attention heads % tp 3"):
        from_text(text)


def test_settings_change_what_is_written():
    recipe, _ = from_text(LEAST, {"engine.precision": "fp8", "evals.gsm8k.limit": 10})
    assert (recipe.engine.precision, recipe.evals[0].limit) == ("fp8", 10)
    with pytest.raises(ConfigError, match="nothing named 'aime'"):
        from_text(LEAST, {"evals.aime.limit": 10})
