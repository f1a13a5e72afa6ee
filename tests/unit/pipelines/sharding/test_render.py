from dataclasses import replace

import pytest
import yaml
from unit.pipelines.factories import job
from unit.pipelines.sharding.factories import inventory, timings

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.job import Definitions
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.sharding.planner import ShardPolicy, decide_sharding, job_doubt
from gauntlet.pipelines.sharding.render import (
    ShardPaths,
    collect_lines,
    render_shards,
    step_yaml,
)
from gauntlet.pipelines.sharding.shell import read_commands

JOB = job(
    "long",
    commands=("export A=1", "B=1  pytest -v -m 'not slow' \"a b\"\n", "pytest c"),
    working_dir="/srv/tests",
    env={"C": True, "D": "x y"},
    device="h200_18gb",
)
PATHS = ShardPaths(plan="/plans/long.json", receipt="/out/{shard}.json")
OPTIONS = "--gauntlet-shard-plan=/plans/long.json '--gauntlet-receipt=/out/{shard}.json'"


def plan_of(made):
    ids = [[f"{n}.py::t{m}" for m in range(2)] for n, _ in enumerate(read_calls(made))]
    past = timings({name: 500 for call in ids for name in call})
    policy = ShardPolicy(target_s=700, max_shards=100)
    return decide_sharding(made, inventory(*ids, job=made), past, policy).plan


def read_calls(made):
    return read_commands(made.commands).pytest


def test_pytest_calls_get_options_at_their_end_and_all_else_stays():
    sharded = render_shards(JOB, plan_of(JOB), PATHS)
    start = "-p gauntlet.pipelines.sharding.plugin --gauntlet-command="
    assert sharded.commands == (
        "export A=1",
        f"B=1  pytest -v -m 'not slow' \"a b\" {start}0 {OPTIONS}\n",
        f"pytest c {start}1 {OPTIONS}",
    )
    assert sharded == replace(JOB, commands=sharded.commands, parallelism=4)


def test_a_copy_of_the_plugin_comes_before_what_the_image_has():
    paths = ShardPaths(plan="/p.json", plugin="gauntlet_shard", plugin_folder="/opt/shard")
    sharded = render_shards(JOB, plan_of(JOB), paths)
    assert sharded.commands[0] == 'export PYTHONPATH=/opt/shard"$${PYTHONPATH:+:$$PYTHONPATH}"'
    assert sharded.commands[-1].startswith("pytest c -p gauntlet_shard --gauntlet-command=1 ")


def test_what_comes_before_is_shell_text_that_the_agent_leaves_alone():
    paths = replace(PATHS, before=("trap 'upload $PWD' EXIT",))
    assert render_shards(JOB, plan_of(JOB), paths).commands[:2] == (
        "trap 'upload $$PWD' EXIT",
        "export A=1",
    )


def test_a_step_runs_the_shards():
    (group,) = yaml.safe_load(step_yaml(render_shards(JOB, plan_of(JOB), PATHS)))["steps"]
    (step,) = group["steps"]
    assert step["parallelism"] == 4
    assert "cd /srv/tests" in step["commands"]
    assert step["agents"]["queue"]
    assert step["depends_on"] == []


def test_a_step_needs_a_known_device():
    with pytest.raises(ConfigError, match="unknown device"):
        step_yaml(replace(JOB, device="abacus"))


def test_collection_prints_the_whole_script():
    lines = collect_lines(JOB, inventory="/tmp/i.json")
    assert lines[:4] == ("set -e", "cd /srv/tests", "export C=true", "export D='x y'")
    assert lines[4].startswith('printf \'%s\\n\' \'{"schema_version": 1, "job": "long"')
    assert lines[4].endswith(" > /tmp/i.json")
    assert lines[5] == "export A=1"
    assert lines[7].endswith("--gauntlet-command=1 --gauntlet-collect=/tmp/i.json")


@pytest.mark.parametrize(
    ("paths", "made"),
    [
        pytest.param(ShardPaths(plan="plan.json"), JOB, id="relative plan"),
        pytest.param(ShardPaths(plan="/p", receipt="r.json"), JOB, id="relative receipt"),
        pytest.param(ShardPaths(plan="/$HOME/p"), JOB, id="variable"),
        pytest.param(PATHS, replace(JOB, key="other"), id="plan of another job"),
        pytest.param(PATHS, replace(JOB, env={}), id="plan of other environment"),
        pytest.param(PATHS, replace(JOB, commands=("bash x",)), id="no pytest call"),
    ],
)
def test_what_does_not_fit_is_refused(paths, made):
    with pytest.raises(UsageError):
        render_shards(made, plan_of(JOB), paths)


def test_a_doubtful_job_is_not_collected():
    with pytest.raises(UsageError, match="more than one command"):
        collect_lines(replace(JOB, commands=("pytest a | tee b",)), inventory="/i.json")


@pytest.fixture(scope="module")
def engine(shared) -> Definitions:
    tree = shared / "data" / "vllm-0.33.0"
    return parse_definitions(read_files(tree, ".buildkite/ci_config.yaml"))


def test_nearly_all_jobs_that_the_engine_enrols_can_be_shared_out(engine):
    enrolled = [made for made in engine.jobs if made.automatic_shard]
    doubts = {made.key: job_doubt(made) for made in enrolled if job_doubt(made)}
    assert len(enrolled) == 97
    assert set(doubts) == {
        "language-models-tests-extra-standard",
        "amd-language-models-tests-extra-standard",
        "amd-language-models-test-extended-pooling",
    }


def test_the_engines_commands_keep_their_bytes(engine):
    shared_out = [made for made in engine.jobs if job_doubt(made) is None]
    assert len(shared_out) > 300
    for made in shared_out:
        sharded = render_shards(made, plan_of(made), PATHS)
        changed = 0
        for before, after in zip(made.commands, sharded.commands, strict=True):
            assert after == before or after.startswith(before.rstrip(" \t\n"))
            changed += after != before
        assert changed == len(read_calls(made)) > 0
