import pytest

from gauntlet.perf_eval.engine import EngineSpec
from gauntlet.perf_eval.facts import ModelFacts, model_facts
from gauntlet.perf_eval.parallelism import check_parallelism, gpus_needed, servers_of
from gauntlet.perf_eval.topology import Hardware, Topology

GQA = "openai/gpt-oss-120b"  # 64 heads, 8 KV heads, 128 experts
FEW = "Qwen/Qwen3.5-397B-A17B-FP8"  # 32 heads, 2 KV heads, 512 experts
MLA = "moonshotai/Kimi-K2.5"  # 64 heads, 384 experts
OTHER = "deepseek-ai/DeepSeek-V4-Pro"  # 128 heads, 384 experts
UNKNOWN = "org/unheard-of"


def run(model=GQA, parallel=None, arguments=(), count=None, **topology):
    engine = EngineSpec(kind="vllm", version="1", model=model, arguments=tuple(arguments))
    if parallel is not None:
        topology["parallel"] = parallel
    made = Topology.model_validate(topology) if topology else None
    hardware = Hardware(accelerator="H200", count=count) if count else None
    return check_parallelism(engine, made, hardware)


def told(checks, outcome):
    return "\n".join(f"{check.rule}: {check.text}" for check in checks if check.outcome == outcome)


@pytest.mark.parametrize(
    ("model", "parallel"),
    [
        pytest.param(GQA, {"tp": 1}, id="one"),
        pytest.param(GQA, {"tp": 8}, id="a-kv-head-each"),
        pytest.param(GQA, {"tp": 16, "dcp": 2}, id="gqa-two-copies"),
        pytest.param(GQA, {"tp": 4, "dp": 2, "ep": True}, id="experts"),
        pytest.param(GQA, {"tp": 4, "dp": 2, "ep": 8}, id="expert-group"),
        pytest.param(FEW, {"tp": 8, "dcp": 4}, id="gqa-four-copies"),
        pytest.param(FEW, {"tp": 8, "dcp": 2}, id="gqa-two-of-four"),
        pytest.param(MLA, {"tp": 8, "dcp": 8}, id="mla-all"),
        pytest.param(MLA, {"tp": 8, "dcp": 4}, id="mla-half"),
        pytest.param(OTHER, {"dp": 8, "ep": True}, id="data-parallel"),
        pytest.param(UNKNOWN, {"pp": 4, "dp": 2}, id="unknown-but-nothing-divided"),
    ],
)
def test_what_works_passes_without_a_doubt(model, parallel):
    checks = run(model, parallel)
    assert {check.outcome for check in checks} <= {"ok"}


@pytest.mark.parametrize(
    ("model", "parallel", "expected"),
    [
        pytest.param(
            GQA, {"tp": 6}, "64 attention heads % tp 6 = 4; nearest tp that works: 4", id="heads"
        ),
        pytest.param(GQA, {"tp": 3}, "% tp 3 = 1; nearest tp that works: 2", id="heads-below"),
        pytest.param(
            "MiniMaxAI/MiniMax-M2.5",
            {"tp": 12},
            "8 KV heads are copied over tp 12 ranks; nearest tp that works: 8",
            id="kv-heads",
        ),
        pytest.param(
            GQA,
            {"tp": 8, "dcp": 2},
            "tp 8 // 8 KV heads = 1 ranks hold each.*, 1 % dcp 2 = 1; nearest dcp that works: 1",
            id="gqa-no-copies",
        ),
        pytest.param(
            GQA,
            {"tp": 4, "dcp": 2},
            "dcp 2 has no copies to split and needs tp >= 16",
            id="gqa-tp-small",
        ),
        pytest.param(
            FEW,
            {"tp": 8, "dcp": 8},
            "tp 8 // 2 KV heads = 4 ranks hold each.*, 4 % dcp 8 = 4; nearest dcp that works: 4",
            id="gqa-too-many",
        ),
        pytest.param(
            MLA,
            {"tp": 8, "dcp": 3},
            "tp 8 % dcp 3 = 2; all 8 ranks.*nearest dcp that works: 2",
            id="mla",
        ),
        pytest.param(MLA, {"tp": 8, "dcp": 16}, "nearest dcp that works: 8", id="mla-too-many"),
        pytest.param(UNKNOWN, {"tp": 8, "dcp": 3}, "whatever the attention", id="unknown-dcp"),
        pytest.param(OTHER, {"tp": 8, "dcp": 3}, "whatever the attention", id="other-dcp"),
        pytest.param(
            GQA, {"tp": 4, "dp": 2, "ep": 4}, "= 8, ep is 4.*write ep: 8", id="expert-group"
        ),
        pytest.param(
            GQA, {"tp": 8, "dp": 32, "ep": True}, "128 ranks would have none", id="experts"
        ),
    ],
)
def test_what_cannot_work_is_said_with_numbers_and_the_nearest(model, parallel, expected):
    assert_matches(told(run(model, parallel), "error"), expected)


def assert_matches(text, expected):
    with pytest.raises(AssertionError, match=expected):
        raise AssertionError(text)


