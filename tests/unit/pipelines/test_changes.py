import pytest

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.pipelines.changes import (
    ChangedFile,
    changed_paths,
    example_names,
    load_example,
    parse_changes,
)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        pytest.param("M\ta.py\n", ("a.py",), id="modified"),
        pytest.param("D\ta.py", ("a.py",), id="deleted, no newline at the end"),
        pytest.param("R087\told.py\tnew.py\n", ("new.py", "old.py"), id="rename"),
        pytest.param("C\told.py\tnew.py\n", ("new.py", "old.py"), id="copy"),
        pytest.param("a.py\r\n./b.py\r\n", ("a.py", "b.py"), id="bare paths, CRLF"),
        pytest.param("# why\n\n  \nM\ta.py\n", ("a.py",), id="comment and blanks"),
        pytest.param("M\twith space.py\n", ("with space.py",), id="space in the name"),
        pytest.param('M\t"d\\303\\251j\\tu.py"\n', ("déj\tu.py",), id="quoted by git"),
        pytest.param("M\0a.py\0R100\0b.py\0c.py\0", ("a.py", "b.py", "c.py"), id="with -z"),
        pytest.param("", (), id="nothing"),
    ],
)
def test_every_side_of_every_entry_counts(text, paths):
    assert changed_paths(parse_changes(text)) == paths


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("Z\ta.py", id="unknown letter"),
        pytest.param("R100\ta.py", id="rename with one path"),
        pytest.param("M\ta.py\tb.py", id="modified with two paths"),
        pytest.param("M\t/etc/passwd", id="absolute"),
        pytest.param("../x", id="outside"),
    ],
)
def test_a_line_that_cannot_be_read_is_named(line):
    with pytest.raises(ConfigError, match=r"^changes:2: "):
        parse_changes(f"M\tgood.py\n{line}\n")


def test_order_and_repetition_do_not_matter():
    assert parse_changes("b\na\nb\n") == parse_changes("a\nb\n")


def test_a_rename_reads_as_one():
    assert str(ChangedFile(path="b", status="R", old_path="a")) == "R a -> b"


def test_examples_are_readable():
    assert len(example_names()) >= 5
    assert all(load_example(name) for name in example_names())


def test_an_unknown_example_names_the_nearest():
    with pytest.raises(UsageError, match="sampler"):
        load_example("samplr")
