"""One job, one step: commands, environment, retries, images, blocks."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.pipelines.factories import job
from unit.pipelines.plans import FLEET, as_uploaded, plan_of

from gauntlet.core.proc import run
from gauntlet.pipelines.rendering.images import ImageSource
from gauntlet.pipelines.rendering.pipeline import render
from gauntlet.pipelines.validation import command_steps, pipeline_warnings, validate_pipeline

UNKNOWN = ImageSource()
KNOWN = ImageSource(registry="registry.example", repository="premerge", main_repository="main")
DIGEST = "registry.example/premerge@sha256:" + "0" * 64


def step_of(*, images=UNKNOWN, **fields):
    pipeline = render(plan_of(job(**fields)), images)
    assert validate_pipeline(pipeline, fleet=FLEET, complete=True) == ()
    (step,) = command_steps(pipeline)
    return step


def plugin_of(**fields):
    ((name, options),) = step_of(**fields)["plugins"][0].items()
    return name, options


def own_commands(step):
    """Commands behind what is put before all jobs: the prelude, and a look at the device."""
    return [c for c in step["commands"][1:] if "device.log" not in c]


# Commands.


@given(
    commands=st.lists(
        st.text(st.characters(codec="utf-8", exclude_characters="$\0"), min_size=1), min_size=1
    ),
    device=st.sampled_from(["l4", "h100", "mi300_1", "mi355_dpx", "cpu-small", "intel_cpu"]),
)
@settings(max_examples=60, deadline=None)
def test_commands_are_kept_byte_for_byte_and_in_order(commands, device):
    plan = plan_of(job(commands=tuple(commands), device=device, working_dir="/with space"))
    ((step,),) = [group["steps"] for group in render(plan, KNOWN)["steps"]]
    rendered = step["commands"]
    start = rendered.index("cd '/with space'") + 1
    assert rendered[start : start + len(commands)] == commands


def test_commands_run_in_their_directory_behind_the_prelude():
    step = step_of(commands=("pytest -m 'not slow' \"$$A\"",), working_dir="/tests")
    assert own_commands(step) == ["cd /tests", "pytest -m 'not slow' \"$$A\""]


def test_a_job_over_several_nodes_starts_in_the_checkout():
    assert own_commands(step_of(working_dir="/w", num_nodes=2)) == ["true"]


def test_an_image_build_is_nothing_but_its_commands():
    step = step_of(key="image-build", image=True, commands=("bash build.sh",))
    assert step["commands"] == ["bash build.sh"]
    assert "artifact_paths" not in step
    assert "plugins" not in step


def test_a_wrapped_job_reaches_its_script_as_it_was_written(tmp_path):
    """What AMD's script gets, run for real, with a script that only prints it."""
    commands = ("pytest -m 'not slow' \"a $$B\"", "x \\\n  y", "echo $$(id -u)")
    step = step_of(device="mi300_1", commands=commands, working_dir="/tests")
    assert "plugins" not in step
    script = tmp_path / ".buildkite/scripts/hardware_ci/run-amd-test.sh"
    script.parent.mkdir(parents=True)
    script.write_text('printf "%s" "$VLLM_TEST_COMMANDS"\n')
    done = run_step(step, tmp_path)
    assert done.stdout == "set -e\ncd /tests\n" + "\n".join(map(as_uploaded, commands))


# Reports.


