import json
import subprocess

import pytest
import yaml
from unit.pipelines.factories import TINY, TINY_KEYS, write_tree

from gauntlet.__main__ import run
from gauntlet.core.errors import ExternalServiceError
from gauntlet.pipelines.changes import load_example
from gauntlet.pipelines.decide import DecideRequest, decide
from gauntlet.pipelines.sources import fetch_source


@pytest.fixture
def tree(tmp_path):
    return write_tree(tmp_path / "tree")


@pytest.fixture
def call(tree, tmp_path, capsys):
    """Run ``gauntlet pipelines``; ``changed`` is written to a file and given as --changes."""

    def invoke(*arguments, changed=None):
        line = ["pipelines", *map(str, arguments)]
        if changed is not None:
            path = tmp_path / "changes.txt"
            path.write_text(changed)
            line += ["--definitions", str(tree), "--changes", str(path)]
        code = run(line)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def test_select_prints_json_on_stdout(call):
    code, out, _ = call("select", "--json", changed="M\tengine/sample/a.py\n")
    record = json.loads(out)
    assert code == 0
    assert "sampler" in record["selected"]
    assert {job["key"] for job in record["jobs"]} == TINY_KEYS
    assert record["docs_only"] is False


@pytest.mark.parametrize(
    ("changed", "docs_only", "words"),
    [
        pytest.param("docs/a.md\n", True, "only documentation changed", id="docs"),
        pytest.param("", False, "no file changed", id="nothing"),
    ],
)
def test_an_empty_selection_is_said_and_exits_3(call, changed, docs_only, words):
    code, out, err = call("select", "--json", changed=changed)
    assert code == 3
    assert words in err
    record = json.loads(out)
    assert (record["selected"], record["docs_only"]) == ([], docs_only)


def test_generate_and_replay_give_the_same_bytes(call, tmp_path):
    code, out, err = call("generate", "--out", tmp_path / "a", changed="setup.py\n")
    assert code == 0
    assert out.split() == [
        str(tmp_path / "a" / name)
        for name in ("pipeline.yaml", "selection.json", "parameters.json")
    ]
    assert "8 of 9 jobs" in err
    code, _, _ = call("replay", tmp_path / "a" / "parameters.json", "--out", tmp_path / "b")
    assert code == 0
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_generate_of_nothing_still_writes_a_pipeline(call, tmp_path):
    code, _, _ = call("generate", "--out", tmp_path / "a", changed="docs/a.md\n")
    assert code == 3
    assert len(yaml.safe_load((tmp_path / "a" / "pipeline.yaml").read_text())["steps"]) == 1


def test_a_dry_run_prints_the_pipeline_and_writes_nothing(call, tmp_path):
    code, out, _ = call("generate", "--dry-run", "--out", tmp_path / "a", changed="setup.py\n")
    assert code == 0
    assert yaml.safe_load(out)["steps"]
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize(
    ("command", "key", "words"),
    [
        pytest.param("explain", "sampler", "declared-dependency", id="explain"),
        pytest.param("why-not", "large", "--nightly", id="why not, optional"),
        pytest.param("why-not", "sampler", "does run", id="why not, but it runs"),
        pytest.param("why-not", "undeclared", "declares none", id="why not, undeclared"),
    ],
)
def test_explanations(call, command, key, words):
    code, out, _ = call(command, key, changed="engine/sample/a.py\n")
    assert code == 0
    assert words in out


def test_git_changes_with_a_deletion(call, tree):
    def git(*arguments):
        identity = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
        subprocess.run(["git", "-C", str(tree), *identity, *arguments], check=True)

    (tree / "engine/sample").mkdir(parents=True)
    (tree / "engine/sample/a.py").write_text("x = 1\n" * 9)
    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "one")
    git("rm", "-q", "engine/sample/a.py")
    git("commit", "-qm", "two")
    code, out, _ = call("select", "--json", "--definitions", tree, "--git", "HEAD~1..HEAD")
    assert code == 0
    assert "sampler" in json.loads(out)["selected"]
    code, out, err = call("select", "--definitions", tree, "--git", "0123abcd..HEAD")
    assert (code, out) == (2, "")
    assert "0123abcd" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["select"], "say what changed", id="nothing given"),
        pytest.param(["select", "--example", "docs"], "whose definitions", id="no definitions"),
        pytest.param(["select", "--frob"], "--frob", id="unknown flag"),
        pytest.param(
            ["select", "--example", "docs", "--changes", "x"], "in one way", id="two changes"
        ),
        pytest.param(["select", "--example", "dcs"], "did you mean 'docs'", id="unknown example"),
        pytest.param(["select", "--example", "docs", "--definitions", "/nowhere"], "/nowhere"),
        pytest.param(["select", "--git", "a..b"], "--definitions", id="git without a checkout"),
        pytest.param(["replay", "/nowhere", "--out", "x"], "/nowhere", id="no parameters"),
    ],
)
def test_wrong_usage_exits_2_with_one_clear_line(call, arguments, words):
    code, out, err = call(*arguments)
    assert (code, out) == (2, "")
    assert words in err
    assert "Traceback" not in err


def test_an_unknown_job_names_the_nearest(call):
    code, _, err = call("explain", "samplr", changed="setup.py\n")
    assert code == 2
    assert "did you mean 'sampler'" in err


def test_broken_definitions_are_warned_of_and_the_rest_goes_on(call, tree):
    write_tree(tree, TINY | {".buildkite/areas/bad.yaml": "steps: [\n"})
    code, out, err = call("select", "--json", changed="engine/a.py\n")
    assert code == 0
    assert "warning: .buildkite/areas/bad.yaml" in err
    assert "engine-2-gpus" in json.loads(out)["selected"]


def test_examples_are_listed_and_printed(call):
    code, out, _ = call("examples")
    assert code == 0
    assert "rename-to-docs" in out
    code, out, _ = call("examples", "rename-to-docs")
    assert "R087\tvllm/" in out


@pytest.mark.network
def test_the_real_source_gives_the_real_decision(tmp_path):
    try:
        source = fetch_source(version="0.25.0", cache_dir=tmp_path)
    except ExternalServiceError as error:
        pytest.skip(f"no package index: {error}")
    result = decide(DecideRequest.from_source(source, load_example("sampler")))
    assert (result.counts.selected, result.counts.jobs, result.counts.groups) == (69, 265, 36)
    assert "vllm/v1/sample/sampler.py" in (source.files or ())
    assert result.problems == ()
