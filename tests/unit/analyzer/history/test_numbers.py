"""Series of numbers from text, and the command over them."""

import json
import math

import pytest
from click.testing import CliRunner
from histories import alarm, change, shape
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.history.numbers import read_numbers
from gauntlet.analyzer.history.single import Reading, plain_shape, point_name, verdict_of
from gauntlet.analyzer.series_command import series
from gauntlet.core.errors import ConfigError, UsageError

LOWER = Reading(higher_is_better=False, margin_percent=1.0, name=point_name)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        pytest.param("1\n2.5\n\n4\n", None, id="lines"),
        pytest.param("1\n2.5\nNaN\n4", None, id="nan"),
        pytest.param("[1, 2.5, null, 4]", None, id="json"),
        pytest.param("[1, 2.5, NaN, 4]", None, id="json-nan"),
        pytest.param("night,v\na,1\nb,2.5\nc,\nd,4\n", "v", id="csv"),
        pytest.param("v\n1\n2.5\nnull\n4\n", "v", id="one-column"),
    ],
)
def test_every_form_reads_the_same(text, column):
    found = read_numbers(text, name="f", column=column)
    assert [found[0], found[1], found[3]] == [1.0, 2.5, 4.0]
    assert math.isnan(found[2])


@pytest.mark.parametrize(
    ("text", "column", "said"),
    [
        pytest.param("1\ntwo\n3", None, "f:2: item 1 is no finite number (got 'two')", id="word"),
        pytest.param("1\ninf", None, "f:2: item 1 is no finite number", id="infinite"),
        pytest.param("[\n1,\n2,\n{}\n]", None, "f:4: item 2", id="json-item"),
        pytest.param("[1, 2", None, "f:1: JSON:", id="json-cut"),
        pytest.param("a,v\nx,1\ny,z\n", "v", "f:3: item 1", id="csv"),
        pytest.param("a,v\nx\n", "v", "f:2: v: the row is cut", id="csv-cut"),
    ],
)
def test_what_is_no_number_is_named_with_its_line(text, column, said):
    with pytest.raises(ConfigError) as raised:
        read_numbers(text, name="f", column=column)
    assert said in raised.value.message


def test_a_column_must_be_said_where_there_are_several():
    with pytest.raises(UsageError, match="2 columns: a, v"):
        read_numbers("a,v\n1,2\n", name="f")
    with pytest.raises(UsageError, match="did you mean 'value'"):
        read_numbers("a,value\n1,2\n", name="f", column="values")


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False), max_size=30))
def test_what_is_written_as_json_or_lines_comes_back(numbers):
    for text in (json.dumps(numbers), "\n".join(map(repr, numbers))):
        found = read_numbers(text, name="f")
        assert [repr(each) for each in found] == [repr(each) for each in numbers]


@pytest.mark.parametrize(
    ("given_shape", "verdict"),
    [
        pytest.param(shape(), "same", id="quiet"),
        pytest.param(shape(change(20, 5.0)), "worse", id="rise"),
        pytest.param(shape(change(20, -5.0)), "better", id="fall"),
        pytest.param(shape(change(9, 5.0), change(20, -5.0, kind="recovery")), "same", id="back"),
        pytest.param(shape(change(20, 0.5)), "same", id="small"),
        pytest.param(shape(alarm=alarm()), "inconclusive", id="alarm"),
        pytest.param(shape(reason="4 points", n=4), "inconclusive", id="short"),
        pytest.param(shape(reason="constant", noise_percent=None), "same", id="constant"),
        pytest.param(shape(reason="one", noise_percent=None, n=1), "inconclusive", id="one"),
        pytest.param(shape(level=None, reason="nothing"), "missing", id="nothing"),
    ],
)
def test_the_verdict_is_about_the_present_level(given_shape, verdict):
    assert verdict_of(given_shape, LOWER)[0] == verdict


def test_the_direction_turns_the_verdict():
    higher = LOWER._replace(higher_is_better=True)
    assert verdict_of(shape(change(20, 5.0)), higher)[0] == "better"


def test_every_change_carries_numbers_method_and_reason():
    (found,) = plain_shape(shape(change(20, 5.0)), LOWER)["changes"]
    assert found["reason"] == "a step of +5.0 % (+4.5 to +5.5; worse) at point 20"
    assert (found["n"], found["index_interval"], found["method"]) == ((20, 10), (20, 20), "made up")


def run(*arguments, text=None):
    return CliRunner().invoke(series, arguments, input=text, standalone_mode=False)


def test_the_command_reads_standard_input():
    text = "\n".join(str(10 + (n * 7 % 5) / 50 + (n >= 20)) for n in range(40))
    result = run("-", "--json", text=text)
    assert result.exception is None
    said = json.loads(result.output)
    assert (said["verdict"], said["n"]) == ("worse", 40)
    (step,) = [each for each in said["changes"] if each["kind"] == "step"]
    assert abs(step["index"] - 20) <= 2
    assert run("-", "--direction", "higher", text=text).output.startswith("better ")


def test_one_source_is_asked_for():
    assert isinstance(run().exception, UsageError)
    assert isinstance(run("-", "--series-id", "x", text="1").exception, UsageError)
