"""vLLM's older pipeline of one file for AMD hardware."""

import pytest
from unit.pipelines.factories import changes, options

from gauntlet.pipelines.definitions.config import DefinitionFile
from gauntlet.pipelines.definitions.files import DefinitionFiles, read_files
from gauntlet.pipelines.definitions.job import Tier
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.selection import select

TEXT = """\
steps:
- label: Kernels
  agent_pool: mi300_1
  mirror_hardwares: [amdproduction, amdmi300]
  source_file_dependencies: [csrc/]
  commands: [pytest kernels]
- label: Kernels
  agent_pool: mi355_1
  mirror_hardwares: [amdmi355]
  optional: true
  dind: false
  no_gpu: true
  source_file_dependencies: [csrc/]
  commands: [pytest kernels]
- {label: Quick, agent_pool: mi250_1, fast_check: true, source_file_dependencies: [v/], command: x}
- {label: Always, agent_pool: mi250_1, num_gpus: 2, command: y}
- {label: Wrong, agent_pool: mi250_1, gpus: 2, command: y}
"""


@pytest.fixture
def legacy():
    file = DefinitionFile(path=".buildkite/test-amd.yaml", text=TEXT)
    return parse_definitions(DefinitionFiles(config=file, jobs=(file,)))


def test_a_job_is_its_label_and_its_pool(legacy):
    assert [job.key for job in legacy.jobs] == [
        "kernels-mi300_1",
        "kernels-mi355_1",
        "quick-mi250_1",
        "always-mi250_1",
    ]
    assert legacy.groups == ("mi250_1", "mi300_1", "mi355_1", "test-amd")
    assert [job.tier for job in legacy.jobs] == [
        Tier.READY,
        Tier.NIGHTLY,
        Tier.FAST,
        Tier.READY,
    ]
    assert legacy.jobs[1].transport == "kubernetes"
    assert not legacy.jobs[1].needs_accelerator
    assert legacy.jobs[3].num_devices == 2


def test_a_wrong_step_is_broken_alone(legacy):
    assert [job.key for job in legacy.broken] == ["wrong"]
    assert "test-amd.yaml:17: gpus: unknown key; did you mean 'num_gpus'?" in str(
        legacy.problems[0]
    )


def test_hardware_tags_and_steps_without_sources(legacy):
    found = select(legacy, changes("csrc/a.cu"), options(hardware="amdproduction"))
    assert found.selected == ("always-mi250_1", "kernels-mi300_1", "wrong")
    assert found.by_key["kernels-mi355_1"].rule == "other-hardware"
    assert found.by_key["always-mi250_1"].rule == "always"


@pytest.mark.parametrize(
    ("version", "jobs", "pools"),
    [pytest.param("0.25.0", 189, 12), pytest.param("0.33.0", 218, 10)],
)
def test_the_real_files_load(shared, version, jobs, pools):
    root = shared / "data" / f"vllm-{version}"
    found = parse_definitions(read_files(root, ".buildkite/test-amd.yaml"))
    assert (len(found.jobs), found.broken, len(found.groups)) == (jobs, (), pools)
