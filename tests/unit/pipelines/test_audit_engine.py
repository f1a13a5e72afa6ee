"""The audit of the engine's real definitions, where they are at hand."""

from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from gauntlet.pipelines.audit.reading import read_request
from gauntlet.pipelines.audit.registry import choose
from gauntlet.pipelines.audit.run import audit
from gauntlet.pipelines.definitions.migrate import migrate
from gauntlet.pipelines.fleet import parse_fleet


@cache
def report(shared: Path, version: str, config: str = "ci_config"):
    root = shared / "data" / f"vllm-{version}"
    request = read_request(root, f".buildkite/{config}.yaml")
    return audit(request, choose([], timings=False))


def of(shared, version, rule):
    return [item for item in report(shared, version).findings if item.rule == rule]


# docs/reference/audit.md states these figures.
@pytest.mark.parametrize(
    ("version", "config", "counts"),
    [
        pytest.param(
            "0.25.0",
            "ci_config",
            {
                "missing-key": 23,
                "dead-entry": 41,
                "dead-mirror-entry": 3,
                "shadowed-entry": 2,
                "uncovered-test": 50,
                "orphan-test": 56,
                "commented-out-step": 3,
                "unwatched-folder": 1,
                "mirror-drift": 1,
            },
            id="0.25.0",
        ),
        pytest.param(
            "0.33.0",
            "ci_config",
            {
                "dead-entry": 10,
                "dead-mirror-entry": 4,
                "shadowed-entry": 37,
                "uncovered-test": 46,
                "orphan-test": 92,
                "commented-out-step": 44,
                "unwatched-folder": 9,
                "mirror-drift": 43,
            },
            id="0.33.0",
        ),
        pytest.param(
            "0.33.0",
            "ci_config_intel",
            {
                "dead-entry": 8,
                "shadowed-entry": 1,
                "uncovered-test": 12,
                "orphan-test": 92,
                "commented-out-step": 6,
                "unwatched-folder": 1,
            },
            id="0.33.0 Intel",
        ),
        pytest.param(
            "0.33.0",
            "ci_config_rocm",
            {"dangling-dependency": 3, "orphan-test": 92, "commented-out-step": 4},
            id="0.33.0 ROCm",
        ),
    ],
)
def test_how_much_each_rule_finds(shared, version, config, counts):
    found = report(shared, version, config).findings
    assert Counter(item.rule for item in found) == counts
    assert len({item.identity for item in found}) == len(found)


@pytest.mark.parametrize(
    ("version", "entries", "steps"),
    [pytest.param("0.25.0", 41, 26, id="0.25.0"), pytest.param("0.33.0", 10, 5, id="0.33.0")],
)
def test_dead_entries_of_steps(shared, version, entries, steps):
    found = of(shared, version, "dead-entry")
    assert (len(found), len({item.job for item in found})) == (entries, steps)
    root = shared / "data" / f"vllm-{version}"
    for item in found:
        lines = (root / item.file).read_text().split("\n")
        assert item.line is not None
        assert item.subject in lines[item.line - 1]


def test_a_whole_folder_of_steps_is_commented_out(shared):
    found = of(shared, "0.33.0", "commented-out-step")
    by_file = Counter(item.file for item in found)
    assert by_file[".buildkite/test_areas/disaggregated.yaml"] == 14
    assert sum("Disabled until" in item.message for item in found) == 42


def test_no_pipeline_runs_the_tests_of_the_parser(shared):
    (item,) = [i for i in of(shared, "0.33.0", "orphan-test") if i.file == "tests/parser"]
    assert item.message == (
        "38 test files, none is run; commented out at .buildkite/test_areas/misc.yaml:728"
    )


def test_no_nvidia_job_notices_a_change_of_the_kv_connectors(shared):
    found = {item.file: item for item in of(shared, "0.33.0", "unwatched-folder")}
    assert {item.subject for item in found.values()} == {"nvidia"}
    # vllm/distributed/kv_transfer/kv_connector/utils.py is one of these four files.
    assert found["vllm/distributed/kv_transfer/kv_connector"].message == (
        "no nvidia test job runs for a change to the 4 files right in it; 47 such jobs exclude it"
    )
    assert [(i.file, i.subject) for i in of(shared, "0.25.0", "unwatched-folder")] == [
        ("rust", "amd")
    ]


def test_definitions_in_the_own_language_are_found_to_have_the_same_faults(shared):
    request = read_request(shared / "data" / "vllm-0.33.0", ".buildkite/ci_config.yaml")
    files = migrate(request.files, parse_fleet(request.fleet)).files
    found = audit(replace(request, files=files), choose([], timings=False)).findings
    same = {"dead-entry", "uncovered-test", "orphan-test", "commented-out-step", "mirror-drift"}
    told = {item.identity for item in found if item.rule in same}
    before = report(shared, "0.33.0").findings
    assert told == {item.identity for item in before if item.rule in same}
    assert all(item.line for item in found if item.rule == "dead-entry")
    # Copies of entries and commands are no longer written, so they cannot be dead or shadowed.
    assert not [item for item in found if item.rule == "dead-mirror-entry"]


def test_the_older_amd_pipeline_can_be_audited(shared):
    request = read_request(shared / "data" / "vllm-0.33.0", ".buildkite/test-amd.yaml")
    found = audit(request, choose([], timings=False)).findings
    counts = Counter(item.rule for item in found)
    assert (counts["missing-key"], counts["commented-out-step"]) == (218, 36)
