"""What is found in a pipeline, whoever wrote it."""

import json

import pytest
import yaml
from click.testing import CliRunner

from gauntlet.core.errors import ConfigError
from gauntlet.core.yaml_file import load_yaml, parse_yaml
from gauntlet.pipelines.checks.steps import views
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.validate_command import validate
from gauntlet.pipelines.validation import (
    command_steps,
    pipeline_warnings,
    step_problems,
    structure_problems,
    validate_pipeline,
)

FLEET = parse_fleet(fleet_text())
UUID = "0189a7b4-1c2d-4e3f-8a9b-0c1d2e3f4a5b"


def problems_of(steps, **options):
    return [str(problem) for problem in validate_pipeline({"steps": steps}, **options)]


def one_of(fields):
    """Problems of one step, which a sound one of its kind stands beside."""
    sound = {"key": "sound", "command": "x", "agents": {"queue": "H200"}}
    return problems_of([sound, {"key": "a", "command": "x", **fields}], fleet=FLEET)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        pytest.param({"agent": "q"}, "agent", id="unknown key"),
        pytest.param({"timeout_in_minutes": 0}, "minimum", id="value out of range"),
        pytest.param({"commands": [1]}, "commands", id="command that is a number"),
        pytest.param({"plugins": [{"a": {}, "b": {}}]}, "plugins", id="two plugins in one"),
        pytest.param({"depends_on": [{"step": "sound", "allow_failure": 3}]}, "3", id="dependency"),
        pytest.param({"key": "a b"}, "letters, digits", id="key with a space"),
        pytest.param({"key": "k" * 101}, "101 characters", id="key too long"),
        pytest.param({"key": UUID}, "UUID", id="key like a UUID"),
        pytest.param({"parallelism": 2, "matrix": ["a"]}, "not both", id="matrix in parallel"),
        pytest.param({"concurrency": 1}, "come together", id="concurrency alone"),
        pytest.param({"concurrency_group": "g"}, "come together", id="group alone"),
        pytest.param({"concurrency_method": "eager"}, "needs concurrency", id="method alone"),
        pytest.param({"retry": {"automatic": {"limit": 11}}}, "10 times", id="retries"),
        pytest.param({"retry": {"automatic": [{"limit": 99}]}}, "99", id="retries in a list"),
        pytest.param({"soft_fail": [{"exit": 1}]}, "exit_status", id="soft fail"),
        pytest.param({"soft_fail": "maybe"}, "soft_fail", id="soft fail of another kind"),
        pytest.param({"agents": {"queue": "h200"}}, "did you mean 'H200'", id="queue"),
        pytest.param({"agents": ["queue=h200"]}, "no agents serve", id="queue in a list"),
        pytest.param({"env": {"A": "$?"}}, "write $$", id="text that cannot be uploaded"),
        pytest.param({"plugins": [{"p#v1": {"a": ["$1 x"]}}]}, "write $$", id="deep in a plugin"),
    ],
)
def test_what_is_wrong_with_a_step(fields, words):
    found = one_of(fields)
    assert found
    assert any(words in problem for problem in found)
    assert all("'sound'" not in problem for problem in found)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"soft_fail": [{"exit_status": "*"}]}, id="any soft fail"),
        pytest.param({"agents": {"queue": "$QUEUE"}}, id="queue filled in at upload"),
        pytest.param({"agents": {"os": "linux"}}, id="no queue"),
        pytest.param({"retry": {"automatic": True}}, id="retries by default"),
        pytest.param({"depends_on": None}, id="no dependencies"),
        pytest.param({"if": "build.tag =~ /^v1$$/"}, id="escaped condition"),
    ],
)
def test_what_is_right_with_a_step(fields):
    assert one_of(fields) == []


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        pytest.param([{"key": "a"}, {"key": "a"}], "two steps have this key", id="key twice"),
        pytest.param(
            [{"key": "a", "depends_on": "b"}, {"key": "b", "depends_on": [{"step": "a"}]}],
            "circular: a -> b -> a",
            id="circular",
        ),
        pytest.param([{"key": "a", "depends_on": ["g"]}], "circular", id="waits for its group"),
        pytest.param([], "[]", id="empty group"),
        pytest.param(["waiting"], "no kind of step", id="unknown word"),
        pytest.param([{"group": "H", "steps": []}], "no kind of step", id="group in a group"),
        pytest.param([7], "7", id="number"),
    ],
)
def test_what_is_wrong_in_a_group(steps, words):
    found = problems_of([{"group": "G", "key": "g", "steps": steps}])
    assert any(words in problem for problem in found), found


