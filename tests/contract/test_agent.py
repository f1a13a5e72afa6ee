"""The same suite against an agent in memory and against the program that stands for Buildkite's."""

import json
import os
import sys
from pathlib import Path

import fake_agent
import pytest
import yaml
from fake_agent import Build, FakeAgent

from gauntlet.core.errors import InfrastructureError
from gauntlet.pipelines.agent import AgentRefusedError, AgentUnreachableError, CommandAgent
from gauntlet.pipelines.chunks import plan_uploads
from gauntlet.pipelines.upload import Annotation, UploadError, upload


@pytest.fixture(params=["in memory", "program"])
def started(request, tmp_path, monkeypatch):
    """Start an agent in a build; returns it, and what reads the build's state."""

    def start(failures=(), *, late=False):
        build = Build(failures, late=late)
        if request.param == "in memory":
            return FakeAgent(build), lambda: build
        state = tmp_path / "build.json"
        state.write_text(json.dumps(vars(build)))
        program = tmp_path / "buildkite-agent"
        call = f'"{sys.executable}" "{fake_agent.__file__}" "{state}" "$@"'
        program.write_text(f"#!/bin/sh\nexec {call}\n")
        program.chmod(0o755)
        tests = Path(fake_agent.__file__).parent
        monkeypatch.setenv("PYTHONPATH", f"{tests}{os.pathsep}{os.environ.get('PYTHONPATH', '')}")

        def read():
            found = Build()
            vars(found).update(json.loads(state.read_text()))
            return found

        return CommandAgent(str(program), timeout=60.0), read

    return start


def pipeline(*steps):
    return yaml.safe_dump({"steps": [{"group": "G", "steps": list(steps)}]})


def step(key, *needs, jobs=1):
    return {"key": key, "command": "x", "depends_on": list(needs), "parallelism": jobs}


def test_an_upload_adds_its_steps(started):
    agent, build = started()
    agent.upload(pipeline(step("a"), step("b", "a")))
    agent.upload(pipeline(step("c", "a")))
    assert build().keys == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("steps", "words", "key_taken"),
    [
        pytest.param([step("a")], 'key "a" has already', True, id="key of an earlier upload"),
        pytest.param([step("b"), step("b")], 'key "b" has already', True, id="key twice"),
        pytest.param([step("b", "z")], "dependencies not found", False, id="unknown dependency"),
        pytest.param([step("b", jobs=501)], "501 jobs", False, id="too many jobs"),
    ],
)
def test_a_refused_upload_says_why_and_adds_nothing(started, steps, words, key_taken):
    agent, build = started()
    agent.upload(pipeline(step("a")))
    with pytest.raises(AgentRefusedError) as caught:
        agent.upload(pipeline(*steps))
    assert words in str(caught.value)
    assert caught.value.key_taken is key_taken
    assert caught.value.exit_code == 7
    assert build().keys == ["a"]


def test_metadata_is_kept_for_the_build(started):
    agent, _ = started()
    assert agent.get_metadata("k") is None
    agent.set_metadata("k", "v w")
    assert agent.get_metadata("k") == "v w"
    agent.set_metadata("k", "x")
    assert agent.get_metadata("k") == "x"


def test_artifacts_are_kept_under_their_paths(started, tmp_path):
    agent, build = started()
    (tmp_path / "made" / "plans").mkdir(parents=True)
    (tmp_path / "made" / "plans" / "a.json").write_text("1")
    agent.keep_artifacts(tmp_path / "made", "plans/*")
    assert build().artifacts == {"plans/a.json": "1"}
    with pytest.raises(AgentRefusedError, match="no file matches"):
        agent.keep_artifacts(tmp_path / "made", "none/*")


def test_an_annotation_is_shown_however_long_it_is(started):
    agent, build = started()
    body = "# Title\n" + '- `é` "$HOME"\n' * 20_000
    agent.annotate(body, context="gauntlet", style="warning")
    assert tuple(build().annotations["gauntlet"]) == ("warning", body)


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        pytest.param("POST /pipelines: 503 Service Unavailable", AgentUnreachableError, id="503"),
        pytest.param("context deadline: timed out", AgentUnreachableError, id="timeout"),
        pytest.param("dial tcp: connection refused", AgentUnreachableError, id="connection"),
        pytest.param("POST /pipelines: 401 Unauthorized", AgentRefusedError, id="401"),
    ],
)
def test_a_failure_that_may_pass_is_told_from_one_that_does_not(started, words, kind):
    agent, _ = started([words])
    with pytest.raises(kind):
        agent.set_metadata("k", "v")


def test_chunks_come_in_once_though_a_step_is_retried_in_between(started):
    steps = [{"group": n, "steps": [step(n, jobs=300)]} for n in "ABC"]
    chunks = plan_uploads({"steps": steps})
    assert len(chunks) == 3
    agent, build = started([("upload", None), ("upload", "Pipeline upload rejected: not now")])
    options = {"build_id": "b1", "annotation": Annotation(body="text"), "sleep": lambda _: None}
    with pytest.raises(UploadError) as caught:
        upload(chunks, agent, **options)
    assert [chunk.number for chunk in caught.value.uploaded] == [1]
    assert [chunk.number for chunk in caught.value.missing] == [2, 3]
    report = upload(chunks, agent, **options)
    assert [outcome for _, outcome in report.chunks] == ["already in", "uploaded", "uploaded"]
    assert build().keys == ["A", "B", "C"]
    assert report.not_annotated is None


# The program alone.


def test_a_missing_program_is_said_with_a_remedy(tmp_path):
    agent = CommandAgent(str(tmp_path / "no-agent"))
    with pytest.raises(InfrastructureError) as caught:
        agent.get_metadata("k")
    assert "no-agent" in caught.value.message
    assert "--dry-run" in (caught.value.hint or "")


def test_a_program_that_does_not_end_is_ended(tmp_path):
    program = tmp_path / "slow"
    program.write_text("#!/bin/sh\nsleep 60\n")
    program.chmod(0o755)
    with pytest.raises(AgentUnreachableError, match="killed"):
        CommandAgent(str(program), timeout=0.3).upload("steps: []")
