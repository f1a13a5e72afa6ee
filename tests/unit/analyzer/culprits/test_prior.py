import pytest
from hypothesis import given
from hypothesis import strategies as st
from repositories import Repository

from gauntlet.analyzer.culprits.imports import import_closure, paths_named
from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.culprits.prior import EVEN_SHARE, Clues, weigh

TEST = "tests/test_router.py"


def commit(name, *paths, **known):
    return Commit(sha=name, paths=paths, **known)


@pytest.mark.parametrize(
    ("suspect", "clues", "said"),
    [
        pytest.param(commit("x", TEST), Clues(test_file=TEST), "failing test", id="test"),
        pytest.param(
            commit("x", "moe/router.py"),
            Clues(test_file=TEST, imports={TEST: 0, "moe/router.py": 1}),
            "imports",
            id="import",
        ),
        pytest.param(
            commit("x", "moe/router.py"),
            Clues(text="File moe/router.py, line 7: KeyError"),
            "names",
            id="named",
        ),
        pytest.param(
            commit("x", "a.py", title="Speed up the router"),
            Clues(test_file=TEST),
            "speaks of router",
            id="title",
        ),
        pytest.param(commit("x", reverts="abc"), Clues(), "takes back", id="revert"),
        pytest.param(commit("x"), Clues(reverted=frozenset({"x"})), "taken back", id="reverted"),
        pytest.param(commit("x", "a.py", lines_changed=4000), Clues(), "4000 lines", id="churn"),
    ],
)
def test_a_clue_raises_a_commit_and_says_why(suspect, clues, said):
    first, second, third = weigh([commit("a", "a.py"), suspect, commit("b", "b.py")], clues)
    assert second.share > first.share == third.share
    assert said in " ".join(second.reasons)


def test_documents_alone_are_unlikely():
    code, text = weigh([commit("a", "a.py"), commit("b", "docs/a.md", "README.md")], Clues())
    assert text.share < code.share


def test_earlier_lags_say_where_culprits_stand():
    shares = [one.share for one in weigh([commit(str(n)) for n in range(16)], Clues(lags=(0, 0)))]
    assert shares == sorted(shares)
    assert shares[-1] > 1.5 / 16


def test_who_wrote_it_does_not_matter():
    two = [Commit(sha="a", author="Ada", paths=("a",)), Commit(sha="b", author="Bob", paths=("b",))]
    assert len({one.share for one in weigh(two, Clues(text="Bob broke it"))}) == 1


_COMMIT = st.builds(
    Commit,
    sha=st.sampled_from("abc"),
    title=st.text(max_size=20),
    paths=st.lists(st.sampled_from([TEST, "a.py", "docs/x.md", "moe/router.py"])).map(tuple),
    lines_changed=st.none() | st.integers(0, 10**9),
    reverts=st.none() | st.just("a"),
)


@given(commits=st.lists(_COMMIT, min_size=1, max_size=40), lags=st.lists(st.integers(0, 50)))
def test_no_commit_falls_below_its_floor(commits, lags):
    found = weigh(commits, Clues(test_file=TEST, imports={"a.py": 1}, text="a.py", lags=lags))
    assert sum(one.share for one in found) == pytest.approx(1)
    assert min(one.share for one in found) >= EVEN_SHARE / len(commits) - 1e-12


def test_imports_are_followed_as_they_were(tmp_path):
    repository = Repository(tmp_path / "r")
    texts = {
        "tests/test_a.py": "from engine.core import run\nfrom . import helper\n",
        "tests/helper.py": "",
        "src/engine/__init__.py": "from engine import unrelated\n",
        "src/engine/core.py": "def f():\n    from engine import deep\n",
        "src/engine/deep.py": "import os, missing\n",
        "src/engine/unrelated.py": "",
        "src/engine/broken.py": "def (",
    }
    for name, text in texts.items():
        path = repository.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    repository.git("add", ".")
    first = repository.commit("one")
    repository.git("rm", "-q", "src/engine/deep.py")
    second = repository.commit("two")
    found = import_closure(repository.path, first, "tests/test_a.py")
    assert found["src/engine/core.py"] == found["tests/helper.py"] == 1
    assert found["src/engine/deep.py"] == 2
    assert "src/engine/broken.py" not in found
    assert "src/engine/deep.py" not in import_closure(repository.path, second, "tests/test_a.py")
    assert import_closure(repository.path, first, "tests/none.py") == {}


def test_files_are_named_by_path_or_module():
    known = ["moe/router.py", "a.py", "moe/gate.py"]
    text = "moe/router.py:7: in moe.gate: KeyError"
    assert paths_named(text, known) == {"moe/router.py", "moe/gate.py"}
