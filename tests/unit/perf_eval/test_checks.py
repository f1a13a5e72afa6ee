import pytest
from recipe_factory import engine, examined, workload

from gauntlet.core.errors import ConfigError

DRAFTS = engine(arguments=["--speculative-config", '{"method": "mtp"}'])
JUDGED = {"workload": "random", "metric": "tpot_ms", "statistic": "p50", "margin_percent": 5}
TEXT = workload(
    "text",
    requests=None,
    prompts={"kind": "questions", "format": "gsm8k", "source": {"generate": 200}},
)
CHANGED = {"candidate": {"engine.version": "0.34.0"}}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({"engine": engine(version="nightly")}, "not pinned", id="build"),
        pytest.param(
            {"engine": engine(precision=None)}, "precision is not declared", id="precision"
        ),
        pytest.param(
            {"engine": DRAFTS, "judge": {"load": [JUDGED]}}, "no draft foresees", id="drafts"
        ),
        pytest.param(
            {"judge": {"load": [{**JUDGED, "statistic": "p99"}]}},
            "one of its 20 requests",
            id="p99",
        ),
        pytest.param(
            {
                "objectives": [
                    {"workload": "random", "metric": "ttft_ms", "statistic": "p99", "at_most": 9}
                ]
            },
            "p99 of random decides",
            id="p99-limit",
        ),
        pytest.param({"workloads": [TEXT], "repetitions": 2}, "found cached", id="same-text"),
        pytest.param(
            {"workloads": [TEXT], "engine": engine(), "comparison": CHANGED},
            "found cached",
            id="same-text-compared",
        ),
        pytest.param(
            {"engine": engine(), "hardware": {"accelerator": "H200", "count": 8}},
            "7 of 8 devices",
            id="idle",
        ),
        pytest.param(
            {"engine": engine(model="org/x", arguments=["-tp", "2"])},
            "not checked",
            id="unknown-model",
        ),
    ],
)
def test_doubts_are_told(changes, expected):
    (warning,) = examined(**changes).warnings
    assert expected in str(warning)
    assert warning.line is not None


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({}, id="plain"),
        pytest.param(
            {"engine": DRAFTS, "judge": {"load": [{**JUDGED, "blocking": False}]}}, id="informs"
        ),
        pytest.param({"engine": DRAFTS}, id="drafts-not-judged"),
        pytest.param({"workloads": [TEXT]}, id="text-once"),
        pytest.param(
            {"workloads": [TEXT], "repetitions": 2, "between_repetitions": "reset_cache"},
            id="reset",
        ),
        pytest.param(
            {
                "engine": engine(),
                "topology": {"parallel": {}},
                "hardware": {"accelerator": "H200", "count": 4},
                "sweep": [{"grid": {"topology.parallel.tp": [1, 4]}}],
            },
            id="idle-in-one-variant",
        ),
        pytest.param({"engine": {"kind": "simulator"}}, id="simulator"),
    ],
)
def test_what_is_in_order_raises_no_doubt(changes):
    assert examined(**changes).warnings == ()


def test_a_division_that_cannot_work_in_one_variant_is_an_error_that_names_it():
    with pytest.raises(ConfigError, match=r"topology.parallel.tp: 64 .* % tp 3 = 1.*\(with tp=3\)"):
        examined(
            engine=engine(),
            topology={"parallel": {"tp": 1}},
            sweep=[{"grid": {"topology.parallel.tp": [1, 3]}}],
        )


def test_settings_reach_sweep_and_checks():
    made = examined({"engine.commit": "a" * 40}, engine=engine(version="nightly"))
    assert made.warnings == ()
    assert made.recipe.engine.commit == "a" * 40
