"""``gauntlet locks diff``, ``why`` and ``impact`` on a real repository."""

import json

import pytest
from git_repository import GitRepository
from lock_worlds import lock_text

from gauntlet.__main__ import run

MANIFEST = """\
gauntlet: 1
locks:
  test:
    purpose: tests
    inputs: [lockfiles/test.in]
    installs: [{jobs: [ui-*], roots: [web]}, {jobs: [core]}]
"""
IN = ["-r lockfiles/test.in"]


def pins(markup):
    return lock_text([("base", "1", ["web"]), ("markup", markup, ["base"]), ("web", "3", IN)])


@pytest.fixture
def repository(tmp_path, monkeypatch):
    made = GitRepository(tmp_path)
    monkeypatch.chdir(made.folder)
    files = {"lockfiles/locks.yaml": MANIFEST, "lockfiles/test.in": "# our own\nWeb>=3\n"}
    made.commit("old", {**files, "lockfiles/test.txt": pins("1.0")})
    made.commit("new", {"lockfiles/test.txt": pins("1.1")})
    return made


@pytest.fixture
def says(repository, capsys):
    def invoke(*argv, code=0):
        assert run(["locks", *argv]) == code
        said = capsys.readouterr()
        return said.out if code == 0 else said.err

    return invoke


def test_diff_of_files_and_revisions(says, tmp_path):
    (tmp_path / "other.txt").write_text(pins("2.0"))
    both = says("diff", "HEAD~1:lockfiles/test.txt", str(tmp_path / "other.txt"), "--json")
    (change,) = json.loads(both)["changes"]
    assert (change["name"], change["step"], change["through"]) == ("markup", "major", ["web"])
    assert "minor" in says("diff", "--lock", "test", "--base", "HEAD~1")
    assert "no difference" in says("diff", "--lock", "test", "--base", "HEAD", "--by", "released")
    assert says("diff", "--lock", "test", "--base", "HEAD~1", "--markdown").startswith(
        "| package |"
    )


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["lockfiles/test.txt"], "say what to compare"),
        (["nothing.txt", "lockfiles/test.txt"], "there is no lock nothing.txt"),
        (["HEAD:nothing.txt", "lockfiles/test.txt"], "HEAD has no file nothing.txt"),
        (["nobody:lockfiles/test.txt", "lockfiles/test.txt"], "no revision 'nobody'"),
        (["--lock", "tests", "--base", "HEAD"], "did you mean 'test'?"),
    ],
)
def test_diff_of_what_is_not_there(says, argv, said):
    assert said in says("diff", *argv, code=2)


def test_why_names_the_line_of_the_root(says):
    said = says("why", "Markup")
    assert "test: markup==1.1" in said
    assert "-r lockfiles/test.in -> web -> base -> markup" in said
    assert "asked for at lockfiles/test.in:2" in said


def test_why_not(says):
    assert "did you mean 'markup'?" in says("why", "markups", code=2)


def test_impact(says):
    found = json.loads(says("impact", "--lock", "test", "--base", "HEAD~1", "--json"))
    ways = [install["way"] for install in found["installs"]]
    assert ways == [["web", "base", "markup"], ["-r lockfiles/test.in", "web", "base", "markup"]]
    said = says("impact", "--lock", "test", "--base", "HEAD", "--head", "HEAD")
    assert "ui-*: not concerned" in said
    assert "not narrowed" in said
