import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.warehouse.reports.nodes import (
    file_of,
    ids_of,
    make_nodeid,
    name_rows,
    test_id,
)


@pytest.mark.parametrize(
    ("classname", "name", "file", "nodeid"),
    [
        ("tests.a.test_b", "test_x[1]", "tests/a/test_b.py", "tests/a/test_b.py::test_x[1]"),
        ("tests.test_b.TestC", "test_x", "tests/test_b.py", "tests/test_b.py::TestC::test_x"),
        ("tests.test_b.A.B", "t", "./tests/test_b.py", "tests/test_b.py::A::B::t"),
        ("tests.test_b.C", "t", "tests\\test_b.py", "tests/test_b.py::C::t"),
        ("docs.use.md", "use.md", "docs/use.md", "docs/use.md::use.md"),
        ("", "test_x", "tests/test_b.py", "tests/test_b.py::test_x"),
        ("", "tests.test_b", "tests/test_b.py", "tests/test_b.py"),
        ("test.test_k.Case", "t", "../site-packages/base.py", "test.test_k.Case::t"),
        ("tests.test_bc.T", "t", "tests/test_b.py", "tests.test_bc.T::t"),
        ("com.acme.FooTest", "adds", "", "com.acme.FooTest::adds"),
        ("", "//bazel:target", "", "//bazel:target"),
    ],
)
def test_the_node_id_is_pytest_s_own_where_the_file_fits_the_class(classname, name, file, nodeid):
    assert make_nodeid(classname, name, file) == nodeid


@pytest.mark.parametrize(
    ("nodeid", "file"),
    [
        ("tests/test_b.py::C::t", "tests/test_b.py"),
        ("test_b.py::t", "test_b.py"),
        ("tests.test_b.C::t", ""),
        ("com.acme.FooTest::adds", ""),
    ],
)
def test_a_file_is_what_a_node_id_begins_with(nodeid, file):
    assert file_of(nodeid) == file


def test_ids_are_the_same_in_every_process():
    known = 3922792488936207902
    assert test_id("vllm-project/vllm", "tests/test_a.py::test_x") == known
    code = (
        "from gauntlet.warehouse.reports.nodes import test_id;"
        "print(test_id('vllm-project/vllm', 'tests/test_a.py::test_x'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) == known


@given(st.lists(st.text(st.characters(codec="utf-8"), max_size=20), max_size=20))
def test_many_ids_at_once_are_the_ids_one_by_one(nodeids):
    assert ids_of(name_rows("r", nodeids)).tolist() == [test_id("r", nodeid) for nodeid in nodeids]


def test_the_same_name_in_another_repository_is_another_test():
    assert test_id("a", "t") != test_id("b", "t")
