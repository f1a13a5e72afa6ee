"""Every job of the engine's real definitions, rendered, checked and split into uploads."""

import json
from functools import cache
from pathlib import Path

import pytest
import yaml
from unit.pipelines.plans import FLEET, plan_all

from gauntlet.pipelines.checks.steps import views
from gauntlet.pipelines.chunks import plan_uploads
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.rendering.images import ImageSource
from gauntlet.pipelines.rendering.pipeline import render
from gauntlet.pipelines.validation import command_steps, pipeline_warnings, validate_pipeline


@cache
def load(shared: Path, version: str, config: str):
    root = shared / "data" / f"vllm-{version}"
    return parse_definitions(read_files(root, f".buildkite/{config}.yaml"))


@cache
def rendered(shared: Path, version: str, config: str):
    """The pipeline of every job of a tree."""
    images = ImageSource(registry="registry.example", repository="ci", main_repository="main")
    return render(plan_all(load(shared, version, config)), images)


TREES = [
    pytest.param(version, config, id=f"{version} {config}")
    for version in ("0.25.0", "0.33.0")
    for config in ("ci_config", "ci_config_intel", "ci_config_rocm")
]


@pytest.mark.parametrize(("version", "config"), TREES)
def test_a_full_pipeline_fits_buildkite(shared, version, config):
    pipeline = rendered(shared, version, config)
    schema = json.loads((shared / "data/buildkite/pipeline-schema.json").read_text())
    assert validate_pipeline(pipeline, schema, FLEET, complete=True) == ()
    assert validate_pipeline(pipeline, None, FLEET, complete=True) == ()
    unsplit = [w for w in pipeline_warnings(pipeline, FLEET) if w.key != "steps"]
    assert unsplit == []


@pytest.mark.parametrize(("version", "config"), TREES)
def test_every_job_is_rendered_with_its_own_commands(shared, version, config):
    pipeline = rendered(shared, version, config)
    steps = {step["key"]: step for step in command_steps(pipeline)}
    filled = {"$REGISTRY", "$REPO", "$BRANCH", "$IMAGE_TAG"}
    for job in load(shared, version, config).jobs:
        commands = [c for c in job.commands if not any(name in c for name in filled)]
        own = [c for c in steps[job.key]["commands"] if c in set(commands)]
        assert own == commands
        assert steps[job.key]["commands"][-1] != "exit 1"


@pytest.mark.parametrize(("version", "config"), TREES)
def test_a_full_pipeline_is_uploaded_in_chunks_that_buildkite_takes(shared, version, config):
    pipeline = rendered(shared, version, config)
    chunks = plan_uploads(pipeline)
    place = {}
    for number, chunk in enumerate(chunks):
        part = yaml.load(chunk.text, yaml.CSafeLoader)
        assert validate_pipeline(part, fleet=FLEET) == ()
        assert sum(view.jobs for view in views(part)) == chunk.jobs <= 500
        assert part.get("env") == pipeline.get("env")
        place |= {view.key: number for view in views(part) if view.key}
    wanted = [view for view in views(pipeline) if view.key]
    assert place.keys() == {view.key for view in wanted}
    assert all(place[need] <= place[view.key] for view in wanted for need in view.depends_on)


def test_how_large_the_largest_pipeline_is(shared):
    pipeline = rendered(shared, "0.33.0", "ci_config")
    chunks = plan_uploads(pipeline)
    # docs/reference/fleet.md states these figures.
    assert [chunk.jobs for chunk in chunks] == [500, 71]
    assert sum(1 for _ in command_steps(pipeline)) == 465


def test_a_pipeline_in_which_every_job_waits_for_a_person_fits_too(shared):
    definitions = load(shared, "0.33.0", "ci_config")
    pipeline = render(plan_all(definitions, blocked=tuple(job.key for job in definitions.jobs)))
    assert validate_pipeline(pipeline, fleet=FLEET, complete=True) == ()
    assert sum(view.kind == "block" for view in views(pipeline)) == 465
    assert all(chunk.jobs <= 500 for chunk in plan_uploads(pipeline))


def test_one_image_serves_every_job_of_an_architecture(shared):
    pipeline = rendered(shared, "0.33.0", "ci_config")
    assert pipeline["env"] == {
        "GAUNTLET_IMAGE_ARM64": "registry.example/ci:$BUILDKITE_COMMIT-arm64",
        "GAUNTLET_IMAGE_CPU": "registry.example/ci:$BUILDKITE_COMMIT-cpu",
        "GAUNTLET_IMAGE_DEFAULT": "registry.example/ci:$BUILDKITE_COMMIT",
        "GAUNTLET_IMAGE_ROCM": "rocm/vllm-ci:build-$BUILDKITE_BUILD_ID",
    }