def test_keys_are_compared_across_groups():
    groups = [{"group": name, "steps": [{"key": "a", "command": "x"}]} for name in "GH"]
    (problem,) = problems_of(groups)
    assert "two steps have this key" in problem


def test_a_dependency_on_another_upload_is_wrong_only_where_there_is_none():
    steps = [{"key": "build", "command": "x"}, {"key": "a", "command": "x", "depends_on": "builds"}]
    assert problems_of(steps) == []
    (warning,) = pipeline_warnings({"steps": steps})
    assert "did you mean 'build'" in str(warning)
    (problem,) = problems_of(steps, complete=True)
    assert "no such step" in problem


def test_a_step_of_ours_has_a_key():
    assert any("no key" in p for p in problems_of([{"command": "x"}], complete=True))
    assert problems_of([{"command": "x"}]) == []


def step(key, jobs=1):
    return {"key": key, "command": "x", "parallelism": jobs}


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        pytest.param([step("a", 501)], "500 jobs at most", id="one step"),
        pytest.param(
            [{"group": "G", "steps": [step(f"s{n}", 251) for n in range(2)]}], "502", id="a group"
        ),
        pytest.param([step(f"s{n}", 500) for n in range(9)], "4,000", id="build"),
    ],
)
def test_more_jobs_than_any_uploads_bring_in(steps, words):
    assert any(words in problem for problem in problems_of(steps))


def test_more_jobs_than_one_upload_brings_in_is_a_warning():
    steps = [step("a", 300), step("b", 300)]
    assert problems_of(steps) == []
    (warning,) = pipeline_warnings({"steps": steps})
    assert "gauntlet pipelines upload" in str(warning)


@pytest.mark.parametrize(
    ("matrix", "jobs"),
    [
        pytest.param(["a", "b", "c"], 3, id="list"),
        pytest.param({"setup": ["a", "b"]}, 2, id="setup"),
        pytest.param(
            {"setup": {"x": [1, 2], "y": [1, 2, 3]}, "adjustments": [{"with": {}}]}, 7, id="table"
        ),
        pytest.param(None, 1, id="none"),
    ],
)
def test_jobs_of_a_matrix(matrix, jobs):
    (view,) = views({"steps": [{"command": "x", "matrix": matrix}]})
    assert view.jobs == jobs


def test_variables_that_vanish_at_upload_are_warned_of():
    pipeline = {
        "env": {"MINE": "1"},
        "steps": [
            {
                "key": "a",
                "commands": ["cd $HOME && $MINE $REGISTRY ${X:-y} $$Y", "shard $BUILDKITE_JOB_ID"],
            }
        ],
    }
    warnings = [str(warning) for warning in pipeline_warnings(pipeline, FLEET)]
    assert [w.partition("step 'a': ")[2].split()[0] for w in sorted(warnings)] == [
        "$BUILDKITE_JOB_ID",
        "$HOME",
    ]
    assert validate_pipeline(pipeline) == ()


def test_problems_name_the_line_of_the_file():
    text = "steps:\n- command: x\n- group: G\n  steps:\n  - key: a\n    agents: {queue: q}\n"
    document = parse_yaml(text, file="p.yml")
    (problem,) = validate_pipeline(document.value, fleet=FLEET, document=document)
    assert str(problem).startswith("p.yml:6: step 'a'.agents.queue: no agents serve")


def test_a_steps_first_problem_is_the_one_that_costs_it():
    pipeline = {
        "steps": [
            {"group": "G", "steps": [{"key": "a", "agent": "x", "concurrency": 1}, {"key": "b"}]}
        ]
    }
    assert list(step_problems(pipeline)) == ["a"]
    assert "agent" in str(step_problems(pipeline)["a"])
    assert structure_problems(pipeline) == ()


