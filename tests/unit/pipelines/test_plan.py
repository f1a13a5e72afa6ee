"""What is laid out in a plan, and what becomes of jobs that cannot run."""

import json

import pytest
import yaml
from unit.pipelines.factories import TINY, changes, definitions, job, make_definitions, request
from unit.pipelines.plans import FLEET, as_uploaded, plan_all, plan_of

from gauntlet.core.proc import run
from gauntlet.pipelines.decide import decide
from gauntlet.pipelines.definitions.job import Tier
from gauntlet.pipelines.plan import FailingStep, make_plan
from gauntlet.pipelines.rendering.pipeline import render
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.validation import command_steps, validate_pipeline


def decided(*paths, **options):
    text = decide(request(*paths, **options)).pipeline_yaml
    return {step["key"]: step for step in command_steps(yaml.safe_load(text))}


def steps_of(plan):
    return {
        step.key if isinstance(step, FailingStep) else step.job.key: step
        for group in plan.groups
        for step in group.steps
    }


@pytest.mark.parametrize(
    ("fields", "queue"),
    [
        pytest.param({}, "gpu_1_queue", id="no device"),
        pytest.param({"num_devices": 4}, "gpu_4_queue", id="no device, four"),
        pytest.param({"device": "h200_18gb"}, "h200_18gb", id="slice"),
        pytest.param({"device": "mi300_4"}, "amd_mi300_4", id="number in the name"),
        pytest.param({"key": "image-build-cpu"}, "cpu_queue_premerge_us_east_1", id="builder"),
        pytest.param({"key": "arm64-image-build"}, "arm64_cpu_queue_premerge", id="arm64 builder"),
        pytest.param(
            {"key": "image-build-amd", "device": "amd_cpu"}, "amd-cpu", id="builder with a device"
        ),
    ],
)
def test_queue_of_a_job(fields, queue):
    (step,) = steps_of(plan_of(job(**({"key": "j"} | fields)))).values()
    assert step.placement.queue == queue


def test_dependencies_are_closed_and_only_on_what_runs():
    steps = decided("engine/sample/a.py")
    assert steps["amd-sampler"]["depends_on"] == ["image-build-amd"]
    assert steps["image-build-amd"]["depends_on"] == ["ensure-ci-base-amd"]
    known = {*steps, "block-large"}
    assert all(set(step["depends_on"]) <= known for step in steps.values())
    assert set(steps["large"]["depends_on"]) == {"block-large", "image-build"}


def test_an_image_in_several_stages_is_started_once():
    made = make_definitions(
        job("base", image=True),
        job("image", image=True, depends_on=("base",)),
        job("late", tier=Tier.NIGHTLY, depends_on=("image",), source_dependencies=("v",)),
    )
    plan = make_plan(made, select(made, changes("v/a")), FLEET)
    held = {key for key, step in steps_of(plan).items() if step.block}
    assert held == {"base", "late"}


def test_a_blocked_job_is_planned_with_its_reason_and_what_it_needs():
    plan = plan_of(job("build"), job("rare", depends_on=("build",)), blocked={"rare"})
    steps = steps_of(plan)
    assert steps["build"].block is None
    assert steps["rare"].block.key == "block-rare"
    assert steps["rare"].block.reason == "a test asked for it"
    assert steps["rare"].depends_on == ("build",)


@pytest.mark.parametrize(
    "key",
    [pytest.param("k" * 100, id="longest key"), pytest.param("x", id="key that is taken")],
)
def test_the_key_of_a_block_is_one_that_buildkite_takes_and_nobody_has(key):
    plan = plan_of(job(key), job("block-x"), blocked={key})
    block = steps_of(plan)[key].block
    assert block.key not in {key, "block-x"}
    assert block.key.startswith("block-")
    assert len(block.key) <= 100
    assert validate_pipeline(render(plan), complete=True) == ()


