"""The engine's real definitions and real changes, where they are at hand."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from gauntlet.pipelines.buildkite import render
from gauntlet.pipelines.changes import ChangedFile, changed_paths, example_names, load_example
from gauntlet.pipelines.decide import DecideRequest, decide
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.keys import is_image_build
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.selection import select
from gauntlet.pipelines.sources import open_source
from gauntlet.pipelines.validation import validate_pipeline

# The engine's own rule starts these mirrors for one file although they are optional; ours
# never starts an optional job by itself.
MIRROR_FILE = "docker/Dockerfile.rocm_base"


@cache
def load(shared: Path, version: str, config: str = "ci_config"):
    root = shared / "data" / f"vllm-{version}"
    return parse_definitions(read_files(root, f".buildkite/{config}.yaml"))


def cases(shared: Path):
    folder = shared / "data" / "diffs"
    for case in json.loads((folder / "vllm_main_300_commits.json").read_text()):
        files = [
            ChangedFile(path=f["path"], status=f["status"][0], old_path=f.get("old_path"))
            for f in case["files"]
        ]
        yield files, False, case
    for case in json.loads((folder / "vllm_0.25.0_200_synthetic.json").read_text())["cases"]:
        yield [ChangedFile(path=path) for path in case["changed_files"]], case["nightly"], case


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
    result = decide(DecideRequest.from_source(source, (), nightly=True))
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
        pytest.param("lora", 49),
    ],
)
def test_what_examples_select(shared, example, selected):
    found = select(load(shared, "0.25.0"), load_example(example))
    assert len(found.selected) == selected


def test_real_changes_select_no_less_than_the_engines_own_rule(shared):
    """Our selection holds theirs, but for image builds that nobody needs and optional mirrors."""
    definitions = load(shared, "0.25.0")
    left_out: Counter[str] = Counter()
    for files, nightly, case in cases(shared):
        ours = select(definitions, files, nightly=nightly)
        assert ours.docs_only is case["docs_only"]
        for key in set(case["selected"]) - set(ours.selected):
            decision = ours.by_key[key]
            if is_image_build(key):
                assert decision.rule in {"image-not-needed", "optional"}
            else:
                assert decision.rule == "optional"
                assert key.startswith("amd-")
                assert MIRROR_FILE in changed_paths(files)
            left_out[key] += 1
    images = {key for key in left_out if is_image_build(key)}
    assert images == {
        "ensure-ci-base-amd",
        "image-build",
        "image-build-amd",
        "image-build-cpu",
        "image-build-hpu",
        "image-build-smoke-test",
        "image-build-xpu",
    }
    assert len(set(left_out) - images) == 8


def test_what_real_changes_select_beyond_the_engines_own_rule(shared):
    definitions = load(shared, "0.25.0")
    rules: Counter[str] = Counter()
    for files, nightly, case in cases(shared):
        ours = select(definitions, files, nightly=nightly)
        rules.update(ours.by_key[key].rule for key in set(ours.selected) - set(case["selected"]))
    # docs/reference/selection.md states these figures.
    assert rules == {"unowned-file": 13_635, "changed-test": 21, "changed-definition": 19}


def test_real_changes_load_on_the_newer_definitions(shared):
    definitions = load(shared, "0.33.0")
    for files, nightly, _ in list(cases(shared))[::5]:
        found = select(definitions, files, nightly=nightly)
        assert len(found.decisions) == 465
