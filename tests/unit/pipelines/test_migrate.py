"""From vLLM's language to Gauntlet's own, and nothing is lost on the way."""

from pathlib import Path

import pytest
from compatible import read_cases
from unit.pipelines.factories import AREAS, CONFIG, TINY, files, options

from gauntlet.core.errors import ConfigError
from gauntlet.pipelines.definitions.comments import find_comments, split_by_step
from gauntlet.pipelines.definitions.files import read_files
from gauntlet.pipelines.definitions.loader import parse_definitions
from gauntlet.pipelines.definitions.migrate import migrate
from gauntlet.pipelines.fleet import fleet_text, parse_fleet
from gauntlet.pipelines.selection import select

IMAGES = ".buildkite/images/images.yaml"
FLEET = parse_fleet(fleet_text())


def test_the_tiny_tree_comes_out_the_same():
    made = migrate(files(), FLEET)
    assert (made.left, made.different) == ((), ())
    after = {job.key: job for job in parse_definitions(made.files).jobs}
    assert after["sampler"].device == "h200_18gb"
    assert after["image-build"].image
    assert after["image-build"].device == "build-cpu"
    assert "optional" not in made.files.jobs[0].text
    assert "tier: nightly" in made.files.jobs[0].text


def test_only_what_a_mirror_changes_is_written():
    text = migrate(files(), FLEET).files.jobs[0].text
    row = text[text.index("    amd:") :]
    row = row[: row.index("  parallelism")]
    assert "commands" not in row
    assert "engine/platforms/rocm.py" in row
    assert "engine/sample/" not in row


def test_migrating_twice_changes_nothing():
    once = migrate(files(), FLEET).files
    assert migrate(once, FLEET).files == once


def test_a_file_that_cannot_be_read_stays_as_it_is():
    bad = "group: Bad\nsteps:\n- {label: B, key: b, kommands: [x]}\n"
    made = migrate(files(TINY | {".buildkite/areas/bad.yaml": bad}), FLEET)
    kept = {file.path: file.text for file in made.files.jobs}
    assert kept[".buildkite/areas/bad.yaml"] == bad
    assert any("kommands: unknown key" in str(problem) for problem in made.left)
    assert made.different == ()


def test_a_pipeline_of_one_file_is_refused():
    legacy = files({}, "steps:\n- {label: A, commands: [x]}\n")
    with pytest.raises(ConfigError, match="single file"):
        migrate(legacy, FLEET)


def test_comments_go_with_their_steps():
    text = AREAS.replace("group:", "# About the file.\ngroup:").replace(
        "- label: Large", "# - label: Gone\n#   key: gone\n\n# Needs much memory.\n- label: Large"
    )
    text = text.replace("  device: h100\n", "  device: h100  # the only one\n")
    made = migrate(
        files({".buildkite/areas/a.yaml": text, ".buildkite/i.yaml": TINY[IMAGES]}), FLEET
    )
    lines = made.files.jobs[0].text.split("\n")
    assert lines[0] == "# About the file."
    large = lines.index("- key: large")
    assert lines[large - 2 : large] == ["# Needs much memory.", "# the only one"]
    engine = lines.index("- key: engine-2-gpus")
    assert lines[engine - 2 : engine] == ["# - label: Gone", "#   key: gone"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("a: 1 # x\n", ["# x"], id="behind a value"),
        pytest.param("# x\na: 1\n#y\n", ["# x", "#y"], id="alone"),
        pytest.param("a: 'b # c'\n", [], id="in quotes"),
        pytest.param("a: |\n  # no\n  b\n# yes\n", ["# yes"], id="in a block"),
        pytest.param("a: |- # yes\n  # no\n", ["# yes"], id="behind a block's sign"),
        pytest.param('a: "b\n  # no\n  c" # yes\n', ["# yes"], id="in quotes over lines"),
        pytest.param("a: b#c\n", [], id="inside a word"),
        pytest.param("a:\n- b\n  # x\n- c\n", ["# x"], id="in a list"),
    ],
)
def test_what_is_a_comment(text, found):
    assert [comment.text for comment in find_comments(text)] == found


def test_a_comment_belongs_to_the_step_below_it_or_around_it():
    text = "# head\nsteps:\n# one\n- a: 1\n  # in one\n\n# two\n- a: 2 # in two\n# end\n"
    parts = split_by_step(find_comments(text), [4, 8])
    assert [[comment.text for comment in part] for part in parts] == [
        ["# head"],
        ["# one", "# in one"],
        ["# two", "# in two", "# end"],
    ]


@pytest.mark.parametrize("version", ["0.25.0", "0.33.0"])
@pytest.mark.parametrize("config", ["ci_config", "ci_config_intel", "ci_config_rocm"])
def test_the_engines_own_definitions_come_out_the_same(shared, version, config):
    before = read_files(shared / "data" / f"vllm-{version}", f".buildkite/{config}.yaml")
    made = migrate(before, FLEET)
    assert made.different == ()
    for old, new in zip(before.jobs, made.files.jobs, strict=True):
        assert comment_texts(old.text) == comment_texts(new.text), old.path


def comment_texts(text: str) -> set[str]:
    return {comment.text for comment in find_comments(text)}


@pytest.mark.parametrize("mode", ["default", "compatible"])
def test_a_round_trip_selects_identically_on_real_changes(shared: Path, mode):
    before = read_files(shared / "data" / "vllm-0.25.0", ".buildkite/ci_config.yaml")
    old = parse_definitions(before)
    new = parse_definitions(migrate(before, FLEET).files)
    for path in sorted((shared / "data" / "diffs").glob("*.json")):
        for case in read_cases(path):
            asked = options(nightly=case.nightly, mode=mode)
            one, two = select(old, case.changes, asked), select(new, case.changes, asked)
            assert (one.selected, one.blocked) == (two.selected, two.blocked), case.name
            assert one.docs_only is two.docs_only


def test_the_tiny_configuration_is_marked_native():
    assert migrate(files(config=CONFIG), FLEET).files.config.text.startswith("gauntlet: 1\n")
