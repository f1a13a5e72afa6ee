import pytest
from unit.pipelines.audit_factories import TREE

from gauntlet.pipelines.audit.runs import Invocation, invocations, what_runs
from gauntlet.pipelines.audit.tree import Tree, is_test_file

ONE, TWO, THREE = "tests/a/test_one.py", "tests/a/test_two.py", "tests/b/test_three.py"
TESTS = "/vllm-workspace/tests"


def run(command, scripts=None, working_dir=TESTS, tree=TREE):
    return what_runs([Invocation((command,), working_dir)], Tree(tree), scripts or {})


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        pytest.param("pytest a", {ONE, TWO}, id="folder"),
        pytest.param("pytest a --ignore=a/test_one.py", {TWO}, id="ignored"),
        pytest.param("pytest a --ignore=a/test_one.py; pytest a/test_one.py", {ONE, TWO}),
        pytest.param("pytest a -m 'not b'", {ONE, TWO}, id="a marker is no folder"),
        pytest.param("python3 a/test_one.py", {ONE}, id="python"),
        pytest.param("torchrun --n=2 a/test_one.py | grep 'b/test_three.py'", {ONE, THREE}),
        pytest.param("bash x.sh 'cd tests && pytest a/test_one.py'", {ONE}, id="in quotes"),
        pytest.param("pip install -e a", set(), id="a folder, but not for pytest"),
        pytest.param("python3 b/helper.py", set(), id="no test file"),
    ],
)
def test_what_a_command_runs(command, expected):
    assert run(command).files == expected


@pytest.mark.parametrize(
    "working_dir", [None, "/vllm-workspace", TESTS, "/vllm-workspace/vllm"], ids=str
)
def test_a_path_from_the_tests_folder_or_the_root_is_found_from_anywhere(working_dir):
    assert run("pytest tests/a/test_one.py b", working_dir=working_dir).files == {ONE, THREE}


@pytest.mark.parametrize(
    ("call", "text"),
    [
        pytest.param("bash run.sh", "pytest a/test_one.py", id="below tests"),
        pytest.param("bash /vllm-workspace/tests/run.sh x", "pytest a/test_one.py", id="absolute"),
        pytest.param("./run.sh", "cd tests\npytest -v \\\n  a/test_one.py\n", id="two lines"),
        pytest.param("bash run.sh", 'pytest "${ROOT}"/tests/a/test_one.py', id="variable, quoted"),
        pytest.param("bash run.sh", "pytest $A/${B}/tests/a/test_one.py", id="variables"),
        pytest.param("bash run.sh", 'python "$(dirname "$0")"/a/test_one.py', id="beside"),
    ],
)
def test_scripts_are_read(call, text):
    assert run(call, {"tests/run.sh": text}).files == {ONE}


def test_a_comment_of_a_script_runs_nothing():
    assert run("bash run.sh", {"tests/run.sh": "# pytest a\n  # pytest b\n"}).files == set()


@pytest.mark.parametrize(("levels", "expected"), [(3, {ONE}), (4, set())])
def test_scripts_are_followed_three_levels_deep(levels, expected):
    names = [f"tools/s{level}.sh" for level in range(1, levels + 1)]
    texts = [f"bash {name}" for name in names[1:]] + ["pytest tests/a/test_one.py"]
    scripts = dict(zip(names, texts, strict=True))
    assert run("bash tools/s1.sh", scripts, None, (*TREE, *names)).files == expected


def test_scripts_that_call_each_other_end():
    scripts = {"tests/x.sh": "bash y.sh", "tests/y.sh": "bash x.sh; pytest a/test_one.py"}
    assert run("bash x.sh", scripts, tree=(*TREE, *scripts)).files == {ONE}


def test_a_script_that_is_not_at_hand_is_named():
    assert run("bash run.sh && bash nowhere.sh").unread == ("tests/run.sh",)


def test_commands_are_found_in_any_dialect_and_mirrors_inherit_their_folder():
    value = {
        "steps": [
            {"commands": ["a", 1, "b"], "working_dir": "w", "mirror": {"amd": {"commands": "c"}}},
            {"command": "d"},
            {"group": "g", "steps": [{"run": "e", "defaults": {"run": {"shell": "bash"}}}]},
        ]
    }
    assert set(invocations(value)) == {
        Invocation(("a", "b"), "w"),
        Invocation(("c",), "w"),
        Invocation(("d",)),
        Invocation(("e",)),
    }


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        pytest.param("tests/test_a.py", True, id="at the top"),
        pytest.param("tests/a/b/c_test.py", True, id="deep"),
        pytest.param("tests/a/conftest.py", False, id="conftest"),
        pytest.param("tests/test_a/util.py", False, id="a folder of that name"),
        pytest.param("vllm/test_a.py", False, id="elsewhere"),
    ],
)
def test_test_files_are_told_by_name(path, expected):
    assert is_test_file(path) is expected


def test_a_tree_answers_for_files_and_folders():
    tree = Tree(["a/b.py", "a/b/c.py", "a/b-d.py", "a0", "z"])
    assert "a/b" in tree
    assert "a/" not in tree
    assert tree.below("a/b") == ("a/b/c.py",)
    assert tree.below("a") == ("a/b-d.py", "a/b.py", "a/b/c.py")
    assert tree.below("z") == ("z",)
    assert tree.below("b") == ()
    assert tree.beginning("a/b") == ("a/b-d.py", "a/b.py", "a/b/c.py")
    assert tree.named("b") == ("a/b",)
