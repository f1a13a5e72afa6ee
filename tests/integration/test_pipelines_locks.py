"""Case C05: a lock changes by one line; only jobs that install the package run."""

import json

import pytest
from git_repository import GitRepository
from lock_worlds import lock_text

from gauntlet.__main__ import run

AREA = """\
group: Areas
steps:
- {label: Backend, key: backend, source_file_dependencies: [backend/], commands: [make test]}
- {label: Front end, key: frontend, source_file_dependencies: [rust/], commands: [cargo test]}
- {label: Docs, key: docs-build, source_file_dependencies: [docs/], commands: [make docs]}
"""
MANIFEST = """\
gauntlet: 1
locks:
  test:
    purpose: tests
    inputs: [lockfiles/test.in]
    installs:
    - {jobs: [backend], roots: [torch]}
    - {jobs: ["front*"], roots: [maturin]}
"""
CONFIG = "name: ci\njob_dirs: [.buildkite/areas]\nrun_all_patterns: [lockfiles/]\n"
LOCK = "lockfiles/test.txt"
OF_INPUT = ["-r lockfiles/test.in"]


def lock(*, tomli="2.0", hashes=None):
    pins = [
        ("maturin", "1.9", OF_INPUT),
        ("numpy", "2.3", ["torch"]),
        ("tomli", tomli, ["maturin"]),
        ("torch", "2.9", OF_INPUT),
    ]
    return lock_text(pins, hashes=hashes)


@pytest.fixture
def repository(tmp_path):
    made = GitRepository(tmp_path)
    files = {".buildkite/ci_config.yaml": CONFIG, ".buildkite/areas/areas.yaml": AREA}
    files |= {"lockfiles/locks.yaml": MANIFEST, LOCK: lock(), "lockfiles/index.json": "{}"}
    made.commit("begin", files)
    return made


@pytest.fixture
def select(repository, tmp_path, capsys):
    def invoke(files, *more):
        repository.commit("change", files)
        line = ["pipelines", "select", "--json", "--definitions", str(repository.folder)]
        line += ["--config", ".buildkite/ci_config.yaml", "--git", "HEAD~1..HEAD", *more]
        assert run(line) in (0, 3)
        record = json.loads(capsys.readouterr().out)
        return record["selected"], {job["key"]: job for job in record["jobs"]}

    return invoke


def without_docs(text):
    return text.replace(
        "roots: [maturin]}", 'roots: [maturin]}\n    - {jobs: ["docs-*"], roots: [maturin]}'
    )


def test_case_c05_only_jobs_that_install_the_package_run(select, repository):
    repository.commit("narrow docs too", {"lockfiles/locks.yaml": without_docs(MANIFEST)})
    selected, jobs = select({LOCK: lock(tomli="2.1"), "lockfiles/index.json": "{ }"})
    assert selected == ["docs-build", "frontend"]
    first = jobs["frontend"]["reasons"][0]
    assert first["rule"] == "changed-package"
    assert first["path"] == [LOCK, "maturin", "tomli", "frontend"]
    assert "tomli (2.0 -> 2.1)" in first["text"]
    assert jobs["backend"]["rule"] == "unchanged-packages"
    assert jobs["backend"]["evidence"] == LOCK


def test_case_c05_jobs_that_no_entry_names_run_because_of_the_lock(select):
    selected, jobs = select({LOCK: lock(tomli="2.1")})
    assert selected == ["docs-build", "frontend"]
    assert jobs["docs-build"]["rule"] == "run-all"
    assert jobs["docs-build"]["evidence"] == LOCK


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"lockfiles/locks.yaml": None}, "there is no lockfiles/locks.yaml"),
        ({"lockfiles/locks.yaml": "locks: ["}, "lockfiles/locks.yaml"),
        ({"lockfiles/locks.yaml": MANIFEST.replace("test:", "other:")}, "does not declare it"),
        ({"lockfiles/locks.yaml": MANIFEST.replace("torch", "troch")}, "mean 'torch'"),
        ({"lockfiles/locks.yaml": MANIFEST.partition("    installs")[0]}, "names no job"),
    ],
)
def test_case_c05_a_lock_that_is_not_understood_runs_everything(select, repository, files, said):
    repository.commit("spoil", files)
    selected, jobs = select({LOCK: lock(tomli="2.1"), "lockfiles/index.json": "{ }"})
    assert selected == ["backend", "docs-build", "frontend"]
    reason = next(r for r in jobs["backend"]["reasons"] if r["evidence"] == LOCK)
    assert said in reason["text"]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("tomli\n", id="no lock"),
        pytest.param("--pre\n" + lock(tomli="2.1"), id="options changed"),
        pytest.param(lock(tomli="2.1").replace("#   maturin", "#"), id="no annotation"),
        pytest.param(None, id="removed"),
    ],
)
def test_a_lock_that_cannot_be_read_runs_everything(select, text):
    selected, jobs = select({LOCK: text})
    assert selected == ["backend", "docs-build", "frontend"]
    assert jobs["backend"]["evidence"] == LOCK
    assert "could not be told apart" in jobs["backend"]["reasons"][0]["text"]


def test_hashes_alone_are_a_change(select):
    other = lock(hashes={("numpy", "2.3"): ["sha256:" + "0" * 64]})
    selected, jobs = select({LOCK: other})
    assert selected == ["backend", "docs-build"]
    assert jobs["backend"]["path"] == [LOCK, "torch", "numpy", "backend"]


def test_other_files_count_beside_a_lock(select):
    selected, jobs = select({LOCK: lock(tomli="2.1"), "backend/x.py": ""})
    assert selected == ["backend", "docs-build", "frontend"]
    assert jobs["backend"]["rule"] == "declared-dependency"


def test_the_record_alone_is_a_file_like_any_other(select):
    selected, _ = select({"lockfiles/index.json": "{ }"})
    assert selected == ["backend", "docs-build", "frontend"]


def test_the_decision_is_replayed_without_git(repository, tmp_path, capsys):
    repository.commit("change", {LOCK: lock(tomli="2.1")})
    made, again = tmp_path / "made", tmp_path / "again"
    line = ["pipelines", "generate", "--definitions", str(repository.folder)]
    line += ["--config", ".buildkite/ci_config.yaml", "--git", "HEAD~1..HEAD"]
    assert run([*line, "--artifacts", str(made)]) == 0
    parameters = (made / "parameters.json").read_text()
    assert '"changed-package"' in (made / "selection.json").read_text()
    (repository.folder / ".git").rename(tmp_path / "gone")
    assert (
        run(["pipelines", "replay", str(made / "parameters.json"), "--artifacts", str(again)]) == 0
    )
    for name in ("selection.json", "pipeline.yaml"):
        if (made / name).exists():
            assert (again / name).read_bytes() == (made / name).read_bytes()
    assert (again / "parameters.json").read_text() == parameters
    capsys.readouterr()
