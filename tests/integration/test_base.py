"""The base of a build, in real clones: whole, shallow and broken ones."""

import os
import subprocess
from pathlib import Path

import pytest

from gauntlet.core.errors import UsageError
from gauntlet.pipelines.base import BaseRequest, build_changes, range_changes, record_built
from gauntlet.pipelines.changes import changed_paths


class Repository:
    """A real git repository with one file per commit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)

    def git(self, *arguments: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        argv = ["git", "-C", str(self.root), *identity, *arguments]
        return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, name: str, text: str = "x = 1\n") -> str:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.git("add", "-A")
        self.git("commit", "-qm", name)
        return self.git("rev-parse", "HEAD")


@pytest.fixture(autouse=True)
def _plain_git(monkeypatch):
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


@pytest.fixture
def origin(tmp_path):
    """Branch main: a, b, c. Branch topic: from b, with t1 and t2."""
    made = Repository(tmp_path / "origin")
    made.git("init", "-q", "-b", "main")
    made.git("config", "uploadpack.allowAnySHA1InWant", "true")
    made.commit("a.py")
    made.commit("b.py")
    made.git("checkout", "-q", "-b", "topic")
    made.commit("t1.py")
    made.commit("t2.py")
    made.git("checkout", "-q", "main")
    made.commit("c.py")
    return made


def clone(origin: Repository, where: Path, *options: str) -> Repository:
    url = f"file://{origin.root}"
    subprocess.run(["git", "clone", "-q", *options, url, str(where)], check=True)
    return Repository(where)


def paths(found) -> set[str]:
    return set(changed_paths(found.files))


def asked(repository: Repository, **fields) -> BaseRequest:
    return BaseRequest(repository=repository.root, **fields)


def test_a_pull_request_answers_for_what_it_adds_to_its_target(origin, tmp_path):
    local = clone(origin, tmp_path / "local", "-b", "topic")
    found = build_changes(asked(local, target="main"))
    assert paths(found) == {"t1.py", "t2.py"}
    assert found.unknown is None
    assert found.base == origin.git("rev-parse", "main~1")


def test_a_release_branch_is_compared_with_itself_and_not_with_main(origin, tmp_path):
    origin.git("checkout", "-q", "-b", "releases/v1", "topic")
    origin.git("checkout", "-q", "-b", "fix")
    origin.commit("fix.py")
    local = clone(origin, tmp_path / "local", "-b", "fix")
    assert paths(build_changes(asked(local, target="releases/v1"))) == {"fix.py"}


def test_a_merge_commit_that_buildkite_made_of_a_pull_request(origin, tmp_path):
    local = clone(origin, tmp_path / "local")
    local.git("merge", "-q", "--no-ff", "-m", "merge", "origin/topic")
    assert paths(build_changes(asked(local, target="main"))) == {"t1.py", "t2.py"}
    assert paths(build_changes(asked(local))) == {"t1.py", "t2.py"}


def test_a_revert_is_the_change_that_it_makes(origin):
    origin.git("revert", "--no-edit", "HEAD")
    found = build_changes(asked(origin))
    assert [str(change) for change in found.files] == ["D c.py"]


def test_main_is_compared_with_the_last_commit_that_was_built(origin, tmp_path):
    state = tmp_path / "state.json"
    first = build_changes(asked(origin, state=state))
    assert first.files == ()
    assert "first build" in first.unknown
    record_built(state, origin.git("rev-parse", "HEAD~1"))
    origin.commit("d.py")
    found = build_changes(asked(origin, state=state))
    assert paths(found) == {"c.py", "d.py"}
    record_built(state, str(found.head))
    again = build_changes(asked(origin, state=state))
    assert (again.files, again.unknown) == ((), None)


def test_without_a_record_main_answers_for_its_own_commit(origin):
    assert paths(build_changes(asked(origin))) == {"c.py"}


def test_the_first_commit_ever_is_all_new(tmp_path):
    made = Repository(tmp_path / "one")
    made.git("init", "-q")
    made.commit("a.py")
    assert "first commit" in build_changes(asked(made)).unknown


def test_a_record_that_cannot_be_read_runs_everything(origin, tmp_path):
    state = tmp_path / "state.json"
    state.write_text('{"commit": 3}')
    assert "cannot be read" in build_changes(asked(origin, state=state)).unknown


@pytest.mark.parametrize("may_fetch", [True, False], ids=["may fetch", "may not"])
@pytest.mark.parametrize(
    ("branch", "options", "expected"),
    [
        pytest.param("topic", {"target": "main"}, {"t1.py", "t2.py"}, id="pull request"),
        pytest.param("main", {}, {"c.py"}, id="main"),
        pytest.param("main", {"state": "first"}, {"b.py", "c.py"}, id="last built"),
    ],
)
def test_a_shallow_clone_is_completed_or_everything_runs(
    origin, tmp_path, branch, options, expected, may_fetch
):
    local = clone(origin, tmp_path / "local", "--depth=1", "-b", branch)
    if "state" in options:
        options = {"state": tmp_path / "state.json"}
        record_built(options["state"], origin.git("rev-parse", "main~2"))
    before = worktree(local.root)
    found = build_changes(asked(local, may_fetch=may_fetch, **options))
    assert worktree(local.root) == before
    if may_fetch:
        assert (paths(found), found.unknown) == (expected, None)
    else:
        assert found.files == ()
        assert "shallow clone" in found.unknown


def worktree(root: Path) -> dict[str, int]:
    files = (path for path in root.rglob("*") if ".git" not in path.parts and path.is_file())
    index = root / ".git" / "index"
    return {str(path): path.stat().st_mtime_ns for path in (*files, index)}


def test_a_remote_that_is_gone_is_said_and_everything_runs(origin, tmp_path):
    local = clone(origin, tmp_path / "local", "--depth=1")
    origin.root.rename(tmp_path / "gone")
    found = build_changes(asked(local, may_fetch=True))
    assert "could not be fetched from origin" in found.unknown


@pytest.mark.parametrize("may_fetch", [True, False], ids=["may fetch", "may not"])
def test_an_explicit_base_that_a_shallow_clone_lacks(origin, tmp_path, may_fetch):
    base = origin.git("rev-parse", "main~2")
    local = clone(origin, tmp_path / "local", "--depth=1")
    found = range_changes(asked(local, may_fetch=may_fetch), f"{base}..HEAD")
    if may_fetch:
        assert paths(found) == {"b.py", "c.py"}
    else:
        assert base in found.unknown


def test_ranges_with_two_and_three_dots(origin):
    assert paths(range_changes(asked(origin), "topic..main")) == {"t1.py", "t2.py", "c.py"}
    assert paths(range_changes(asked(origin), "topic...main")) == {"c.py"}


@pytest.mark.parametrize("name", ["nope..HEAD", "HEAD..nope", f"{'0' * 40}..HEAD"])
def test_a_name_that_git_does_not_know_is_a_usage_error(origin, name):
    with pytest.raises(UsageError, match="no commit"):
        range_changes(asked(origin), name)


def test_a_folder_that_is_no_repository_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="(?i)not a git repository"):
        build_changes(BaseRequest(repository=tmp_path))


def test_histories_without_a_common_commit_run_everything(origin):
    origin.git("checkout", "-q", "--orphan", "other")
    origin.git("rm", "-rqf", ".")
    origin.commit("z.py")
    assert "in common" in build_changes(asked(origin, target="main")).unknown


def test_modes_submodules_types_and_odd_names_are_changes(origin, tmp_path):
    library = Repository(tmp_path / "library")
    library.git("init", "-q")
    library.commit("l.c")
    origin.git(
        "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library.root), "lib"
    )
    origin.git("config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
    origin.git("add", "-A")
    origin.git("commit", "-qm", "submodule")
    library.commit("m.c")
    Repository(origin.root / "lib").git("pull", "-q")
    (origin.root / "a.py").chmod(0o755)
    (origin.root / "b.py").unlink()
    (origin.root / "b.py").symlink_to("a.py")
    odd = os.fsencode(origin.root) + b'/odd \xff\n\t"name'
    Path(os.fsdecode(odd)).write_text("x")
    origin.git("add", "-A", "--force", ".", "lib")
    origin.git("update-index", "--cacheinfo", f"160000,{library.git('rev-parse', 'HEAD')},lib")
    origin.git("commit", "-qm", "many kinds")
    found = {(change.status, change.path) for change in build_changes(asked(origin)).files}
    assert found == {
        ("M", "lib"),
        ("M", "a.py"),
        ("T", "b.py"),
        ("A", 'odd \\xff\n\t"name'),
    }


def test_the_readers_own_git_settings_change_nothing(origin):
    origin.git("mv", "a.py", "z.py")
    origin.git("commit", "-qm", "move")
    for key, value in (
        ("diff.renames", "false"),
        ("diff.noprefix", "true"),
        ("diff.relative", "true"),
        ("diff.external", "false"),
        ("core.quotepath", "true"),
        ("diff.ignoreSubmodules", "all"),
    ):
        origin.git("config", key, value)
    assert [str(change) for change in build_changes(asked(origin)).files] == ["R a.py -> z.py"]