def run_step(step, checkout: Path, shell="bash"):
    """Run a step's commands as the agent does, and where it does, with a pytest that reports."""
    programs = checkout / "programs"
    programs.mkdir()
    fake = programs / "pytest"
    fake.write_text(
        '#!/bin/sh\nfor o in $PYTEST_ADDOPTS; do echo "$*" > "${o#--junitxml=}"; done\n'
    )
    fake.chmod(0o755)
    text = as_uploaded("\n".join(step["commands"]))
    env = {"PATH": f"{programs}:/usr/bin:/bin"}
    return run([shell, "-e", "-c", text], timeout=20, cwd=checkout, env=env, check=False)


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_every_pytest_process_of_a_job_leaves_a_report_of_its_own(tmp_path, shell):
    commands = (
        "pytest one",
        "pytest two && (pytest three; X=1 pytest four)",
        "printf '%s\\n' five six | xargs -n1 -I{} pytest '{}'",
        "cd / && sh -c 'pytest seven'",
        "exit 3",
    )
    step = step_of(commands=commands, device="intel_cpu")
    done = run_step(step, tmp_path, shell)
    assert done.returncode == 3, done.stderr
    reports = [path.read_text().strip() for path in (tmp_path / "gauntlet-results").glob("*.xml")]
    assert sorted(reports) == sorted(["one", "two", "three", "four", "five", "six", "seven"])
    assert step["artifact_paths"] == ["gauntlet-results/*"]


def test_options_that_a_job_sets_itself_are_kept(tmp_path):
    commands = (f"export PYTEST_ADDOPTS=--junitxml={tmp_path}/own.xml", "pytest mine")
    run_step(step_of(commands=commands, device="intel_cpu"), tmp_path)
    assert (tmp_path / "own.xml").read_text() == "mine\n"


def test_reports_of_an_earlier_job_are_not_taken_for_this_one(tmp_path):
    (tmp_path / "gauntlet-results").mkdir()
    (tmp_path / "gauntlet-results/junit-1.xml").write_text("old")
    assert run_step(step_of(device="intel_cpu"), tmp_path).returncode == 0
    assert list((tmp_path / "gauntlet-results").glob("*.xml")) == []


def test_a_job_without_pytest_runs(tmp_path):
    text = as_uploaded("\n".join(step_of(device="intel_cpu")["commands"]))
    done = run(["sh", "-e", "-c", text], timeout=20, cwd=tmp_path, env={"PATH": "/usr/bin:/bin"})
    assert done.returncode == 0


def test_a_checkout_that_cannot_be_written_ends_with_the_reserved_status(tmp_path):
    (tmp_path / "gauntlet-results").write_text("a file")
    text = as_uploaded(step_of()["commands"][0]).replace("rm -rf", "false")
    done = run(["bash", "-e", "-c", text], timeout=20, cwd=tmp_path, check=False)
    assert done.returncode == 75


# Environments.


def test_a_container_gets_what_its_device_offers():
    name, options = plugin_of(device="l4")
    assert name == "docker#v5.2.0"
    assert options["gpus"] == "all"
    assert options["image"] == "$REGISTRY/$REPO:$BUILDKITE_COMMIT"
    assert options["always-pull"] is True
    assert "mount-buildkite-agent" not in options


def test_a_slice_is_handed_over_by_its_agent():
    _, options = plugin_of(device="h200_18gb")
    assert "gpus" not in options
    assert "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:False" in options["environment"]
    assert "/dev/nvidiactl:/dev/nvidiactl" in options["volumes"]


def test_a_pod_is_limited_to_the_accelerators_of_its_job():
    name, options = plugin_of(device="h100", num_devices=4)
    assert name == "kubernetes"
    (container,) = options["podSpec"]["containers"]
    assert container["resources"] == {"limits": {"nvidia.com/gpu": 4}}
    assert container["image"] == "$REGISTRY/$REPO:$BUILDKITE_COMMIT"


def test_the_job_chooses_between_the_ways_that_its_device_offers():
    name, options = plugin_of(device="mi300_2", transport="kubernetes")
    assert name == "kubernetes"
    assert options["podSpec"]["containers"][0]["resources"] == {"limits": {"amd.com/gpu": 2}}
    assert "plugins" not in step_of(device="l4", transport="bare")


@pytest.mark.parametrize("device", ["l4", "h100", "mi355_dpx"])
def test_a_job_that_needs_no_accelerator_gets_none(device):
    step = step_of(device=device, needs_accelerator=False)
    assert "gpu" not in str(step["plugins"]).replace("gpu-h100-sxm", "")
    assert not any("device.log" in command for command in step["commands"])


