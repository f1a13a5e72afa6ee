import shlex
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.pipelines.sharding.shell import read_commands


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        pytest.param("pytest -v -s lora", ("-v", "-s", "lora"), id="plain"),
        pytest.param("A=1 B='x y' pytest a", ("a",), id="environment before it"),
        pytest.param("python3 -m pytest a", ("a",), id="as a module"),
        pytest.param("pytest -m 'not slow' a", ("-m", "not slow", "a"), id="single quotes"),
        pytest.param('pytest -k "a or b" c', ("-k", "a or b", "c"), id="double quotes"),
        pytest.param(r'pytest -k "a \"b\" \c"', ("-k", r'a "b" \c'), id="escapes in quotes"),
        pytest.param("pytest a\\ b", ("a b",), id="escaped blank"),
        pytest.param("pytest a \\\n  b\n", ("a", "b"), id="continued line"),
        pytest.param("pytest a 'b;c' '#d' 'e*'", ("a", "b;c", "#d", "e*"), id="quoted signs"),
        pytest.param("pytest a#b ''", ("a#b", ""), id="sharp inside a word, empty word"),
        pytest.param(
            "pytest -rA -p no:cacheprovider a",
            ("-rA", "-p", "no:cacheprovider", "a"),
            id="short options",
        ),
    ],
)
def test_a_plain_pytest_call_is_read(command, arguments):
    assert read_commands([command]).pytest == ((0, arguments),)


def test_settings_around_pytest_calls_are_kept_apart():
    commands = ["export A=1 B='2 3'", "cd /tests", "C=1", "pytest a", "D=1 pytest b"]
    read = read_commands(commands)
    assert read.doubt is None
    assert read.pytest == ((3, ("a",)), (4, ("b",)))


@pytest.mark.parametrize(
    ("command", "words"),
    [
        pytest.param("pytest a && pytest b", "more than one command", id="and"),
        pytest.param("pytest a; pytest b", "more than one command", id="semicolon"),
        pytest.param("pytest a | tee log", "more than one command", id="pipe"),
        pytest.param("pytest a > log", "more than one command", id="redirection"),
        pytest.param("(pytest a)", "more than one command", id="subshell"),
        pytest.param("pytest a\npytest b", "several lines", id="two lines"),
        pytest.param("pytest $DIR", "a variable", id="variable"),
        pytest.param("pytest '$DIR'", "a variable", id="the agent reads quoted ones too"),
        pytest.param("pytest a --shard-id=$$BUILDKITE_PARALLEL_JOB", "shards of its own", id="own"),
        pytest.param("BUILDKITE_PARALLEL_JOB=1 pytest a", "shards of its own", id="own number"),
        pytest.param("pytest `ls`", "another command inside", id="backtick"),
        pytest.param("pytest test_*.py", "may expand", id="wildcard"),
        pytest.param("pytest a.py::t[1]", "may expand", id="bracket"),
        pytest.param("pytest ~/a", "may expand", id="home"),
        pytest.param("pytest a # not b", "a comment", id="comment"),
        pytest.param("pytest 'a", "without its end", id="open quote"),
        pytest.param("pytest a\\", "ends in a backslash", id="backslash"),
        pytest.param("pytest -n 4 a", "in parallel", id="workers"),
        pytest.param("pytest -vn4 a", "in parallel", id="workers among short options"),
        pytest.param("pytest --dist=load a", "in parallel", id="distribution"),
        pytest.param("pytest --splits 3 --group 1", "shards of its own", id="pytest-split"),
        pytest.param("pytest --lf a", "by what ran before", id="last failed"),
        pytest.param("pytest --collect-only a", "runs no test", id="collection"),
        pytest.param("pytest -- a", "no options at its end", id="end of options"),
        pytest.param("pytest --gauntlet-shard=1 a", "a shard already", id="twice"),
        pytest.param("bash run.sh", "no pytest call", id="script"),
        pytest.param("! pytest a", "no pytest call", id="negated"),
        pytest.param("'A=1' pytest a", "no pytest call", id="quoted assignment is a program"),
        pytest.param("cd -", "no pytest call", id="cd back"),
        pytest.param("export A=1", "no command is", id="settings alone"),
    ],
)
def test_anything_else_is_a_doubt(command, words):
    read = read_commands([command])
    assert read.pytest == ()
    assert words in read.doubt


def test_one_doubtful_command_spoils_the_job():
    assert read_commands(["pytest a", "pip freeze | grep x"]).doubt.startswith("command 2 ")


@settings(max_examples=300, deadline=None)
@given(st.lists(st.text("ab'\"\\ #;|&$*?[{~()<>!=\n\t`é", max_size=8), max_size=4))
def test_quoted_words_come_back_or_are_a_doubt(words):
    command = shlex.join(["pytest", *words])
    read = read_commands([command])
    if "$" in command or "`" in command:
        assert read.doubt
    elif not any(word.startswith("-") for word in words):
        assert read.pytest == ((0, tuple(words)),)


@settings(max_examples=60, deadline=None)
@given(st.text("ab'\"\\ #!=é\n-", max_size=10))
def test_what_is_read_is_what_a_shell_reads(tail):
    read = read_commands([f"pytest {tail}"])
    if read.doubt is None:
        script = f"pytest() {{ printf '%s\\0' \"$@\"; }}\npytest {tail.rstrip()} end"
        shell = subprocess.run(
            ["bash", "-c", script], capture_output=True, cwd="/", timeout=20, check=True
        )
        ((_, arguments),) = read.pytest
        assert shell.stdout.decode().split("\0")[:-1] == [*arguments, "end"]
