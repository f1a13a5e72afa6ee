import json

import pytest
import yaml
from unit.pipelines.factories import (
    TINY,
    changes,
    definitions,
    job,
    make_definitions,
    options,
    request,
)

from gauntlet.core.proc import run
from gauntlet.pipelines.buildkite import render, to_yaml
from gauntlet.pipelines.decide import decide
from gauntlet.pipelines.definitions.job import Job
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.plan import make_plan
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.validation import command_steps, validate_pipeline

FLEET = parse_fleet(fleet_text())


def steps_of(*jobs: Job):
    made = make_definitions(*jobs)
    plan = make_plan(made, select(made, changes(), options(nightly=True)), FLEET)
    return {step["key"]: step for step in command_steps(render(plan))}


def decided(*paths, **asked):
    text = decide(request(*paths, **asked)).pipeline_yaml
    return {step["key"]: step for step in command_steps(yaml.safe_load(text))}


@pytest.mark.parametrize(
    ("fields", "queue"),
    [
        pytest.param({}, "gpu_1_queue", id="no device"),
        pytest.param({"num_devices": 4}, "gpu_4_queue", id="no device, four"),
        pytest.param({"device": "h200_18gb"}, "h200_18gb", id="slice"),
        pytest.param({"key": "image-build-cpu"}, "cpu_queue_premerge_us_east_1", id="builder"),
        pytest.param({"key": "arm64-image-build"}, "arm64_cpu_queue_premerge", id="arm64 builder"),
        pytest.param(
            {"key": "image-build-amd", "device": "amd_cpu"}, "amd-cpu", id="builder with a device"
        ),
        pytest.param({"agents": {"queue": "mine"}}, "mine", id="agents win"),
    ],
)
def test_queue_of_a_job(fields, queue):
    (step,) = steps_of(job(**({"key": "j"} | fields))).values()
    assert step["agents"]["queue"] == queue


def test_commands_are_kept_byte_for_byte_in_their_directory():
    commands = ("pytest -m 'not slow' \"$$A\"", "a \\\n  b\n", "  spaces  ", "tab\t'é' #x: y")
    (step,) = steps_of(job(commands=commands, working_dir="/with space")).values()
    assert step["commands"] == ["cd '/with space'", *commands]
    text = to_yaml({"steps": [step]})
    assert yaml.safe_load(text)["steps"][0]["commands"] == ["cd '/with space'", *commands]


def test_a_job_over_several_nodes_starts_in_the_checkout():
    (step,) = steps_of(job(working_dir="/w", num_nodes=2)).values()
    assert step["commands"] == ["true"]


def test_fields_pass_through():
    retry = {"automatic": [{"exit_status": 1, "limit": 1}]}
    (step,) = steps_of(
        job(
            timeout_in_minutes=9,
            parallelism=3,
            soft_fail=True,
            retry=retry,
            env={"A": "1", "B": 2},
            concurrency=1,
            concurrency_group="g",
            agent_tags={"mem": "24+"},
            condition="build.branch == 'main'",
            allow_dependency_failure=True,
        )
    ).values()
    assert step == {
        "label": "job",
        "key": "job",
        "allow_dependency_failure": True,
        "if": "build.branch == 'main'",
        "agents": {"queue": "gpu_1_queue", "mem": "24+"},
        "env": {"A": "1", "B": 2},
        "commands": ["true"],
        "timeout_in_minutes": 9,
        "parallelism": 3,
        "concurrency": 1,
        "concurrency_group": "g",
        "soft_fail": True,
        "retry": retry,
    }


def test_dependencies_are_closed_and_only_on_what_runs():
    steps = decided("engine/sample/a.py")
    assert steps["amd-sampler"]["depends_on"] == ["image-build-amd"]
    assert steps["image-build-amd"]["depends_on"] == ["ensure-ci-base-amd"]
    assert all(set(step.get("depends_on", ())) <= set(steps) for step in steps.values())


def test_an_unknown_device_is_a_failing_step_and_others_go_on():
    text = "steps:\n- {label: A, device: h20_18gb, commands: [x]}\n- {label: B, commands: [x]}\n"
    result = decide(request("new.py", jobs={".buildkite/areas/a.yaml": text}))
    steps = {s["key"]: s for s in command_steps(yaml.safe_load(result.pipeline_yaml))}
    assert steps["a"]["commands"][-1] == "exit 1"
    assert "did you mean" in steps["a"]["commands"][0]
    assert "h200_18gb" in steps["a"]["commands"][0]
    assert steps["b"]["commands"] == ["x"]
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


def test_a_retry_map_that_buildkite_refuses_costs_its_step():
    text = (
        "steps:\n- {label: A, commands: [x], retry: {automatic: {exit_status: [soon]}}}\n"
        "- {label: B, commands: [x]}\n"
    )
    steps = decided("new.py", jobs={".buildkite/areas/a.yaml": text})
    assert steps["a"]["commands"][-1] == "exit 1"
    assert steps["b"]["commands"] == ["x"]


def test_a_failing_step_prints_its_error_whatever_is_in_it():
    nasty = 'it\'s "$HOME" `id` $(id) \\n %s ; exit 0'
    text = f"steps:\n- label: A\n  commands: [x]\n  {json.dumps(nasty)}: 1\n"
    steps = decided("new.py", jobs={".buildkite/areas/a.yaml": text})
    # The agent turns a doubled dollar into one when it uploads.
    script = "\n".join(steps["a"]["commands"]).replace("$$", "$")
    done = run(["sh", "-c", script], timeout=10, check=False)
    assert done.returncode == 1
    assert 'it\'s "$HOME" `id` $(id)' in done.stderr


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


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        pytest.param([{"key": "a", "command": "x", "agent": "q"}], "agent", id="unknown key"),
        pytest.param([{"key": "a", "timeout_in_minutes": 0}], "minimum", id="bad value"),
        pytest.param([{"key": "a"}, {"key": "a"}], "two steps", id="key twice"),
        pytest.param([{"label": "a"}], "no key", id="no key"),
        pytest.param([{"key": "a", "depends_on": ["b"]}], "no such step", id="dangling"),
        pytest.param(
            [{"key": "a", "depends_on": ["b"]}, {"key": "b", "depends_on": ["a"]}],
            "circular",
            id="circular",
        ),
    ],
)
def test_validation_finds(steps, message):
    found = validate_pipeline({"steps": [{"group": "G", "steps": steps}]})
    assert any(message in str(problem) for problem in found)


def test_an_empty_group_is_refused():
    assert validate_pipeline({"steps": [{"group": "G", "steps": []}]})


def test_the_tiny_tree_is_sound():
    made = definitions(TINY)
    plan = make_plan(made, select(made, changes(), options(nightly=True)), FLEET)
    assert validate_pipeline(render(plan)) == ()
