"""From a checkout to a build: generate, upload, and where the next build starts from."""

import json
import os
import subprocess
import sys
from pathlib import Path

import fake_agent
import pytest
from unit.pipelines.factories import TINY, write_tree
from unit.pipelines.sharding.factories import inventory
from unit.pipelines.sharding.test_render import JOB, plan_of

from gauntlet.__main__ import run
from gauntlet.core.json_file import json_text
from gauntlet.pipelines.timings import Timings

SHARDED = """\
group: Long
steps:
- label: Long
  key: long
  automatic_shard: true
  working_dir: /srv/tests
  source_file_dependencies: [engine/]
  commands: [pytest a]
"""


def git(tree, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    argv = ["git", "-C", str(tree), *identity, *arguments]
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def tree(tmp_path):
    root = write_tree(tmp_path / "tree")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", ".")
    git(root, "commit", "-qm", "one")
    return root


@pytest.fixture
def build(tmp_path, monkeypatch):
    """A build with an agent on PATH; returns what reads the state of the build."""
    state = tmp_path / "build.json"
    state.write_text(json.dumps(vars(fake_agent.Build())))
    program = tmp_path / "bin" / "buildkite-agent"
    program.parent.mkdir()
    call = f'"{sys.executable}" "{fake_agent.__file__}" "{state}" "$@"'
    program.write_text(f"#!/bin/sh\nexec {call}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    tests = Path(fake_agent.__file__).parent
    monkeypatch.setenv("PYTHONPATH", f"{tests}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")
    monkeypatch.setenv("BUILDKITE_BUILD_ID", "build-1")
    return lambda: json.loads(state.read_text())


def generate(tree, out, *options):
    line = ["pipelines", "generate", "--definitions", str(tree), "--out", os.devnull]
    return run([*line, "--artifacts", str(out), *map(str, options)])


def test_c07_the_first_build_runs_everything_and_the_next_starts_from_it(
    tree, build, tmp_path, capsys
):
    state = tmp_path / "state" / "built.json"
    auto = ("--git", "auto", "--state", state)
    assert generate(tree, tmp_path / "a", *auto) == 0
    assert not state.exists()
    selection = json.loads((tmp_path / "a" / "selection.json").read_text())
    assert len(selection["selected"]) == 8
    assert run(["pipelines", "upload", str(tmp_path / "a"), "--state", str(state)]) == 0
    head = git(tree, "rev-parse", "HEAD")
    assert json.loads(state.read_text())["commit"] == head
    assert set(build()["keys"]) == set(selection["selected"])
    style, body = build()["annotations"]["gauntlet"]
    assert style == "warning"
    assert "first build" in body
    (tree / "engine").mkdir()
    (tree / "engine" / "a.py").write_text("x = 1\n")
    git(tree, "add", ".")
    git(tree, "commit", "-qm", "two")
    assert generate(tree, tmp_path / "b", *auto) == 0
    selection = json.loads((tmp_path / "b" / "selection.json").read_text())
    assert "engine-2-gpus" in selection["selected"]
    assert "undeclared" not in selection["selected"]
    parameters = json.loads((tmp_path / "b" / "parameters.json").read_text())
    assert parameters["changes"]["base"] == head
    assert capsys.readouterr().err.count("wrote") >= 4


def test_uploading_again_adds_nothing(tree, build, tmp_path):
    assert generate(tree, tmp_path / "a", "--nightly") == 0
    for _ in range(2):
        assert run(["pipelines", "upload", str(tmp_path / "a")]) == 0
    assert len(build()["uploads"]) == 1


def test_a_failed_upload_does_not_count_as_built(tree, build, tmp_path, capsys):
    state = tmp_path / "built.json"
    assert generate(tree, tmp_path / "a", "--git", "auto", "--state", state) == 0
    (tmp_path / "a" / "pipeline.yaml").write_text(
        "steps:\n- {key: a, command: x, depends_on: [nobody]}\n"
    )
    assert run(["pipelines", "upload", str(tmp_path / "a"), "--state", str(state)]) == 7
    assert not state.exists()
    assert "nobody" in capsys.readouterr().err


def test_jobs_with_a_shard_plan_run_in_shards(tree, build, tmp_path, capsys):
    write_tree(tree, TINY | {".buildkite/areas/long.yaml": SHARDED})
    plans = tmp_path / "plans"
    plans.mkdir()
    (plans / "long.json").write_text(json_text(plan_of(JOB)))
    (plans / "bad.json").write_text("{}")
    assert generate(tree, tmp_path / "a", "--nightly", "--shard-plans", plans) == 0
    said = capsys.readouterr().err
    # The plan was made of other commands, so its job stays as it is, and that is said.
    assert "long runs as a single job" in said
    assert "a shard plan cannot be used" in said


def test_a_plan_of_the_jobs_own_commands_is_taken(tree, build, tmp_path, capsys):
    text = SHARDED.replace("commands: [pytest a]", f"commands: {json.dumps(list(JOB.commands))}")
    text = text.replace("  automatic", f"  env: {json.dumps(dict(JOB.env))}\n  automatic")
    text = text.replace("/srv/tests", str(JOB.working_dir))
    write_tree(tree, TINY | {".buildkite/areas/long.yaml": text})
    plans = tmp_path / "plans"
    plans.mkdir()
    plan = plan_of(JOB)
    (plans / "long.json").write_text(json_text(plan))
    assert generate(tree, tmp_path / "a", "--nightly", "--shard-plans", plans) == 0
    assert f"long runs in {len(plan.shards)} shards" in capsys.readouterr().err
    assert run(["pipelines", "upload", str(tmp_path / "a")]) == 0
    groups = {group["group"]: group["steps"] for group in build()["uploads"][0]["steps"]}
    (step,) = groups["Long"]
    assert step["parallelism"] == len(plan.shards)
    assert set(build()["artifacts"]) == {
        "gauntlet-shards/long.json",
        "gauntlet-shards/gauntlet_shard.py",
    }
    again = tmp_path / "again"
    assert (
        run(
            [
                "pipelines",
                "replay",
                str(tmp_path / "a" / "parameters.json"),
                "--artifacts",
                str(again),
            ]
        )
        == 0
    )
    assert (again / "pipeline.yaml").read_bytes() == (tmp_path / "a/pipeline.yaml").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        pytest.param(["nowhere.yaml"], 2, "nowhere.yaml", id="no such file"),
        pytest.param(["{made}", "--state", "s"], 2, "--git auto", id="no commit to keep"),
        pytest.param(["{made}/pipeline.yaml", "--state", "s"], 2, "needs DIR", id="a file"),
        pytest.param(["{made}", "--agent", "no-such-agent"], 4, "no-such-agent", id="no agent"),
    ],
)
def test_wrong_usage_is_said_and_uploads_nothing(
    tree, build, tmp_path, capsys, arguments, code, words
):
    assert generate(tree, tmp_path / "made", "--nightly") == 0
    line = [argument.format(made=tmp_path / "made") for argument in arguments]
    assert run(["pipelines", "upload", *line]) == code
    assert words in capsys.readouterr().err
    assert build()["uploads"] == []


