import pytest
from unit.pipelines.factories import TINY, TINY_KEYS, definitions, one_file, write_tree

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.loader import parse_definitions

STEP = "steps:\n- label: A\n  key: a\n  commands: [x]\n"


def test_every_step_and_mirror_becomes_a_job():
    found = definitions()
    assert {job.key for job in found.jobs} == TINY_KEYS
    assert found.broken == ()
    assert found.groups == ("Areas", "Images")


@pytest.mark.parametrize(
    ("text", "jobs"),
    [
        pytest.param("# only a comment\n", 0, id="comments only"),
        pytest.param("group: G\nsteps: []\n", 0, id="no steps"),
        pytest.param("group: G\nsteps:\n", 0, id="null steps"),
        pytest.param(f"group: null\n{STEP}", 1, id="null group"),
        pytest.param(f"group: G\ndepends_on: ~\n{STEP}", 1, id="null dependency"),
        pytest.param(f"group: G\n{STEP}  depends_on: []\n", 1, id="empty dependency"),
        pytest.param(f"group : G\n{STEP}  soft_fail: false\n", 1, id="space before the colon"),
        pytest.param(
            "group: G\nsteps:\n- label: A\n  commands: [x]\n  source_file_dependencies: &deps [v]\n"
            "- label: B\n  commands: [x]\n  source_file_dependencies: *deps\n",
            2,
            id="anchors",
        ),
    ],
)
def test_unusual_but_sound_files(text, jobs):
    found = one_file(text)
    assert (len(found.jobs), found.broken) == (jobs, ())


def test_a_group_without_a_name_is_called_after_its_file():
    assert one_file(f"group: ~\n{STEP}").groups == ("one",)


def test_a_group_lends_dependency_and_directory_only_where_it_depends_on_something():
    base = "- {label: Base, key: base, commands: [x], depends_on: []}\n"
    lending = one_file(f"group: G\ndepends_on: base\nsteps:\n- label: A\n  commands: [x]\n{base}")
    keeping = one_file(f"group: G\ndepends_on: []\nsteps:\n- label: A\n  commands: [x]\n{base}")
    (kept, _), broken = keeping.jobs, lending.broken
    assert (kept.depends_on, kept.working_dir) == ((), None)
    # The base itself inherits the group's dependency, empty list or not: a cycle, and said so.
    assert [job.key for job in broken] == ["base"]
    assert lending.jobs[0].depends_on == ("base",)
    assert lending.jobs[0].working_dir == "/vllm-workspace/tests"


def test_commands_and_double_dollars_are_kept():
    text = "steps:\n- label: A\n  commands:\n  - |\n    a \"$$B\" 'c'\n    d\n"
    assert one_file(text).jobs[0].commands == ("a \"$$B\" 'c'\nd\n",)


def test_a_mirror_inherits_and_is_never_narrower():
    jobs = {job.key: job for job in definitions().jobs}
    parent, mirror = jobs["sampler"], jobs["amd-sampler"]
    assert mirror.commands == parent.commands
    assert mirror.parallelism == 2
    assert mirror.device == "mi325_1"
    assert mirror.depends_on == ("image-build-amd",)
    assert set(parent.source_dependencies) < set(mirror.source_dependencies)
    assert mirror.mirror_of == "sampler"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        pytest.param("command: [y]", "unknown key", id="unknown key"),
        pytest.param("timeout_in_minutes: soon", "integer", id="wrong type"),
        pytest.param("timeout_in_minutes: 0", "greater", id="too small"),
        pytest.param("optional: 'yes'", "boolean", id="text for a flag"),
        pytest.param("concurrency: 1", "come together", id="half a concurrency"),
        pytest.param("depends_on: [nowhere]", "no job has this key", id="dangling"),
        pytest.param("depends_on: [bad]", "circular", id="circular"),
        pytest.param("mirror: {amd: {devise: mi300_1}}", "unknown key", id="in the mirror"),
    ],
)
def test_one_bad_step_costs_itself(line, message):
    good = "group: G\nsteps:\n- {label: Good, commands: [x]}\n"
    found = one_file(f"{good}- label: Bad\n  commands: [x]\n  {line}\n")
    assert [job.key for job in found.jobs] == ["good"]
    (broken,) = found.broken
    assert broken.key == "bad"
    assert message in str(broken.problems[0])
    assert "one.yaml" in str(broken.problems[0])


def test_a_problem_names_line_and_nearest_key():
    (broken,) = one_file("group: G\nsteps:\n- label: A\n  command: [y]\n  commands: [x]\n").broken
    assert str(broken.problems[0]) == (
        ".buildkite/areas/one.yaml:4: command: unknown key; did you mean 'commands'?"
    )


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("group: [unclosed\n", id="syntax"),
        pytest.param("- a\n- b\n", id="a list"),
        pytest.param("steps: 3\n", id="steps are no list"),
        pytest.param("a: 1\na: 2\n", id="key twice"),
        pytest.param("group: \udcff\n", id="not UTF-8"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_broken_job(text):
    found = definitions(TINY | {".buildkite/areas/bad.yaml": text})
    assert {job.key for job in found.jobs} == TINY_KEYS
    (broken,) = found.broken
    assert broken.key == "broken-buildkite-areas-bad-yaml"


def test_a_stray_key_at_the_top_does_not_hide_the_steps():
    found = one_file(f"group: G\nowner: me\n{STEP}")
    assert [job.key for job in found.jobs] == ["a"]
    assert [job.file for job in found.broken] == [".buildkite/areas/one.yaml"]


def test_the_second_user_of_a_key_is_broken():
    found = one_file("steps:\n- {label: A, commands: [x]}\n- {label: a, commands: [y]}\n")
    assert [job.key for job in found.jobs] == ["a"]
    assert [job.key for job in found.broken] == ["a-2"]
    assert "already used" in found.broken[0].problems[0].message


@pytest.mark.parametrize(
    "key",
    [
        pytest.param("has space", id="space"),
        pytest.param("k" * 101, id="too long"),
        pytest.param("123e4567-e89b-12d3-a456-426614174000", id="uuid"),
        pytest.param("日本", id="not ascii"),
    ],
)
def test_a_key_that_buildkite_refuses_breaks_its_job(key):
    found = one_file(f"steps:\n- {{label: A, key: '{key}', commands: [x]}}\n")
    assert found.jobs == ()
    assert found.broken[0].key.startswith("broken-")


def test_a_missing_job_folder_is_named(tmp_path):
    write_tree(tmp_path, {".buildkite/areas/a.yaml": "# nothing\n"})
    with pytest.raises(UsageError, match=r"\.buildkite/images"):
        read_files(tmp_path, ".buildkite/ci_config.yaml")


def test_a_broken_configuration_names_every_problem(tmp_path):
    write_tree(tmp_path, config="name: 3\njob_dir: [x]\n")
    with pytest.raises(ConfigError) as caught:
        read_files(tmp_path, ".buildkite/ci_config.yaml")
    assert len(caught.value.problems) == 3


def test_bytes_that_are_not_utf8_survive_reading(tmp_path):
    write_tree(tmp_path)
    (tmp_path / ".buildkite/areas/bad.yaml").write_bytes(b"group: \xff\n")
    found = read_files(tmp_path, ".buildkite/ci_config.yaml")
    assert len(parse_definitions(found).broken) == 1
