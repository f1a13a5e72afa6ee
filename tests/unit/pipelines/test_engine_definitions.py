"""The engine's real definitions and real changes, where they are at hand."""

import json
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from compatible import read_cases
from unit.pipelines.factories import changes, options

from gauntlet.pipelines.changes import changed_paths, example_names, load_example
from gauntlet.pipelines.decide import DecideRequest, decide
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.differences import compare_rules
from gauntlet.pipelines.rendering.pipeline import render
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.sources import open_source
from gauntlet.pipelines.validation import validate_pipeline

ADDED = {"unowned-file": 10_296, "changed-test": 13, "changed-definition": 19, "named-file": 2}
# All but eight of these are image builds that no selected job needs.
DROPPED = {
    "image-not-needed": 520,
    "above-tier": 477,
    "inert-files": 21,
    "other-pipeline": 14,
    "needed-by": 6,
}


@cache
def load(shared: Path, version: str, config: str = "ci_config"):
    root = shared / "data" / f"vllm-{version}"
    return parse_definitions(read_files(root, f".buildkite/{config}.yaml"))


def cases(shared: Path):
    for path in sorted((shared / "data" / "diffs").glob("*.json")):
        yield from read_cases(path)


def nightly(case):
    return options(nightly=case.nightly)


@pytest.mark.parametrize(
    ("version", "config", "jobs", "without_mirrors", "groups", "broken"),
    [
        pytest.param("0.25.0", "ci_config", 265, 226, 36, 0, id="0.25.0"),
        pytest.param("0.25.0", "ci_config_intel", 34, 37, 11, 0, id="0.25.0 Intel"),
        pytest.param("0.25.0", "ci_config_rocm", 17, 20, 4, 0, id="0.25.0 ROCm"),
        pytest.param("0.33.0", "ci_config", 465, 336, 40, 0, id="0.33.0"),
        pytest.param("0.33.0", "ci_config_intel", 55, 61, 16, 0, id="0.33.0 Intel"),
        # Three jobs of this pipeline depend on image builds that it does not include.
        pytest.param("0.33.0", "ci_config_rocm", 18, 25, 4, 3, id="0.33.0 ROCm"),
    ],
)
def test_all_definitions_load(shared, version, config, jobs, without_mirrors, groups, broken):
    found = load(shared, version, config)
    assert len(found.broken) == broken, [str(problem) for problem in found.problems]
    assert len(found.jobs) == jobs
    assert len(found.groups) == groups
    own = [job for job in found.jobs if job.mirror_of is None]
    assert sum(job.parallelism or 1 for job in own) == without_mirrors


def test_keys_are_those_of_the_engines_own_generator(shared):
    text = (shared / "data/diffs/vllm_0.25.0_200_synthetic.json").read_text()
    keys = {job.key for job in load(shared, "0.25.0").jobs}
    assert keys == set(json.loads(text)["all_keys"])


@pytest.mark.parametrize("version", [pytest.param("0.25.0"), pytest.param("0.33.0")])
def test_a_full_pipeline_fits_buildkites_schemas(shared, version):
    source = open_source(shared / "data" / f"vllm-{version}")
    result = decide(DecideRequest.from_source(source, changes(), options=options(nightly=True)))
    assert result.problems == ()
    schema = json.loads((shared / "data/buildkite/pipeline-schema.json").read_text())
    assert validate_pipeline(render(result.plan), schema) == ()


def test_examples_name_files_of_the_tree(shared):
    known = set(open_source(shared / "data" / "vllm-0.25.0").files or ())
    made_up = {
        "tests/lora/test_lora_loading_speed.py",
        "docs/benchmarking/plot.py",
        "docs/benchmarking/README.md",
    }
    for name in example_names():
        named = set(changed_paths(load_example(name)))
        assert named - known <= made_up, name


@pytest.mark.parametrize(
    ("example", "selected"),
    [
        pytest.param("sampler", 69),
        pytest.param("kernel", 196),
        pytest.param("docs", 0),
        pytest.param("test-only", 8),
        pytest.param("rename-to-docs", 43),
        pytest.param("lora", 48),
    ],
)
def test_what_examples_select(shared, example, selected):
    found = select(load(shared, "0.25.0"), changes(*load_example(example)))
    assert len(found.selected) == selected


def test_compatible_mode_selects_what_the_engines_own_generator_selected(shared):
    definitions = load(shared, "0.25.0")
    for case in cases(shared):
        found = select(definitions, case.changes, replace(nightly(case), mode="compatible"))
        assert set(found.selected) == case.selected, case.name
        assert found.docs_only is case.docs_only, case.name


def test_every_difference_from_the_engines_own_rule_is_an_intended_one(shared):
    """What each rule adds and drops on all real changes; docs/reference/selection.md says why."""
    definitions = load(shared, "0.25.0")
    added: Counter[str] = Counter()
    dropped: Counter[str] = Counter()
    jobs = {job.key: job for job in definitions.jobs}
    mirrors = 0
    for case in cases(shared):
        compared = compare_rules(definitions, case.changes, nightly(case))
        for difference in compared.differences:
            (added if difference.added else dropped)[difference.kind] += 1
            mirrors += not difference.added and not jobs[difference.key].image
    assert added == ADDED
    assert dropped == DROPPED
    assert mirrors == 8


def test_real_changes_load_on_the_newer_definitions(shared):
    definitions = load(shared, "0.33.0")
    for case in list(cases(shared))[::5]:
        assert len(select(definitions, case.changes, nightly(case)).decisions) == 465
