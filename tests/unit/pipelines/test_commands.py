import pytest

from gauntlet.pipelines.commands import Targets, covers, pytest_calls

TESTS = "/vllm-workspace/tests"


@pytest.mark.parametrize(
    ("command", "working_dir", "named"),
    [
        pytest.param("pytest -v -s lora", TESTS, {"tests/lora"}, id="folder"),
        pytest.param("A=1 pytest v1/a.py::test_x", TESTS, {"tests/v1/a.py"}, id="one test"),
        pytest.param("pytest -x tests/a.py", None, {"tests/a.py"}, id="from the root"),
        pytest.param("pytest a -m 'not slow'", TESTS, {"tests/a"}, id="marker"),
        pytest.param("pytest -k foo a b", TESTS, {"tests/a", "tests/b"}, id="two folders"),
        pytest.param("cd tests && pytest a", "/vllm-workspace", {"tests/a"}, id="cd before"),
        pytest.param("bash run.sh 'cd tests && pytest a'", ".", {"tests/a"}, id="cd in quotes"),
        pytest.param("pytest a; pytest b", TESTS, {"tests/a", "tests/b"}, id="two commands"),
        pytest.param('bash r.sh 30m "\npytest -x tests/a.py"', None, {"tests/a.py"}, id="script"),
        pytest.param(
            "find c/ -name 'test_*.py' | xargs -I{} pytest '{}'", TESTS, {"tests/c"}, id="find"
        ),
        pytest.param("pytest", TESTS, set(), id="no path"),
        pytest.param("bash run.sh lora", TESTS, set(), id="no pytest"),
    ],
)
def test_targets_of_a_command(command, working_dir, named):
    calls = pytest_calls((command,), working_dir)
    assert {target for call in calls for target in call.named} == named


def test_ignored_paths_are_told_apart():
    (targets,) = pytest_calls(("pytest lora --ignore=lora/a.py --ignore lora/b.py",), TESTS)
    assert targets.named == ("tests/lora",)
    assert targets.ignored == ("tests/lora/a.py", "tests/lora/b.py")


def test_each_call_has_its_own_targets():
    commands = ("cd tests", "pytest a --ignore=a/b.py && pytest a/b.py -k 'c or d'")
    assert pytest_calls(commands, None) == (
        Targets(("tests/a",), ("tests/a/b.py",)),
        Targets(("tests/a/b.py",), (), narrowed=True),
    )


@pytest.mark.parametrize(
    "command",
    [
        pytest.param("pytest a -m 'not b and (not c)'", id="single quotes"),
        pytest.param('pytest -k "b or c" a', id="double quotes"),
        pytest.param('bash run.sh "pytest a -m \\"not b\\""', id="inner quotes"),
        pytest.param("pytest -m b a", id="no quotes"),
        pytest.param("pytest -k='b or c' a", id="equals sign"),
    ],
)
def test_the_words_of_an_expression_are_no_paths(command):
    assert pytest_calls((command,), TESTS) == (Targets(("tests/a",), (), narrowed=True),)


@pytest.mark.parametrize(
    ("target", "path", "expected"),
    [
        pytest.param("tests/a", "tests/a/b.py", True, id="below"),
        pytest.param("tests/a", "tests/ab.py", False, id="same beginning"),
        pytest.param("tests/k/test_*.py", "tests/k/test_x.py", True, id="wildcard"),
        pytest.param("tests/*.py", "tests/k/x.py", False, id="wildcard stays in its folder"),
        pytest.param("tests/*", "tests/k/x.py", True, id="wildcard names a folder"),
    ],
)
def test_covers(target, path, expected):
    assert covers(target, path) is expected
