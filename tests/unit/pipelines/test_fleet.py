"""The fleet file: what it must say, and what it says of the engine's own devices."""

import re
from pathlib import Path

import pytest
import yaml
from unit.pipelines.factories import job

from gauntlet.core.errors import ConfigError, Problem
from gauntlet.core.yaml_file import load_yaml
from gauntlet.pipelines import fleet_file
from gauntlet.pipelines.fleet import fleet_text, parse_fleet

FLEET = parse_fleet(fleet_text())
SMALL = {
    "defaults": {"device": "gpu", "plain_device": "cpu", "timeout_in_minutes": 60},
    "plugins": {"docker": "docker#v5.2.0", "kubernetes": "kubernetes"},
    "images": {"default": "$REGISTRY/$REPO:$BUILDKITE_COMMIT"},
    "retry": {"default": [{"failure": "agent-lost", "exit_status": -1, "limit": 1}]},
    "profiles": {
        "cuda": {"vendor": "nvidia", "transport": "docker", "docker": {"gpus": "all"}},
        "plain": {"vendor": "intel", "transport": "bare"},
    },
    "devices": {
        "gpu": {"profile": "cuda", "queue": "q1", "queues": {2: "q2"}, "host_gpus": 2},
        "cpu": {"profile": "plain", "queue": "q0", "gpus": 0},
    },
}


def changed(path, value):
    """The small fleet's text with one value replaced; ``path`` is dotted."""
    fleet = yaml.safe_load(yaml.safe_dump(SMALL))
    *way, last = path.split(".")
    place = fleet
    for part in way:
        place = place[part]
    place[last] = value
    return yaml.safe_dump(fleet)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        pytest.param("defaults.device", "h20", "no device 'h20'", id="default device"),
        pytest.param("devices.gpu.profile", "x", "no profile 'x'", id="profile"),
        pytest.param("profiles.cuda.retry", "x", "no retry policy 'x'", id="retry policy"),
        pytest.param("profiles.cuda.image", "x", "no image 'x'", id="image"),
        pytest.param("profiles.cuda.docker", None, "needs the section docker", id="docker"),
        pytest.param("profiles.plain.transport", "kubernetes", "needs the section pod", id="pod"),
        pytest.param("profiles.cuda.docker.image", "a", "the job sets", id="own docker option"),
        pytest.param("profiles.cuda.docker.Gpus", "a", "pattern", id="docker option's name"),
        pytest.param("profiles.cuda.pod", {"container": {"image": "a"}}, "image", id="own image"),
        pytest.param("devices.gpu.slots", 0, "greater", id="no slots is not a number"),
        pytest.param("devices.gpu.gpu", 1, "did you mean 'gpus'", id="unknown field"),
        pytest.param("plugins.docker", "docker", "pattern", id="plugin that is not pinned"),
    ],
)
def test_a_mistake_in_the_file_is_named(path, value, words):
    with pytest.raises(ConfigError) as caught:
        parse_fleet(changed(path, value))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "rule",
    [
        pytest.param({"exit_status": 1}, id="failed test"),
        pytest.param({"exit_status": 1, "signal_reason": "none"}, id="failed test, said twice"),
        pytest.param({}, id="anything"),
        pytest.param({"exit_status": "*"}, id="any status"),
        pytest.param({"exit_status": -1, "limit": 11}, id="too often"),
    ],
)
def test_no_policy_can_retry_a_failed_test_or_without_end(rule):
    rule = {"failure": "f", "limit": 1} | rule
    with pytest.raises(ConfigError, match=re.escape("retry.default[0]")):
        parse_fleet(changed("retry.default", [rule]))


def test_a_device_has_what_its_profile_adds_and_the_defaults():
    fleet = parse_fleet(changed("profiles.plain.timeout_in_minutes", 5))
    assert fleet.devices["cpu"].timeout_in_minutes == 5
    assert fleet.devices["gpu"].timeout_in_minutes == 60
    assert fleet.devices["gpu"].docker == {"gpus": "all"}
    assert fleet.devices["gpu"].cost_per_hour is None
    assert fleet.queues == {"q0", "q1", "q2"}
    assert fleet.plain_queue == "q0"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"device": "gpus"}, "did you mean 'gpu'", id="unknown device"),
        pytest.param({"num_devices": 3}, "has 2 at most", id="more than a host has"),
        pytest.param({"transport": "kubernetes"}, "no kubernetes environment", id="no pods"),
    ],
)
def test_a_job_that_fits_nowhere_is_told_why(fields, words):
    problem = parse_fleet(yaml.safe_dump(SMALL)).problem(job(file="a.yaml", line=3, **fields))
    assert words in str(problem)
    assert str(problem).startswith("a.yaml:3: job")


@pytest.mark.parametrize(
    ("fields", "gpus", "cost"),
    [
        pytest.param({}, 1, 1.3234, id="one by default"),
        pytest.param({"num_devices": 4}, 4, 4 * 1.3234, id="as many as it asks for"),
        pytest.param({"device": "mi300_2"}, 2, 12.0, id="fixed by the name"),
        pytest.param({"device": "mi300_2", "num_devices": 1}, 2, 12.0, id="not fewer"),
        pytest.param({"device": "cpu-small"}, 0, 0.1743, id="none, so the machine"),
        pytest.param({"device": "l4", "needs_accelerator": False}, 0, 1.3234, id="unused"),
        pytest.param({"device": "dgx-spark"}, 1, None, id="no known price"),
    ],
)
def test_accelerators_and_cost_of_a_job(fields, gpus, cost):
    placement = FLEET.place(job(**fields))
    assert not isinstance(placement, Problem)
    assert placement.gpus == gpus
    assert placement.cost_per_hour == (None if cost is None else pytest.approx(cost))


def test_slices_cost_and_hold_less_than_the_whole():
    whole, quarter, seventh = (FLEET.devices[n] for n in ("h200", "h200_35gb", "h200_18gb"))
    assert seventh.cost_per_hour * 7 == pytest.approx(whole.cost_per_hour, rel=0.001)
    assert quarter.cost_per_hour * 4 == pytest.approx(whole.cost_per_hour, rel=0.001)
    assert seventh.memory_gib < quarter.memory_gib < whole.memory_gib
    assert (seventh.slots, quarter.slots, whole.slots) == (56, 32, None)


def test_every_field_of_the_file_is_documented():
    page = Path(__file__).parents[3] / "docs/reference/fleet.md"
    documented = set(re.findall(r"`(\w+)`", page.read_text()))
    models = [value for name, value in vars(fleet_file).items() if name.endswith("Model")]
    models += [fleet_file.RetryRule, fleet_file.PodTemplate]
    fields = {name for model in models for name in model.model_fields}
    assert len(fields) > 30
    assert fields - documented == set()


def test_every_device_of_the_engines_trees_is_known(shared):
    named = set()
    for path in sorted((shared / "data").glob("vllm-*/.buildkite/**/*.yaml")):
        text = path.read_text()
        named |= set(re.findall(r"^\s*(?:device|agent_pool): *[\"']?([\w-]+)", text, re.MULTILINE))
    assert len(named) > 25
    assert named - set(FLEET.devices) == set()


def test_every_queue_of_the_engines_own_pipelines_is_known(shared):
    queues = set()
    for path in sorted((shared / "data").glob("vllm-*/.buildkite/**/*pipeline*.yaml")):
        steps = (load_yaml(path).value or {}).get("steps", [])
        queues |= {str(q) for q in re.findall(r"'queue': '([^']+)'", str(steps))}
    assert len(queues) >= 5
    assert queues - FLEET.queues == set()
