import json
import os
import subprocess
import sys

import pytest
import yaml
from unit.pipelines.factories import TINY, TINY_KEYS, changes, write_tree

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
    where = ["--out", tmp_path / "a.yaml", "--artifacts", tmp_path / "a"]
    code, out, err = call("generate", *where, changed="setup.py\n")
    assert (code, out) == (0, "")
    assert "8 of 9 jobs" in err
    assert {path.name for path in (tmp_path / "a").iterdir()} == {
        "pipeline.yaml",
        "selection.json",
        "parameters.json",
        "annotation.md",
    }
    assert (tmp_path / "a.yaml").read_bytes() == (tmp_path / "a" / "pipeline.yaml").read_bytes()
    recorded = tmp_path / "a" / "parameters.json"
    code, out, _ = call("replay", recorded, "--artifacts", tmp_path / "b")
    assert (code, out) == (0, (tmp_path / "a.yaml").read_text())
    for path in (tmp_path / "a").iterdir():
        assert path.read_bytes() == (tmp_path / "b" / path.name).read_bytes()


def test_generate_prints_the_pipeline_unless_told_where_to(call, tmp_path):
    code, out, _ = call("generate", changed="setup.py\n")
    assert code == 0
    assert yaml.safe_load(out)["steps"]
    assert call("generate", "--out", "-", changed="setup.py\n")[1] == out
    code, dry, _ = call("generate", "--dry-run", "--out", tmp_path / "a", changed="setup.py\n")
    assert (code, dry) == (0, out)
    assert not (tmp_path / "a").exists()


def test_generate_of_nothing_still_writes_a_pipeline(call, tmp_path):
    code, _, _ = call("generate", "--out", tmp_path / "a", changed="docs/a.md\n")
    assert code == 3
    assert len(yaml.safe_load((tmp_path / "a").read_text())["steps"]) == 1


def test_strict_refuses_what_would_be_a_failing_step(call, tree):
    write_tree(tree, TINY | {".buildkite/areas/bad.yaml": "steps: [\n"})
    code, out, err = call("generate", "--strict", changed="engine/a.py\n")
    assert (code, out) == (2, "")
    assert ".buildkite/areas/bad.yaml" in err


def test_compatible_mode_and_where_it_differs(call):
    changed = "R100\tengine/sample/a.py\tdocs/a.md\n"
    code, out, _ = call("select", "--mode", "compatible", "--json", changed=changed)
    assert (code, json.loads(out)["docs_only"]) == (3, True)
    code, out, _ = call("select", "--explain-difference", "--json", changed=changed)
    record = json.loads(out)
    assert code == 0
    assert "sampler" in record["selected"]
    kinds = {difference["key"]: difference["kind"] for difference in record["differences"]}
    assert kinds["sampler"] == "old-side"
    code, out, _ = call("select", "--explain-difference", changed=changed)
    assert "vLLM's rule does not see the old side of a rename" in out


def test_labels_keys_and_tiers(call):
    code, out, _ = call("select", "--label", "ready-run-all-tests", "--json", changed="docs/a.md\n")
    assert (code, len(json.loads(out)["selected"])) == (0, 9)
    code, out, _ = call("select", "--tier", "merge", "--json", changed="engine/a.py\n")
    assert json.loads(out)["blocked"] == ["large"]
    code, _, err = call("select", "--key", "lrge", changed="engine/a.py\n")
    assert code == 2
    assert "did you mean 'large'" in err


@pytest.mark.parametrize(
    ("command", "key", "words"),
    [
        pytest.param("explain", "sampler", "declared-dependency", id="explain"),
        pytest.param("why-not", "large", "--tier nightly", id="why not, later tier"),
        pytest.param("why-not", "sampler", "does run", id="why not, but it runs"),
        pytest.param("why-not", "undeclared", "declares none", id="why not, undeclared"),
    ],
)
def test_explanations(call, command, key, words):
    code, out, _ = call(command, key, changed="engine/sample/a.py\n")
    assert code == 0
    assert words in out