def test_outside_of_a_build_only_a_dry_run_is_possible(tree, tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("BUILDKITE_BUILD_ID", raising=False)
    assert generate(tree, tmp_path / "a", "--nightly") == 0
    assert run(["pipelines", "upload", str(tmp_path / "a")]) == 2
    assert "--dry-run" in capsys.readouterr().err
    assert run(["pipelines", "upload", "--dry-run", str(tmp_path / "a")]) == 0
    assert "upload 1 of 1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "target_s"),
    [
        pytest.param((), 600, id="the group's"),
        pytest.param(("--target", "9"), 540, id="asked for"),
    ],
)
def test_a_group_says_how_long_a_shard_may_take(tmp_path, capsys, arguments, target_s):
    text = f"""\
gauntlet: 1
group: Long
target_minutes: 10
working_dir: {JOB.working_dir}
jobs:
- {{key: long, label: L, device: h200_18gb, env: {json.dumps(dict(JOB.env))},
   commands: {json.dumps(list(JOB.commands))}}}
"""
    tree = write_tree(tmp_path / "tree", TINY | {".buildkite/areas/long.yaml": text})
    ids = [["a.py::t1", "b.py::t2"], ["c.py::t3", "d.py::t4"]]
    (tmp_path / "i.json").write_text(json_text(inventory(*ids, job=JOB)))
    past = {name: (400.0,) for call in ids for name in call}
    (tmp_path / "t.json").write_text(json_text(Timings(schema_version=1, tests=past)))
    line = ["pipelines", "shard", "plan", "--inventory", str(tmp_path / "i.json")]
    line += ["--timings", str(tmp_path / "t.json"), "--definitions", str(tree)]
    assert run([*line, "--out", "-", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["target_s"] == target_s
