import pytest

from gauntlet.core.errors import ConfigError
from gauntlet.core.json_file import json_text
from gauntlet.pipelines.timings import load_timings


@pytest.fixture
def load(tmp_path):
    path = tmp_path / "timings.json"

    def call(text):
        path.write_text(text, encoding="utf-8")
        return load_timings(path)

    return call


def test_durations_of_jobs_and_tests(load):
    text = '{"schema_version": 1, "jobs": {"a": [60, 61.5]}, "tests": {"a.py::t[é]": [0]}}'
    timings = load(text)
    assert timings.jobs == {"a": (60, 61.5)}
    assert timings.tests == {"a.py::t[é]": (0,)}
    assert load(json_text(timings)) == timings


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"schema_version": 2}', "schema_version: expected 1 (got 2)", id="version"),
        pytest.param('{"schema_version": 1, "test": {}}', "did you mean 'tests'?", id="key"),
        pytest.param('{"schema_version": 1, "jobs": {"a": [-1]}}', "jobs.a[0]", id="negative"),
        pytest.param('{"schema_version": 1, "tests": {"a": [NaN]}}', "tests.a[0]", id="nan"),
        pytest.param('{"schema_version": 1, "tests": {"a": [1e999]}}', "tests.a[0]", id="infinite"),
        pytest.param('{"schema_version": 1, "tests": {"a": ["1"]}}', "(got '1')", id="text"),
        pytest.param('{"schema_version": 1, "tests": {"a": [true]}}', "tests.a[0]", id="boolean"),
        pytest.param('{"schema_version": 1, "tests": {"a": 1}}', "tests.a", id="no list"),
        pytest.param('{"tests": {"a": [1], "a": [2]}}', "'a' is given twice", id="key twice"),
        pytest.param("[]", "expected a mapping", id="list"),
        pytest.param('{\n"a" 1}', "timings.json:2: JSON", id="syntax"),
        pytest.param("[" * 100_000, "JSON", id="too deep"),
    ],
)
def test_a_mistake_is_named_with_file_key_and_value(load, text, words):
    with pytest.raises(ConfigError) as error:
        load(text)
    assert words in str(error.value)
    assert "timings.json" in str(error.value)


def test_an_absent_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.json: No such file"):
        load_timings(tmp_path / "none.json")