def test_a_blocked_job_without_a_device_fails_only_when_somebody_asks_for_it():
    (step,) = steps_of(plan_of(job("rare", device="h20"), blocked={"rare"})).values()
    assert isinstance(step, FailingStep)
    assert step.block.key == "block-rare"


def test_an_unknown_device_is_a_failing_step_and_others_go_on():
    text = (
        "steps:\n- {label: A, device: h20_18gb, commands: [x]}\n"
        "- {label: B, device: zen5, depends_on: [a], commands: [x]}\n"
    )
    result = decide(request("new.py", jobs={".buildkite/areas/a.yaml": text}))
    steps = {s["key"]: s for s in command_steps(yaml.safe_load(result.pipeline_yaml))}
    assert steps["a"]["commands"][-1] == "exit 1"
    assert "did you mean" in steps["a"]["commands"][0]
    assert "h200_18gb" in steps["a"]["commands"][0]
    assert steps["b"]["commands"][-1] == "x"
    assert steps["b"]["depends_on"] == ["a"]
    assert len(result.problems) == 1


def test_one_broken_file_among_forty_is_one_failing_step():
    fine = {
        f".buildkite/areas/f{n}.yaml": f"steps:\n- {{label: J{n}, commands: [x]}}\n"
        for n in range(40)
    }
    steps = decided("new.py", jobs=fine | {".buildkite/areas/f7.yaml": "steps: [\n"})
    failing = [key for key, step in steps.items() if step["commands"][-1] == "exit 1"]
    assert failing == ["broken-buildkite-areas-f7-yaml"]
    assert len(steps) == 40


@pytest.mark.parametrize(
    ("field", "words"),
    [
        pytest.param("retry: {automatic: {exit_status: [soon]}}", "soon", id="retry"),
        pytest.param("retry: {automatic: {limit: 11}}", "11", id="retry limit"),
        pytest.param("agents: {queue: h200_18g}", "h200_18gb", id="queue"),
        pytest.param('env: {A: "50 $ a day"}', "dollar sign", id="text that no agent uploads"),
        pytest.param('if: "build.branch =~ /^v1$/"', "dollar sign", id="condition"),
    ],
)
def test_what_buildkite_refuses_in_one_step_costs_that_step(field, words):
    text = (
        "group: Costs $ 5\n"
        f"steps:\n- {{label: A, commands: [x], {field}}}\n- {{label: B, commands: [x]}}\n"
    )
    steps = decided("new.py", jobs={".buildkite/areas/a.yaml": text})
    assert steps["a"]["commands"][-1] == "exit 1"
    assert words in steps["a"]["commands"][0]
    assert steps["b"]["commands"][-1] == "x"


@pytest.mark.parametrize(
    "nasty",
    [
        pytest.param('it\'s "$HOME" `id` $(id) \\n %s ; exit 0', id="shell"),
        pytest.param("a\\$HOME \\\\$HOME $$HOME", id="dollar signs behind backslashes"),
    ],
)
def test_a_failing_step_prints_its_error_whatever_is_in_it(nasty):
    text = f"steps:\n- label: A\n  commands: [x]\n  {json.dumps(nasty)}: 1\n"
    steps = decided("new.py", jobs={".buildkite/areas/a.yaml": text})
    script = as_uploaded("\n".join(steps["a"]["commands"]))
    done = run(["sh", "-c", script], timeout=10, check=False)
    assert done.returncode == 1
    assert nasty in done.stderr


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param(["docs/a.md"], "only documentation changed: docs/a.md", id="docs"),
        pytest.param([], "no file changed", id="nothing"),
    ],
)
def test_an_empty_selection_has_one_step_that_says_why(changed, words):
    steps = decided(*changed)
    assert list(steps) == ["nothing-to-run"]
    assert words in steps["nothing-to-run"]["commands"][0]


def test_the_tiny_tree_is_sound():
    plan = plan_all(definitions(TINY))
    assert validate_pipeline(render(plan), fleet=FLEET, complete=True) == ()
