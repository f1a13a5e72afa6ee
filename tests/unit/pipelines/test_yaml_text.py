import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.pipelines.rendering.yaml_text import to_yaml

NASTY = [
    "", " ", "\n", "a\n\n", " a\nb\n", "a\n b", "\ta\nb", "a\n   \nb", "a \nb",
    "yes", "No", "~", "null", "1", "1.5", "0x1", "1:20", "2001-01-01", ".inf", "1_000", "1e3",
    "<<", "=", "- a", "? a", "a: b", "a:", "a #b", "#a", "---", "...", "%a", "@a", "`a", "&a", "*a",
    "'", '"', "it's", "{a", "[a", "a, b", "\\", "\r", "\x00", "\x7f", "\x85", "\u2028", "\ufeff",
    "é", "\U0001f600",
]  # fmt: skip
TEXT = st.text(max_size=20) | st.text("ab \n\t:#'\"-|>%&*!{}[],?~$\\", max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | TEXT | st.sampled_from(NASTY)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(value=st.dictionaries(TEXT, VALUES, max_size=3))
def test_what_is_written_is_read_back(value):
    text = to_yaml(value)
    assert yaml.load(text, yaml.CSafeLoader) == value
    assert text.encode() == to_yaml(value).encode()


@pytest.mark.parametrize("text", NASTY, ids=repr)
def test_text_stays_text(text):
    written = to_yaml({"a": text, "b": [text], "c": {"d": {text: [[text]]}}})
    assert yaml.safe_load(written) == {"a": text, "b": [text], "c": {"d": {text: [[text]]}}}


def test_bytes_that_were_no_text_do_not_spoil_the_pipeline():
    assert yaml.safe_load(to_yaml({"a": "\udce9.py"})) == {"a": "\ufffd.py"}


@pytest.mark.parametrize("number", [0, -1, 10**20, 0.5, 5e-324, 1e300, True])
def test_numbers_stay_numbers(number):
    read = yaml.safe_load(to_yaml({"a": number}))["a"]
    assert (read, type(read)) == (number, type(number))


def test_the_text_is_for_people():
    value = {
        "label": "A (2 GPUs)",
        "commands": ["pytest -v 'a b'", "a\nb\n", ":docker:"],
        "plugins": [{"docker#v5.2.0": {"volumes": ["/a:/a"], "none": [], "empty": {}}}],
    }
    assert to_yaml(value) == (
        "label: A (2 GPUs)\n"
        "commands:\n"
        "- pytest -v 'a b'\n"
        "- |\n"
        "  a\n"
        "  b\n"
        "- ':docker:'\n"
        "plugins:\n"
        "- docker#v5.2.0:\n"
        "    volumes:\n"
        "    - /a:/a\n"
        "    none: []\n"
        "    empty: {}\n"
    )


def test_values_that_steps_share_are_written_for_each():
    shared = {"image": "a"}
    assert yaml.safe_load(to_yaml({"a": [shared, shared], "b": shared}))["b"] == shared
    assert "&" not in to_yaml({"a": [shared, shared]})


@pytest.mark.parametrize(
    "value", [{"a": object()}, {"a": {1, 2}}, {1: "a"}], ids=["object", "set", "number"]
)
def test_what_no_pipeline_holds_is_refused(value):
    with pytest.raises(TypeError, match="a pipeline cannot"):
        to_yaml(value)
