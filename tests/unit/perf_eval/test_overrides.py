import pytest
from recipe_factory import engine, recipe, workload

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.perf_eval.overrides import PathError, override, parse_settings, split_path

FULL = {
    "engine": engine(arguments=["--max-num-seqs", "8"], env={"A.B": "1"}),
    "topology": {
        "roles": [
            {"name": "prefill", "kind": "prefill"},
            {"name": "decode", "kind": "decode"},
        ],
        "router": {"command": ["router"]},
    },
    "workloads": [workload(), workload("other")],
    "judge": {
        "load": [
            {"workload": "other", "metric": "ttft_ms", "statistic": "p50", "margin_percent": 5}
        ]
    },
}


def changed(path, value):
    return override(recipe(**FULL), {path: value})


@pytest.mark.parametrize(
    ("path", "value", "read"),
    [
        ("workloads.other.arrivals.concurrency", 9, lambda r: r.workloads[1].arrivals.concurrency),
        (
            "workloads.random.prompts.prompt_tokens.max",
            99,
            lambda r: r.workloads[0].prompts.prompt_tokens.max,
        ),
        ("workloads.random.deadlines.total_s", 5.0, lambda r: r.workloads[0].deadlines.total_s),
        ("workloads.random.body.top.p", 0.5, lambda r: r.workloads[0].body["top.p"]),
        ("topology.roles.decode.replicas", 3, lambda r: r.topology.roles[1].replicas),
        ("engine.env.A.B", "2", lambda r: r.engine.env["A.B"]),
        ("engine.version", "0.34.0", lambda r: r.engine.version),
        ("repetitions", 4, lambda r: r.repetitions),
    ],
)
def test_a_path_reaches_one_value(path, value, read):
    assert read(changed(path, value)) == value


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        pytest.param("engine.arguments", ["--x"], ("--x",), id="replaced"),
        pytest.param(
            "engine.arguments.--max-num-seqs", 16, ("--max-num-seqs", "16"), id="one-flag"
        ),
        pytest.param(
            "engine.arguments.--a.b", 1, ("--max-num-seqs", "8", "--a.b", "1"), id="dotted-flag"
        ),
        pytest.param("engine.arguments.--max-num-seqs", False, (), id="out"),
    ],
)
def test_arguments_are_replaced_or_changed_by_one_flag(path, value, expected):
    assert changed(path, value).engine.arguments == expected


def test_what_was_absent_is_made():
    made = override(
        recipe(),
        {"engine.kind": "simulator", "engine.config": "baseline", "hardware.accelerator": "cpu"},
    )
    assert (made.engine.config, made.hardware.count) == ("baseline", 1)


def test_the_recipe_that_was_changed_stays_as_it_was():
    before = recipe(**FULL)
    override(before, {"engine.arguments.--max-num-seqs": 1, "workloads.random.requests": 1})
    assert before == recipe(**FULL)


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        pytest.param(
            "workloads.randm.requests", 1, "nothing named 'randm'; did you mean 'random'", id="name"
        ),
        pytest.param(
            "workloads.random.request", 1, "request: unknown key; did you mean 'requests'", id="key"
        ),
        pytest.param("engines.version", "1", "unknown key; did you mean 'engine'", id="head"),
        pytest.param("workloads.random.requests", "many", "valid integer.*'many'", id="value"),
        pytest.param(
            "workloads.random.requests.x", 1, "requests is a single value", id="below-a-value"
        ),
        pytest.param(
            "judge.load.other.margin_percent", 1, "judge.load have no names", id="no-names"
        ),
        pytest.param("workloads..requests", 1, "with a dot between", id="empty-part"),
        pytest.param("workloads.random.arrivals.rate", 1, "rate: unknown key", id="other-kind"),
        pytest.param(
            "topology.roles.decode.kind", "prefill", "needs one of kind decode", id="whole"
        ),
    ],
)
def test_a_path_or_value_that_does_not_fit_is_named(path, value, expected):
    with pytest.raises(ConfigError, match=expected) as caught:
        changed(path, value)
    assert str(caught.value).startswith(f"--set: {path}")


def test_every_wrong_path_is_told_at_once():
    with pytest.raises(ConfigError) as caught:
        override(recipe(), {"workloads.random.requests": "a", "workloads.random.nope": 1})
    assert len(caught.value.problems) == 2


def test_settings_are_yaml():
    assert parse_settings(["a.b=1", "c=[x, 2]", "d={e: true}", "f=", "g=a=b"]) == {
        "a.b": 1,
        "c": ["x", 2],
        "d": {"e": True},
        "f": None,
        "g": "a=b",
    }


@pytest.mark.parametrize(
    ("settings", "expected"),
    [(["a"], "not of the form"), (["=1"], "not of the form"), (["a=1", "a=2"], "given twice")],
)
def test_settings_without_a_form_are_refused(settings, expected):
    with pytest.raises(UsageError, match=expected):
        parse_settings(settings)


def test_settings_that_are_no_yaml_are_refused():
    with pytest.raises(ConfigError, match="--set a"):
        parse_settings(["a=["])


def test_paths_are_split_at_dots_but_not_in_flags_and_keys():
    assert split_path("engine.arguments.--a.b") == ("engine", "arguments", "--a.b")
    assert split_path("engine.env.A.B") == ("engine", "env", "A.B")
    with pytest.raises(PathError):
        split_path("a..b")