def test_what_is_around_the_steps_is_checked_by_itself():
    pipeline = {"env": [], "steps": [{"group": 7, "steps": [{"key": "a", "agent": "x"}]}]}
    found = [str(problem) for problem in structure_problems(pipeline)]
    assert len(found) == 2
    assert any("env" in problem for problem in found)
    assert any("group" in problem for problem in found)


@pytest.mark.parametrize("written", ["schema of the project", "schema of the SDK"])
def test_buildkites_own_valid_pipelines_are_valid(shared, written):
    folder = shared / "data/buildkite"
    own = json.loads((folder / "pipeline-schema.json").read_text())
    schema = own if written == "schema of the project" else None
    files = sorted((folder / "valid-pipelines").glob("*.yml"))
    assert len(files) >= 12
    for file in files:
        document = load_yaml(file)
        assert validate_pipeline(document.value, schema, FLEET, document=document) == ()


def test_the_engines_own_static_pipelines_are_valid(shared):
    files = [
        "vllm-0.25.0/.buildkite/release-pipeline.yaml",
        "vllm-0.33.0/.buildkite/release-pipeline.yaml",
        "vllm-0.33.0/.buildkite/amd-disagg/pipeline-disagg.yaml",
    ]
    for file in files:
        document = load_yaml(shared / "data" / file)
        assert validate_pipeline(document.value, fleet=FLEET, document=document) == ()
        assert pipeline_warnings(document.value, FLEET, document=document) == ()


# The command.


@pytest.fixture
def call(tmp_path):
    def invoke(pipeline, *options, stdin=False):
        text = yaml.safe_dump(pipeline)
        file = tmp_path / "p.yml"
        file.write_text(text)
        arguments = ["-" if stdin else str(file), *options]
        return CliRunner().invoke(validate, arguments, input=text if stdin else None)

    return invoke


@pytest.mark.parametrize("stdin", [False, True])
def test_a_sound_file_is_said_to_be_sound(call, stdin):
    result = call([{"command": "echo $HOME"}, "wait"], stdin=stdin)
    assert result.exit_code == 0
    assert "1 command steps, sound" in result.stdout
    assert "warning" in result.stderr
    assert "$HOME" in result.stderr


def test_warnings_are_problems_where_that_is_asked(call):
    result = call({"steps": [{"command": "echo $HOME"}]}, "--strict")
    assert isinstance(result.exception, ConfigError)
    assert "$HOME" in str(result.exception)


def test_every_problem_of_a_file_is_said(call):
    result = call({"steps": [{"commandd": "x"}, {"command": "x", "concurrency": 1}]})
    assert isinstance(result.exception, ConfigError)
    assert len(result.exception.problems) == 2


@pytest.mark.parametrize("pipeline", ["text", None, {"stepps": []}])
def test_what_is_no_pipeline_is_refused(call, pipeline):
    assert isinstance(call(pipeline).exception, ConfigError)


def test_another_schema_and_fleet_can_be_given(call, tmp_path, shared):
    fleet = tmp_path / "fleet.yaml"
    fleet.write_text(fleet_text().replace("queue: H200,", "queue: mine,"))
    schema = shared / "data/buildkite/pipeline-schema.json"
    options = ["--fleet", str(fleet), "--schema", str(schema)]
    good = call([{"command": "x", "agents": {"queue": "mine"}}], *options)
    assert good.exit_code == 0
    bad = call([{"command": "x", "agents": {"queue": "H200"}}], *options)
    assert isinstance(bad.exception, ConfigError)


def test_a_file_that_is_no_schema_is_refused(call, tmp_path):
    (tmp_path / "schema.json").write_text("{}")
    result = call([], "--schema", str(tmp_path / "schema.json"))
    assert isinstance(result.exception, ConfigError)


def test_command_steps_are_found_in_and_outside_of_groups():
    steps = ["wait", {"key": "a"}, {"group": "G", "steps": [{"block": "b"}, {"key": "c"}]}]
    assert [s["key"] for s in command_steps({"steps": steps})] == ["a", "c"]