def test_the_agent_is_mounted_where_a_job_asks_for_it():
    _, options = plugin_of(device="cpu-small", mount_agent=True)
    assert options["mount-buildkite-agent"] is True


@pytest.mark.parametrize(
    ("device", "image"),
    [
        pytest.param("l4", "registry.example/premerge:$BUILDKITE_COMMIT", id="x86_64"),
        pytest.param("h200_35gb", "registry.example/premerge:$BUILDKITE_COMMIT", id="slice"),
        pytest.param("cpu-small", "registry.example/premerge:$BUILDKITE_COMMIT-cpu", id="cpu"),
        pytest.param("gh200", "registry.example/premerge:$BUILDKITE_COMMIT-arm64", id="aarch64"),
        pytest.param("mi355_dpx", "rocm/vllm-ci:build-$BUILDKITE_BUILD_ID", id="rocm"),
    ],
)
def test_the_image_follows_the_device(device, image):
    step = step_of(device=device, images=KNOWN)
    assert image in str(step["plugins"])


# Fields.


def test_fields_pass_through():
    retry = {"automatic": [{"exit_status": 1, "limit": 1}], "manual": False}
    step = step_of(
        device="intel_cpu",
        timeout_in_minutes=9,
        parallelism=3,
        soft_fail=(3, 4),
        retry=retry,
        env={"A": "1", "B": 2, "C": True},
        concurrency=1,
        concurrency_group="g",
        agent_tags={"mem": "24+", "big": True},
        condition="build.branch == 'main'",
        allow_dependency_failure=True,
        priority=7,
    )
    del step["commands"], step["artifact_paths"]
    assert step.pop("retry")["manual"] is False
    assert step == {
        "label": "job",
        "key": "job",
        "depends_on": [],
        "allow_dependency_failure": True,
        "if": "build.branch == 'main'",
        "agents": {"queue": "intel-cpu", "mem": "24+", "big": "true"},
        "priority": 7,
        "env": {"A": "1", "B": "2", "C": "true"},
        "timeout_in_minutes": 9,
        "parallelism": 3,
        "concurrency": 1,
        "concurrency_group": "g",
        "soft_fail": [{"exit_status": 3}, {"exit_status": 4}],
    }


def test_what_a_job_leaves_open_its_device_says():
    step = step_of(device="mi355_1")
    assert (step["timeout_in_minutes"], step["priority"]) == (180, 200)
    assert "priority" not in step_of(device="l4")
    assert step_of(device="l4")["timeout_in_minutes"] == 240


def test_a_block_waits_for_a_person_and_holds_up_nothing_else():
    plan = plan_of(job("build"), job("rare", depends_on=("build",), label="Rare"), blocked=["rare"])
    pipeline = render(plan)
    assert validate_pipeline(pipeline, complete=True) == ()
    build, block, rare = pipeline["steps"][0]["steps"]
    assert block == {
        "block": "Run Rare",
        "key": "block-rare",
        "depends_on": [],
        "prompt": "a test asked for it",
        "blocked_state": "passed",
    }
    assert rare["depends_on"] == ["build", "block-rare"]
    assert build["depends_on"] == []


# Retries.


def rules_of(**fields):
    return step_of(**fields)["retry"]["automatic"]


@pytest.mark.parametrize("device", sorted(FLEET.devices))
def test_infrastructure_is_retried_on_every_device_and_a_failed_test_on_none(device):
    rules = rules_of(device=device)
    assert any(rule.get("exit_status") == -1 for rule in rules)
    assert {"signal_reason": "agent_stop", "limit": 2} in rules
    assert all(rule.get("exit_status") != 1 for rule in rules)
    assert all(rule.keys() > {"limit"} and 1 <= rule["limit"] <= 10 for rule in rules)


