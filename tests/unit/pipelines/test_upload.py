"""Uploading in chunks: each once, whatever fails in between."""

import json

import pytest
import yaml
from click.testing import CliRunner
from fake_agent import Build, FakeAgent

from gauntlet.core.errors import ConfigError, ExitCode, InfrastructureError, UsageError
from gauntlet.pipelines.chunks import plan_uploads
from gauntlet.pipelines.upload import DELAYS, Annotation, UploadError, ledger_key, upload
from gauntlet.pipelines.upload_command import upload_pipeline

DIGEST = "registry.example/p@sha256:" + "a" * 64
DOWN = "503 Service Unavailable"


def step(key, *needs, jobs=300):
    return {"key": key, "command": "x", "depends_on": list(needs), "parallelism": jobs}


PIPELINE = {
    "steps": [
        {"group": "Builds", "steps": [step("build")]},
        {"group": "Tests", "steps": [step("test", "build")]},
        {"group": "More", "steps": [step("more", "build", jobs=200)]},
    ]
}
CHUNKS = plan_uploads(PIPELINE)


def run(build, chunks=CHUNKS, **options):
    waited = []
    agent = FakeAgent(build)
    report = upload(chunks, agent, build_id="b1", sleep=waited.append, **options)
    return [outcome for _, outcome in report.chunks], waited, report


def test_chunks_are_uploaded_in_order_and_annotated():
    build = Build()
    outcomes, waited, report = run(
        build, annotation=Annotation(body="**12 jobs**", style="success")
    )
    assert outcomes == ["uploaded", "uploaded"]
    assert [[g["group"] for g in p["steps"]] for p in build.uploads] == [
        ["Builds", "More"],
        ["Tests"],
    ]
    assert build.annotations == {"gauntlet": ("success", "**12 jobs**")}
    assert waited == []
    assert report.not_annotated is None


def test_a_passing_failure_is_tried_again_a_few_times():
    outcomes, waited, _ = run(Build([DOWN, ("upload", DOWN), ("upload", "timed out")]))
    assert outcomes == ["uploaded", "uploaded"]
    assert waited == [DELAYS[0], DELAYS[0], DELAYS[1]]


def test_a_failure_that_lasts_ends_after_the_last_attempt():
    build = Build([("upload", DOWN)] * 9)
    with pytest.raises(UploadError) as caught:
        run(build)
    assert len(build.failures) == 9 - 1 - len(DELAYS)
    assert caught.value.exit_code == ExitCode.EXTERNAL_SERVICE
    assert DOWN in str(caught.value)


def test_a_refusal_is_not_tried_again_and_says_what_is_in_and_what_is_not():
    build = Build([("upload", None), ("upload", "Pipeline upload rejected: bad step")])
    with pytest.raises(UploadError) as caught:
        run(build)
    message = str(caught.value)
    assert "chunk 2 was not uploaded: Pipeline upload rejected: bad step" in message
    assert "in the build: chunk 1 (500 jobs: Builds, More)" in message
    assert "not in it: chunk 2 (300 jobs: Tests)" in message
    assert "again" in (caught.value.hint or "")


def test_a_step_that_starts_again_leaves_out_what_is_in():
    build = Build([("upload", None), ("upload", "rejected")])
    with pytest.raises(UploadError):
        run(build)
    assert run(build)[0] == ["already in", "uploaded"]
    assert run(build)[0] == ["already in", "already in"]
    assert len(build.uploads) == 2


def test_an_upload_whose_answer_is_lost_is_not_made_twice():
    build = Build([("upload", "timed out")], late=True)
    assert run(build)[0] == ["already in", "uploaded"]
    assert len(build.uploads) == 2


def test_a_step_that_was_killed_after_its_upload_is_taken_up():
    build = Build()
    FakeAgent(build).upload(CHUNKS[0].text)
    build.metadata[ledger_key("b1", CHUNKS[0])] = "entered"
    assert run(build)[0] == ["already in", "uploaded"]


def test_a_key_that_another_step_has_is_no_sign_of_an_earlier_upload():
    build = Build()
    build.keys.append("build")
    with pytest.raises(UploadError, match="already been used"):
        run(build)


def test_without_keys_an_upload_in_doubt_is_left_to_a_person():
    chunks = plan_uploads({"steps": [{"command": "x"}]})
    build = Build([("upload", "timed out")], late=True)
    with pytest.raises(UploadError, match="no step of it has a key"):
        run(build, chunks)
    assert len(build.uploads) == 1


def test_the_ledger_of_one_build_says_nothing_about_another():
    build = Build()
    run(build)
    assert all(":b1:" in key for key in build.metadata)
    assert ledger_key("b1", CHUNKS[0]) != ledger_key("b2", CHUNKS[0])


def test_a_mark_that_cannot_be_made_does_not_fail_what_is_in():
    build = Build([("set", None), *[("set", DOWN)] * 4])
    assert run(build)[0] == ["uploaded, unmarked", "uploaded"]
    assert run(build)[0] == ["already in", "already in"]


def test_nothing_is_uploaded_while_the_ledger_cannot_be_read():
    build = Build([("get", DOWN)] * 9)
    with pytest.raises(UploadError):
        run(build)
    assert build.uploads == []


