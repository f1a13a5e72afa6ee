"""Dollar signs as the agent reads them, case by case."""

import pytest

from gauntlet.pipelines.checks.interpolation import accident, read


@pytest.mark.parametrize(
    ("text", "names"),
    [
        pytest.param("no dollar", (), id="none"),
        pytest.param("$A and ${B}", ("A", "B"), id="plain"),
        pytest.param("$A_1/x", ("A_1",), id="name ends"),
        pytest.param("$$A \\$B", (), id="escaped"),
        pytest.param("\\\\$A", ("A",), id="escaped backslash"),
        pytest.param("$(pwd) $((1+1))", (), id="shell expansions"),
        pytest.param("costs 5$", (), id="last character"),
        pytest.param("${A:-x} ${B-y}", (), id="fallback"),
        pytest.param("${A:-${B}}", ("B",), id="fallback that needs another"),
        pytest.param("${A?is missing}", (), id="error of its own"),
        pytest.param("${A:0:7} ${B: -3}", ("A", "B"), id="part"),
        pytest.param("${A%%.*} ${B#x}", ("A", "B"), id="cut off"),
        pytest.param("a } b $C", ("C",), id="brace outside"),
    ],
)
def test_names_that_need_a_value(text, names):
    reading = read(text)
    assert reading.fault is None
    assert reading.names == names


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("echo $?", id="last status"),
        pytest.param("echo $1 x", id="argument"),
        pytest.param("grep 'x$' file", id="end of line"),
        pytest.param("$_x", id="underscore first"),
        pytest.param("${1}", id="argument in braces"),
        pytest.param("${#A}", id="length"),
        pytest.param("${A+x}", id="operator that the agent lacks"),
        pytest.param("${A:=x}", id="assignment"),
        pytest.param("${A:x}", id="part that is no number"),
        pytest.param("${A", id="never closed"),
        pytest.param("${A:-x", id="fallback never closed"),
        pytest.param("${A:-$?}", id="inside a fallback"),
        pytest.param("${", id="nothing in it"),
    ],
)
def test_text_that_ends_the_upload(text):
    assert read(text).fault


@pytest.mark.parametrize(
    ("name", "why"),
    [
        pytest.param("BUILDKITE_COMMIT", None, id="the build's"),
        pytest.param("CI", None, id="set everywhere"),
        pytest.param("KNOWN", None, id="known"),
        pytest.param("HOME", "nothing sets it", id="the shell's"),
        pytest.param("BUILDKITE_PARALLEL_JOB", "the uploading job", id="a job's own"),
        pytest.param("BUILDKITE_PLUGIN_DOCKER_IMAGE", "the uploading job", id="a plugin's"),
    ],
)
def test_what_is_an_accident(name, why):
    found = accident(name, ["KNOWN"])
    assert (found is None) if why is None else (why in found)