@pytest.mark.parametrize(
    ("own", "first", "left_out"),
    [
        pytest.param([{"exit_status": -1, "limit": 5}], 5, {"exit_status": -1}, id="same status"),
        pytest.param({"exit_status": -1, "limit": 5}, 5, {"exit_status": -1}, id="one rule"),
        pytest.param([{"exit_status": [1, 255], "limit": 1}], 1, {"exit_status": 255}, id="list"),
        pytest.param(
            [{"signal_reason": "agent_stop", "limit": 3}],
            3,
            {"signal_reason": "agent_stop"},
            id="same reason",
        ),
    ],
)
def test_a_jobs_own_rules_come_first_and_are_not_repeated(own, first, left_out):
    rules = rules_of(retry={"automatic": own})
    assert rules[0]["limit"] == first
    assert all(not left_out.items() <= rule.items() for rule in rules[1:])
    assert len(rules) == len(rules_of())


@pytest.mark.parametrize(
    "limit", [pytest.param("*", id="any status"), pytest.param(None, id="bare")]
)
def test_a_rule_for_every_failure_is_the_only_one(limit):
    own = {"limit": 1} if limit is None else {"exit_status": limit, "limit": 1}
    assert rules_of(retry={"automatic": [own]}) == [own]


def test_a_job_may_ask_to_retry_its_tests():
    own = {"exit_status": 1, "limit": 1}
    assert rules_of(retry={"automatic": [own]})[0] == own


@pytest.mark.parametrize("word", [True, False])
def test_a_job_may_turn_retries_on_or_off(word):
    assert rules_of(retry={"automatic": word}) is word


# Images and variables.


def test_variables_are_filled_in_where_they_are_known():
    commands = ('build $REGISTRY ${REPO} $BRANCH "$IMAGE_TAG" $IMAGE_TAG_LATEST $REGISTRY_X',)
    step = step_of(key="image-build", image=True, commands=commands, images=KNOWN)
    (command,) = step["commands"]
    assert command == (
        "build registry.example premerge $BUILDKITE_BRANCH "
        '"registry.example/premerge:$BUILDKITE_COMMIT" registry.example/main:latest $REGISTRY_X'
    )


@pytest.mark.parametrize("text", ["$$REGISTRY", "\\$REGISTRY", "$(REGISTRY)", "${REGISTRY:-x}"])
def test_what_is_no_plain_variable_is_left_to_the_agent(text):
    step = step_of(key="image-build", image=True, commands=(text,), images=KNOWN)
    assert step["commands"] == [text]


def test_without_a_registry_the_agent_fills_in_everything():
    step = step_of(key="image-build", image=True, commands=("$REGISTRY $IMAGE_TAG",))
    assert step["commands"] == ["$REGISTRY $IMAGE_TAG"]


def test_a_special_build_has_images_of_its_own():
    images = ImageSource(registry="r", repository="p", suffix="-torch-nightly")
    assert "r/p:$BUILDKITE_COMMIT-torch-nightly-cpu" in str(step_of(device="cpu", images=images))


def test_a_digest_is_the_image_of_every_job_of_its_variant():
    images = ImageSource(registry="r", repository="p", digests={"default": DIGEST})
    jobs = [job(f"j{d}", device=d) for d in ("l4", "h100", "h200_18gb", "b200-k8s")]
    pipeline = render(plan_of(*jobs), images)
    assert pipeline["env"] == {"GAUNTLET_IMAGE_DEFAULT": DIGEST}
    found = [str(step["plugins"]) for step in command_steps(pipeline)]
    assert all(DIGEST in plugins and "always-pull" not in plugins for plugins in found)


def test_the_pipeline_records_the_images_that_it_uses():
    pipeline = render(plan_of(job("a", device="l4"), job("b", device="cpu")), KNOWN)
    assert pipeline["env"] == {
        "GAUNTLET_IMAGE_CPU": "registry.example/premerge:$BUILDKITE_COMMIT-cpu",
        "GAUNTLET_IMAGE_DEFAULT": "registry.example/premerge:$BUILDKITE_COMMIT",
    }
    assert pipeline_warnings(pipeline, FLEET) == ()


def test_rendering_twice_gives_the_same(tmp_path):
    plan = plan_of(job("a"), job("b", device="h100"))
    assert render(plan, KNOWN) == render(plan, KNOWN)