@pytest.mark.parametrize(
    ("model", "parallel", "expected"),
    [
        pytest.param(
            UNKNOWN, {"tp": 2}, "not checked: heads and experts of org/unheard-of", id="unknown"
        ),
        pytest.param(
            OTHER, {"tp": 8, "dcp": 2}, "not checked: the rule for DCP", id="other-attention"
        ),
        pytest.param(MLA, {"dp": 5, "ep": True}, "4 ranks hold one more", id="uneven-experts"),
    ],
)
def test_what_is_not_known_is_a_doubt_and_never_passes_silently(model, parallel, expected):
    assert expected in told(run(model, parallel), "warning")


@pytest.mark.parametrize(
    ("arguments", "parallel", "expected"),
    [
        (
            ["--tensor-parallel-size", "8"],
            {"tp": 4},
            "say --tensor-parallel-size 8, parallel.tp is 4",
        ),
        (["-tp=8"], {"tp": 4}, "parallel.tp is 4"),
        (["-dp", "2", "-pp", "2"], {"dp": 2}, "parallel.pp is 1"),
        (["--decode-context-parallel-size=2"], {"tp": 8}, "parallel.dcp is 1"),
        (["--prefill-context-parallel-size", "two"], {"pcp": 2}, "size two, parallel.pcp is 2"),
        (["--enable-expert-parallel"], {"tp": 8}, "parallel.ep is False"),
        (["--no-enable-expert-parallel"], {"tp": 8, "ep": True}, "expert-parallel false"),
        (["-tp"], {"tp": 8}, "(nothing)"),
    ],
)
def test_arguments_that_contradict_parallel_are_refused(arguments, parallel, expected):
    assert expected in told(run(parallel=parallel, arguments=arguments), "error")


def test_arguments_that_agree_are_said_to():
    checks = run(parallel={"tp": 8, "ep": True}, arguments=["-tp", "8", "-ep"])
    assert told(checks, "error") == ""
    assert "--tensor-parallel-size 8 = parallel.tp" in told(checks, "ok")


def test_without_a_topology_the_arguments_say_how_a_model_is_divided():
    engine = EngineSpec(
        kind="vllm", version="1", model=GQA, arguments=("-tp", "6", "-dp", "2", "-ep")
    )
    (role,) = servers_of(engine, None)
    assert (role.parallel.tp, role.parallel.dp, role.parallel.ep) == (6, 2, True)
    (error,) = [
        check for check in check_parallelism(engine, None, None) if check.outcome == "error"
    ]
    assert error.path == ("engine", "arguments")


ROLES = [
    {"name": "prefill", "kind": "prefill", "replicas": 2, "parallel": {"tp": 4}},
    {"name": "decode", "kind": "decode", "parallel": {"dp": 8, "ep": True}, "gpus": 8},
]
ROUTER = {"command": ["router"]}


def test_devices_are_summed_over_roles():
    good = run(roles=ROLES, router=ROUTER, count=16)
    assert "prefill 2 x 4 + decode 1 x 8 = 16 of 16 H200" in told(good, "ok")
    bad = run(roles=ROLES, router=ROUTER, count=8)
    assert "= 16 of 8 H200: 8 too many, nearest working count: 16" in told(bad, "error")


def test_gpus_that_are_not_the_product_are_refused():
    roles = [{"name": "s", "parallel": {"tp": 2, "pp": 2, "dcp": 2}, "gpus": 8}]
    assert "tp 2 x pp 2 x dp 1 x pcp 1 = 4, gpus is 8: write gpus: 4" in told(
        run(roles=roles), "error"
    )


@pytest.mark.parametrize(
    ("engine", "accelerator", "gpus"),
    [
        pytest.param({"kind": "vllm", "model": GQA}, "H200", 8, id="gpu"),
        pytest.param({"kind": "vllm", "model": GQA}, "cpu", 0, id="cpu"),
        pytest.param({"kind": "simulator"}, "H200", 0, id="simulator"),
        pytest.param({"kind": "openai", "model": GQA}, "H200", 0, id="others"),
    ],
)
def test_gpus_are_needed_only_by_engines_that_run_on_them(engine, accelerator, gpus):
    spec = EngineSpec.model_validate(engine)
    made = Topology.model_validate({"parallel": {"tp": 4, "dp": 2, "dcp": 4}})
    assert gpus_needed(spec, made, Hardware(accelerator=accelerator, count=8)) == gpus


def test_a_dense_model_has_no_experts_to_spread(monkeypatch):
    dense = ModelFacts(ids=("d",), attention="gqa", heads=32, kv_heads=8, experts=0)
    monkeypatch.setattr("gauntlet.perf_eval.parallelism.model_facts", lambda _: dense)
    assert "the model is dense" in told(run("d", {"tp": 8, "ep": True}), "error")


def test_known_models_are_found_by_their_id():
    assert model_facts(MLA).attention == "mla"
    assert model_facts(GQA).kv_heads == 8
    assert model_facts(UNKNOWN) is model_facts(None) is None
