"""Gauntlet's own definition language."""

import pytest
from unit.pipelines.factories import changes, definitions

from gauntlet.core.errors import ConfigError
from gauntlet.pipelines.definitions.job import LabelRule, Tier
from gauntlet.pipelines.selection import select

CONFIG = """\
gauntlet: 1
name: own_ci
job_dirs: [.buildkite/areas]
run_all_patterns: ["csrc/"]
labels: {everything: {tier: nightly, run_all: true}}
elsewhere: [.buildkite/other]
"""
FILE = """\
gauntlet: 1
group: Kernels
depends_on: [build]
working_dir: /srv/tests
jobs:
- key: build
  label: Build
  image: true
  device: build-cpu
  depends_on: []
  commands: make
- key: core
  label: Core
  tier: merge
  vendors:
    nvidia: {device: h100, num_devices: 2}
    amd:
      device: mi355_1
      num_devices: null
      timeout_in_minutes: 40
      tier: nightly
      source_file_dependencies: [platform/amd.py]
    intel: {device: intel_gpu, key: other-key, label: Core on Intel}
  timeout_in_minutes: 20
  source_file_dependencies: [kernels/]
  commands: [pytest kernels]
  soft_fail: [3, 4]
"""


def read(text: str = FILE, config: str = CONFIG):
    return definitions({".buildkite/areas/k.yaml": text}, config)


def test_vendors_are_rows_of_one_job():
    found = {job.key: job for job in read().jobs}
    assert set(found) == {"build", "core", "amd-core", "other-key"}
    core, amd, intel = found["core"], found["amd-core"], found["other-key"]
    assert (core.device, core.num_devices, core.mirror_of) == ("h100", 2, None)
    assert (amd.device, amd.num_devices, amd.mirror_of) == ("mi355_1", None, "core")
    assert (amd.timeout_in_minutes, intel.timeout_in_minutes) == (40, 20)
    assert (core.tier, amd.tier, intel.tier) == (Tier.MERGE, Tier.NIGHTLY, Tier.MERGE)
    assert amd.source_dependencies == ("platform/amd.py", "kernels/")
    assert (amd.label, intel.label) == ("Core (amd)", "Core on Intel")
    assert core.soft_fail == (3, 4)


def test_what_the_file_says_holds_unless_a_job_says_otherwise():
    found = {job.key: job for job in read().jobs}
    assert (found["build"].depends_on, found["core"].depends_on) == ((), ("build",))
    assert found["build"].working_dir == "/srv/tests"


def test_nothing_follows_from_a_key_or_a_label():
    text = FILE.replace("key: build", "key: image-build-x").replace("  image: true\n", "")
    text = text.replace("depends_on: [build]", "depends_on: [image-build-x]")
    found = {job.key: job for job in read(text).jobs}
    assert not found["image-build-x"].image


def test_a_pipeline_says_itself_what_its_labels_and_other_files_are():
    found = read()
    assert found.labels == {"everything": LabelRule(tier=Tier.NIGHTLY, run_all=True)}
    assert found.elsewhere == (".buildkite/other",)
    assert select(found, changes(".buildkite/other/x")).by_key["core"].rule == "other-pipeline"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        pytest.param(
            "  tier: merge",
            "  teir: merge",
            "k.yaml:14: teir: unknown key; did you mean 'tier'?",
            id="unknown key",
        ),
        pytest.param("  tier: merge", "  tier: weekly", "fast, ready, merge", id="unknown tier"),
        pytest.param(
            "  image: true\n  device: build-cpu\n", "", "needs a device", id="no device at all"
        ),
        pytest.param(
            "    nvidia: {device: h100, num_devices: 2}",
            "    nvidia: {num_devices: 2}",
            "vendors.nvidia needs a device",
            id="vendor without a device",
        ),
        pytest.param("  tier: merge", "  device: l4", "not both", id="device and vendors"),
        pytest.param("  tier: merge", "  optional: true", "unknown key", id="the old bit"),
        pytest.param(
            "device: h100, num_devices: 2", "device: h100, gpus: 2", "vendors.nvidia.gpus", id="row"
        ),
        pytest.param("- key: build\n  label", "- label", "required key", id="no key"),
    ],
)
def test_a_mistake_costs_its_job_and_names_its_line(old, new, words):
    assert old in FILE
    found = read(FILE.replace(old, new))
    assert any(words in str(problem) for problem in found.problems), found.problems
    assert found.jobs or found.broken


def test_a_mistake_at_the_top_of_a_file_keeps_its_jobs():
    found = read(FILE.replace("working_dir: /srv/tests", "workdir: /srv/tests"))
    assert "did you mean 'working_dir'" in str(found.problems[0])
    assert {job.key for job in found.jobs} >= {"core", "amd-core"}


def test_a_file_without_its_required_top_level_is_one_failing_step():
    found = read(FILE.replace("group: Kernels\n", ""))
    assert found.jobs == ()
    assert "group: required key is missing" in str(found.problems[0])


def test_an_unknown_key_in_the_configuration_is_an_error():
    with pytest.raises(ConfigError, match="did you mean 'job_dirs'"):
        read(config=CONFIG.replace("job_dirs", "job_dir"))


def test_both_languages_live_in_one_tree():
    old = "group: Old\nsteps:\n- {label: Old, key: old, commands: [x]}\n"
    both = {".buildkite/areas/k.yaml": FILE, ".buildkite/areas/o.yaml": old}
    keys = {job.key for job in definitions(both, CONFIG).jobs}
    assert keys == {"build", "core", "amd-core", "other-key", "old"}
