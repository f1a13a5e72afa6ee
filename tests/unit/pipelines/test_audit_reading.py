import subprocess

import pytest
from unit.pipelines.audit_factories import area, step
from unit.pipelines.factories import CONFIG, TINY, write_tree

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.pipelines.audit.reading import read_request, read_tree
from gauntlet.pipelines.timings import load_timings

CI = ".buildkite/ci_config.yaml"


def write(root, **texts):
    for path, text in texts.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def test_a_list_is_a_tree(tmp_path):
    write(tmp_path, **{"FILES.txt": "./a/b.py\n\nc d.py\n"})
    assert read_tree(tmp_path / "FILES.txt") == ("a/b.py", "c d.py")


def test_a_folder_is_walked(tmp_path):
    write(tmp_path, **{"a/b.py": "", "c.py": ""})
    assert set(read_tree(tmp_path)) == {"a/b.py", "c.py"}


def test_of_a_checkout_only_tracked_files_count(tmp_path):
    write(tmp_path, **{"a/ü b.py": "", "build/x.o": ""})
    subprocess.run(["git", "-C", str(tmp_path), "init", "-q"], check=True)
    subprocess.run(["git", "-C", str(tmp_path), "add", "a"], check=True)
    assert read_tree(tmp_path) == ("a/ü b.py",)


def test_a_tree_that_is_missing_or_empty_is_refused(tmp_path):
    with pytest.raises(UsageError, match="no such file or folder"):
        read_tree(tmp_path / "nowhere")
    with pytest.raises(UsageError, match="names no files"):
        read_tree(tmp_path)


def test_the_list_of_a_source_tree_comes_before_what_lies_there(tmp_path):
    write_tree(tmp_path)
    assert CI in read_request(tmp_path, CI).tree
    write(tmp_path, **{"FILES.txt": "engine/a.py\n"})
    assert read_request(tmp_path, CI).tree == ("engine/a.py",)
    write(tmp_path, **{"other.txt": "engine/b.py\n"})
    assert read_request(tmp_path, CI, tree=tmp_path / "other.txt").tree == ("engine/b.py",)


def test_all_pipelines_of_the_tree_and_their_scripts_are_read(tmp_path):
    write_tree(tmp_path, TINY)
    write(
        tmp_path,
        **{
            ".buildkite/ci_config_b.yaml": "name: b\njob_dirs: [.buildkite/b, .buildkite/areas]\n",
            ".buildkite/b/b.yaml": area(step()),
            ".buildkite/test-amd.yaml": "steps: []\n",
            ".buildkite/notes.md": "",
            ".github/workflows/w.yml": "jobs: {}\n",
            ".buildkite/scripts/s.sh": "pytest tests/a\n",
        },
    )
    request = read_request(tmp_path, CI)
    assert [file.path for file in request.others] == [
        ".buildkite/b/b.yaml",
        ".buildkite/test-amd.yaml",
        ".github/workflows/w.yml",
    ]
    assert request.scripts == {".buildkite/scripts/s.sh": "pytest tests/a\n"}
    assert request.notes == ()


def test_a_pipeline_beside_the_chosen_one_may_be_broken(tmp_path):
    write_tree(tmp_path, TINY)
    write(
        tmp_path,
        **{
            ".buildkite/ci_config_b.yaml": "name: [\n",
            ".buildkite/ci_config_c.yaml": CONFIG.replace("areas", "gone"),
        },
    )
    notes = read_request(tmp_path, CI).notes
    assert len(notes) == 2
    assert ".buildkite/gone" in notes[1]


def test_timings_are_strict(tmp_path):
    path = tmp_path / "t.json"
    path.write_text('{"schema_version": 1, "jobs": {"a": [1, 2.5]}, "tests": {"t.py": [3]}}')
    timings = load_timings(path)
    assert timings.jobs == {"a": (1.0, 2.5)}
    assert timings.tests == {"t.py": (3.0,)}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param('{"schema_version": 2}', "schema_version", id="version"),
        pytest.param('{"schema_version": 1, "job": {}}', "did you mean 'jobs'", id="key"),
        pytest.param('{"schema_version": 1, "jobs": {"a": [-1]}}', "jobs.a[0]", id="negative"),
        pytest.param('{"schema_version": 1, "jobs": {"a": [NaN]}}', "jobs.a[0]", id="no number"),
        pytest.param('{"schema_version": 1, "jobs": {"a": 3}}', "jobs.a", id="no list"),
    ],
)
def test_timings_that_are_none_are_refused(tmp_path, text, words):
    path = tmp_path / "t.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_timings(path)
    assert words in caught.value.message