def test_a_failed_annotation_does_not_fail_the_build():
    build = Build([("annotate", "body is too long")])
    outcomes, _, report = run(build, annotation=Annotation(body="x"))
    assert outcomes == ["uploaded", "uploaded"]
    assert report.not_annotated == "body is too long"


# The command.


@pytest.fixture
def call(tmp_path, monkeypatch):
    monkeypatch.delenv("BUILDKITE_BUILD_ID", raising=False)

    def invoke(*options, pipeline=PIPELINE, stdin=False, build_id=None):
        if build_id is not None:
            monkeypatch.setenv("BUILDKITE_BUILD_ID", build_id)
        text = yaml.safe_dump(pipeline)
        file = tmp_path / "pipeline.yaml"
        file.write_text(text)
        arguments = ["-" if stdin else str(file), *options]
        return CliRunner().invoke(upload_pipeline, arguments, input=text if stdin else None)

    return invoke


@pytest.mark.parametrize("stdin", [False, True])
def test_a_dry_run_prints_the_uploads_and_needs_no_agent(call, stdin):
    result = call("--dry-run", "--agent", "/no/agent", stdin=stdin)
    assert result.exit_code == 0
    assert result.stdout.splitlines() == [
        "upload 1 of 2: 500 jobs in 2 groups: Builds, More",
        "upload 2 of 2: 300 jobs in 1 groups: Tests",
    ]


def test_outside_of_a_job_nothing_can_be_uploaded(call):
    assert isinstance(call().exception, UsageError)
    assert isinstance(call("--agent", "/no/agent", build_id="b1").exception, InfrastructureError)


def test_what_buildkite_would_refuse_is_refused_before(call):
    result = call(pipeline={"steps": [{"command": "x", "parallelisms": 2}]}, build_id="b1")
    assert isinstance(result.exception, ConfigError)
    assert "parallelisms" in str(result.exception)


def test_a_larger_quota_can_be_named(call):
    assert "upload 1 of 1: 800 jobs" in call("--dry-run", "--max-jobs", "1000").stdout


def with_image(image):
    plugins = [{"docker#v5.2.0": {"image": image, "always-pull": True}}]
    pod = [{"kubernetes": {"podSpec": {"containers": [{"image": image, "name": image}]}}}]
    return {
        "env": {"GAUNTLET_IMAGE_DEFAULT": image, "OTHER": "1"},
        "steps": [
            {"key": "a", "command": f"docker run {image}", "plugins": plugins},
            {"key": "b", "command": "x", "plugins": pod},
        ],
    }


@pytest.fixture
def program(tmp_path):
    """An agent that keeps what it is given to upload."""
    file = tmp_path / "buildkite-agent"
    kept = f'test "$1" != pipeline || cat > "{tmp_path}/uploaded.yaml"'
    file.write_text(f"#!/bin/sh\n{kept}\n")
    file.chmod(0o755)
    return str(file)


def test_images_are_pinned_when_their_digests_are_known(call, tmp_path, program):
    images = tmp_path / "images.json"
    images.write_text(json.dumps({"default": DIGEST}))
    pipeline = with_image("r/p:$BUILDKITE_COMMIT")
    options = ["--images", str(images), "--agent", program]
    result = call(*options, pipeline=pipeline, build_id="b1")
    assert result.exit_code == 0, result.exception
    assert "upload 1 of 1: 2 jobs, uploaded" in result.stdout
    uploaded = yaml.safe_load((tmp_path / "uploaded.yaml").read_text())
    assert uploaded["env"] == {"GAUNTLET_IMAGE_DEFAULT": DIGEST, "OTHER": "1"}
    first, second = uploaded["steps"]
    assert first["plugins"] == [{"docker#v5.2.0": {"image": DIGEST}}]
    assert first["command"] == "docker run r/p:$BUILDKITE_COMMIT"
    container = second["plugins"][0]["kubernetes"]["podSpec"]["containers"][0]
    assert container == {"image": DIGEST, "name": "r/p:$BUILDKITE_COMMIT"}


@pytest.mark.parametrize(
    ("images", "words"),
    [
        pytest.param({"defaults": DIGEST}, "did you mean 'default'", id="unknown variant"),
        pytest.param({"default": "r/p:tag"}, "pattern", id="no digest"),
        pytest.param({"cpu": DIGEST}, "no job uses this image", id="image that nobody uses"),
        pytest.param(["a"], "mapping", id="no mapping"),
    ],
)
def test_images_that_cannot_be_meant_are_refused(call, tmp_path, images, words):
    file = tmp_path / "images.json"
    file.write_text(json.dumps(images))
    result = call("--images", str(file), "--dry-run", pipeline=with_image("r/p:t"))
    assert isinstance(result.exception, ConfigError)
    assert words in str(result.exception)


def test_a_failed_annotation_is_said_on_standard_error(call, tmp_path):
    agent = tmp_path / "buildkite-agent"
    agent.write_text('#!/bin/sh\ntest "$1" != annotate || { echo too long >&2; exit 1; }\n')
    agent.chmod(0o755)
    (tmp_path / "note.md").write_text("note")
    options = ["--agent", str(agent), "--annotation", str(tmp_path / "note.md")]
    result = call(*options, build_id="b1")
    assert result.exit_code == 0
    assert "too long" in result.stderr
