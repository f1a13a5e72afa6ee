"""Faults that people reported of other tools, each with the outcome that is right."""

import json
import subprocess

import pytest
import yaml
from unit.pipelines.factories import write_tree

from gauntlet.__main__ import run

BACKEND = """\
group: Backend
steps:
- {label: Backend, key: backend, source_file_dependencies: [backend/], commands: [make test]}
- {label: Front end, key: frontend, source_file_dependencies: [rust/], commands: [cargo test]}
- label: Kernels
  key: kernels
  source_file_dependencies: [csrc/, tests/evals/]
  commands: [pytest kernels]
"""
CONFIG = """\
name: ci
job_dirs: [.buildkite/areas]
run_all_patterns: [requirements/test.txt]
"""


@pytest.fixture
def tree(tmp_path):
    return write_tree(tmp_path / "tree", {".buildkite/areas/backend.yaml": BACKEND}, CONFIG)


@pytest.fixture
def select(tree, tmp_path, capsys):
    def invoke(*arguments, changed=None):
        line = ["pipelines", "select", "--json", "--definitions", str(tree), *map(str, arguments)]
        if changed is not None:
            (tmp_path / "changes").write_text(changed)
            line += ["--changes", str(tmp_path / "changes")]
        code = run(line)
        return code, json.loads(capsys.readouterr().out)

    return invoke


def git(tree, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    argv = ["git", "-C", str(tree), *identity, *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


def commit(tree, path, text):
    (tree / path).parent.mkdir(parents=True, exist_ok=True)
    (tree / path).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-qm", path)
    return git(tree, "rev-parse", "HEAD")


def test_c01_a_change_that_only_deletes_files_runs_the_jobs_that_depend_on_them(select):
    code, found = select(changed="D\tbackend/a.py\nD\tbackend/b.py\n")
    assert (code, found["selected"]) == (0, ["backend"])
    moved = select(changed="R100\tbackend/a.py\trust/a.rs\n")[1]
    assert moved["selected"] == ["backend", "frontend"]


def test_c03_a_shallow_checkout_without_the_base_runs_everything_and_says_why(
    tree, tmp_path, capsys
):
    git(tree, "init", "-q", "-b", "main")
    base = commit(tree, "rust/a.rs", "1")
    commit(tree, "backend/a.py", "1")
    clone = tmp_path / "clone"
    git(tree, "clone", "-q", "--depth=1", f"file://{tree}", str(clone))
    line = ["pipelines", "select", "--json", "--definitions", str(clone), "--git"]
    assert run([*line, f"{base}..HEAD"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["selected"] == ["backend", "frontend", "kernels"]
    assert {job["rule"] for job in found["jobs"]} == {"unknown-changes"}
    assert "shallow clone" in found["jobs"][0]["reasons"][0]["text"]
    # Where a shallow clone may be completed, it is.
    git(tree, "config", "uploadpack.allowAnySHA1InWant", "true")
    assert run([*line, f"{base}..HEAD", "--fetch"]) == 0
    assert json.loads(capsys.readouterr().out)["selected"] == ["backend"]


def test_c05_a_lock_file_runs_the_full_set_and_the_reason_names_it(select):
    found = select(changed="M\trequirements/test.txt\n")[1]
    assert found["selected"] == ["backend", "frontend", "kernels"]
    assert all(job["evidence"] == "requirements/test.txt" for job in found["jobs"])
    assert all("requirements/test.txt" in job["reasons"][0]["text"] for job in found["jobs"])


def test_c09_the_same_command_runs_again_when_a_source_file_changed(tree, select):
    git(tree, "init", "-q", "-b", "main")
    one = commit(tree, "backend/a.py", "1")
    two = commit(tree, "backend/a.py", "2")
    three = commit(tree, "rust/a.rs", "3")
    for revisions, expected in (
        (f"{one}..{two}", ["backend"]),
        (f"{two}..{three}", ["frontend"]),
        # Nothing is remembered between calls: asking again gives the same again.
        (f"{one}..{two}", ["backend"]),
    ):
        assert select("--git", revisions)[1]["selected"] == expected


@pytest.mark.parametrize(
    ("path", "rule"),
    [
        pytest.param("csrc/kernel.cu", "declared-dependency", id="kernel source"),
        pytest.param("tests/evals/configs/x.yaml", "declared-dependency", id="configuration"),
        pytest.param("schema/tables.sql", "unowned-file", id="a kind that no rule knows"),
    ],
)
def test_c11_files_that_are_no_python_run_whoever_declares_them_or_everybody(select, path, rule):
    jobs = {job["key"]: job for job in select(changed=f"M\t{path}\n")[1]["jobs"]}
    assert jobs["kernels"]["decision"] == "run"
    assert jobs["kernels"]["rule"] == rule
    assert (jobs["backend"]["decision"] == "run") is (rule == "unowned-file")


def test_a_file_moved_into_the_documentation_does_not_skip_its_tests(select):
    code, found = select(changed="R100\tbackend/a.py\tdocs/a.md\n")
    assert (code, found["docs_only"], found["selected"]) == (0, False, ["backend"])


def test_a_checkout_is_as_it_was_after_selecting(tree, select):
    git(tree, "init", "-q", "-b", "main")
    commit(tree, "backend/a.py", "1")
    commit(tree, "backend/a.py", "2")
    (tree / "backend" / "a.py").write_text("not committed")
    (tree / "untracked").write_text("x")
    before = {path: path.stat().st_mtime_ns for path in tree.rglob("*")}
    assert select("--git", "auto")[1]["selected"] == ["backend"]
    assert {path: path.stat().st_mtime_ns for path in tree.rglob("*")} == before


def test_a_misspelt_key_does_not_make_a_job_that_never_runs(tree, capsys):
    text = BACKEND.replace("source_file_dependencies: [rust/]", "source_file_dependancies: [rust/]")
    write_tree(tree, {".buildkite/areas/backend.yaml": text}, CONFIG)
    (tree / "changes").write_text("M\tbackend/a.py\n")
    line = ["pipelines", "generate", "--definitions", str(tree)]
    assert run([*line, "--changes", str(tree / "changes")]) == 0
    out, err = capsys.readouterr()
    steps = {step["key"]: step for step in yaml.safe_load(out)["steps"][0]["steps"]}
    assert steps["frontend"]["commands"][-1] == "exit 1"
    assert "did you mean 'source_file_dependencies'" in err
