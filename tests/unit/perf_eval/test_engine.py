import pytest
from pydantic import ValidationError
from recipe_factory import engine

from gauntlet.perf_eval.arguments import find_flag, read_flags, set_flag
from gauntlet.perf_eval.engine import EngineSpec

DIGEST = "a" * 64
COMMIT = "b" * 40


def spec(**changes):
    return EngineSpec.model_validate(engine(**changes))


def test_arguments_with_json_and_numbers_keep_their_words():
    words = ["--max-num-seqs", 64, "--compilation-config", '{"mode": 0, "x": [1, 2]}']
    assert spec(arguments=words).arguments == (
        "--max-num-seqs",
        "64",
        "--compilation-config",
        '{"mode": 0, "x": [1, 2]}',
    )


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param(
            {"arguments": "--max-num-seqs 64 --x 'a b'"},
            r'\["--max-num-seqs", "64", "--x", "a b"\]',
            id="text",
        ),
        pytest.param({"arguments": ["--a 1"]}, r'each its own item: \["--a", "1"\]', id="words"),
        pytest.param({"arguments": ["--model", "x"]}, "engine.model", id="model-twice"),
        pytest.param({"arguments": ["--port=1"]}, "--port is chosen", id="port"),
        pytest.param({"arguments": [True]}, "valid string", id="not-a-word"),
        pytest.param({"env": {"A": True}}, 'write "1" or "0"', id="switch"),
        pytest.param({"commit": COMMIT}, "not version and commit", id="two-identities"),
        pytest.param({"version": None, "image": "x@sha256:12"}, "64 hexadecimal", id="digest"),
        pytest.param({"version": None, "commit": "xyz"}, "pattern", id="no-commit"),
        pytest.param({"model": None}, "needs a model", id="no-model"),
        pytest.param({"config": "baseline"}, "simulator's settings", id="config"),
        pytest.param({"kind": "simulator"}, "has no version", id="simulator-version"),
        pytest.param({"kind": "openai", "arguments": ["-x"]}, "takes no arguments", id="others"),
    ],
)
def test_what_an_engine_cannot_be_is_said_with_the_remedy(changes, expected):
    with pytest.raises(ValidationError, match=expected):
        spec(**changes)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        pytest.param({}, None, id="release"),
        pytest.param({"version": None, "commit": COMMIT}, None, id="commit"),
        pytest.param({"version": None, "commit": "abc1234"}, "40 digits", id="short-commit"),
        pytest.param({"version": None, "image": f"a/b:c@sha256:{DIGEST}"}, None, id="digest"),
        pytest.param({"version": None, "image": "a/b:c"}, "may move", id="tag"),
        pytest.param({"version": "nightly"}, "--set engine.commit", id="nightly"),
        pytest.param({"version": "nightly", "commit": COMMIT}, None, id="nightly-filled"),
        pytest.param({"version": None}, "whatever build", id="nothing"),
    ],
)
def test_whether_the_build_is_pinned(changes, expected):
    reason = spec(**changes).why_not_pinned
    assert (reason is None) if expected is None else (expected in reason)


@pytest.mark.parametrize(
    ("words", "speculates"),
    [
        (["--speculative-config", "{}"], True),
        (["--speculative_config.method=mtp"], True),
        (["--max-num-seqs", "1"], False),
    ],
)
def test_speculative_decoding_is_seen_in_every_spelling(words, speculates):
    assert spec(arguments=words).speculates is speculates


def test_flags_are_read_in_long_and_short_form_with_any_number_of_values():
    words = ["-tp", "4", "--a_b=1", "--bare", "--many", "x", "y", "--n", "-1"]
    found = [(flag.name, flag.values) for flag in read_flags(words)]
    assert found == [
        ("--tensor-parallel-size", ("4",)),
        ("--a-b", ("1",)),
        ("--bare", ()),
        ("--many", ("x", "y")),
        ("--n", ("-1",)),
    ]
    assert read_flags([]) == []
    assert find_flag([*words, "-tp", "8"], "--tensor-parallel-size").values == ("8",)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(9, ["--x", "9", "--y"], id="number"),
        pytest.param(True, ["--x", "--y"], id="bare"),
        pytest.param(False, ["--y"], id="out"),
        pytest.param(None, ["--y"], id="none"),
        pytest.param({"a": 1}, ["--x", '{"a":1}', "--y"], id="json"),
        pytest.param(["p", 2], ["--x", "p", "2", "--y"], id="several"),
    ],
)
def test_a_flag_is_set_in_its_place(value, expected):
    assert set_flag(["--x", "1", "--y", "--x=2"], "--x", value) == expected


def test_a_flag_that_is_absent_is_appended():
    assert set_flag(["--y"], "--x", "1") == ["--y", "--x", "1"]