def test_changes_and_definitions_from_git(call, tree):
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
    git("checkout", "-q", "-b", "other")
    (tree / ".buildkite/areas/areas.yaml").write_text("group: Areas\nsteps: []\n")
    git("commit", "-qam", "three")
    where = ["--definitions", tree, "--git", "HEAD~2..HEAD~1"]
    code, out, _ = call("diff", "HEAD~1", "--json", *where)
    jobs = {change["key"]: change for change in json.loads(out)["jobs"]}
    assert code == 0
    assert jobs["sampler"]["before"] == "run"
    assert jobs["sampler"]["after"] is None
    assert call("diff", "HEAD~1", "--exit-code", *where)[0] == 6
    code, out, _ = call("diff", "HEAD", "--exit-code", *where)
    assert (code, out) == (0, "the same jobs and the same steps as HEAD\n")
    code, out, err = call("diff", "nowhere", *where)
    assert (code, out) == (2, "")
    assert "nowhere" in err
    code, out, err = call("select", "--definitions", tree, "--git", "0123abcd..HEAD")
    assert (code, out) == (2, "")
    assert "0123abcd" in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["select"], "say what changed", id="nothing given"),
        pytest.param(
            ["select", "--example", "docs", "--definitions", ".", "--engine-version", "0.25.0"],
            "in one way",
            id="two definitions",
        ),
        pytest.param(
            ["select", "--example", "docs", "--tier", "nightlyy"], "nightly", id="no tier"
        ),
        pytest.param(["select", "--frob"], "--frob", id="unknown flag"),
        pytest.param(
            ["select", "--example", "docs", "--changes", "x"], "in one way", id="two changes"
        ),
        pytest.param(["select", "--example", "dcs"], "did you mean 'docs'", id="unknown example"),
        pytest.param(["select", "--example", "docs", "--definitions", "/nowhere"], "/nowhere"),
        pytest.param(
            ["select", "--git", "a..b", "--engine-version", "0.25.0"],
            "--checkout",
            id="git without a checkout",
        ),
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
    result = decide(DecideRequest.from_source(source, changes(*load_example("sampler"))))
    assert (result.counts.selected, result.counts.jobs, result.counts.groups) == (69, 265, 36)
    assert "vllm/v1/sample/sampler.py" in (source.files or ())
    assert result.problems == ()


def test_another_gauntlet_is_asked_to_replay_the_same_inputs(call):
    same = f"{sys.executable} -m gauntlet"
    code, out, _ = call("diff", "--gauntlet", same, "--exit-code", changed="engine/sample/a.py\n")
    assert (code, out) == (0, f"the same jobs and the same steps as {same}\n")
    code, _, err = call("diff", "--gauntlet", "false", changed="setup.py\n")
    assert code == 7
    assert "could not replay" in err
    code, _, err = call("diff", changed="setup.py\n")
    assert code == 2
    assert "--gauntlet" in err


def test_neither_hash_seed_nor_locale_nor_the_order_of_files_gets_into_the_bytes(tmp_path):
    texts = TINY | {".buildkite/areas/z.yaml": "steps:\n- {label: ünïcode, commands: [x]}\n"}
    made = set()
    for number, (order, settings) in enumerate(
        [
            (list(texts), {"PYTHONHASHSEED": "1", "LC_ALL": "C", "PYTHONUTF8": "0"}),
            (list(reversed(texts)), {"PYTHONHASHSEED": "2", "LC_ALL": "C.UTF-8"}),
            (
                list(texts),
                {"PYTHONHASHSEED": "3", "PYTHONIOENCODING": "latin-1", "TZ": "Asia/Tokyo"},
            ),
        ]
    ):
        root = write_tree(tmp_path / str(number), {path: texts[path] for path in order})
        line = [sys.executable, "-m", "gauntlet", "pipelines", "generate", "--definitions", root]
        line += ["--nightly", "--artifacts", tmp_path / f"out-{number}"]
        env = {key: value for key, value in os.environ.items() if key != "LANG"}
        done = subprocess.run(
            list(map(str, line)), env=env | settings, capture_output=True, check=True
        )
        files = sorted((tmp_path / f"out-{number}").iterdir())
        made.add((done.stdout, *(path.read_bytes() for path in files)))
    assert len(made) == 1
    assert "ünïcode".encode() in next(iter(made))[0]


def test_a_build_for_one_job_runs_it_alone(call, monkeypatch):
    """A probe at Buildkite says in its environment which job it is about."""
    monkeypatch.setenv("GAUNTLET_ONLY_JOB", "large")
    code, out, _ = call("select", "--json", changed="engine/a.py\n")
    asked = call("select", "--json", "--key", "large", changed="engine/a.py\n")
    assert (code, json.loads(out)["selected"]) == (0, json.loads(asked[1])["selected"])
    assert "large" in json.loads(out)["selected"]
    assert "sampler" not in json.loads(out)["selected"]
