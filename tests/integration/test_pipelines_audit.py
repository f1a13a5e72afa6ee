import json

import pytest
from unit.pipelines.audit_factories import TREE, area, step
from unit.pipelines.factories import CONFIG, write_tree

from gauntlet.__main__ import run

FILE = ".buildkite/areas/one.yaml"
GONE = step("one", source_file_dependencies="[vllm/a, vllm/gone]", commands="[pytest a b]")
LOST = step("two", source_file_dependencies="[vllm/b, vllm/lost]")


@pytest.fixture
def tree(tmp_path):
    root = write_tree(
        tmp_path / "tree",
        {FILE: area(GONE), ".buildkite/images/images.yaml": "# none\n"},
        CONFIG,
    )
    (root / "FILES.txt").write_text("\n".join([*TREE, ".buildkite/ci_config.yaml"]) + "\n")
    return root


@pytest.fixture
def call(tree, capsys):
    def invoke(*arguments):
        code = run(["pipelines", "audit", "--definitions", str(tree), *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return invoke


def test_a_report_ends_with_0_and_says_so(call):
    code, out, err = call("--rule", "dead-entry")
    assert code == 0
    assert out.split("\n")[:2] == [
        "dead-entry (1): entries that match no file",
        f"  {FILE}:8: one: vllm/gone matches no file",
    ]
    assert "--baseline FILE makes it a gate" in err


def test_json_holds_every_finding_and_the_counts(call):
    code, out, _ = call("--json", "--rule", "dead-entry", "--rule", "uncovered-test")
    record = json.loads(out)
    assert code == 0
    assert set(record) == {"findings", "counts", "new"}
    assert record["counts"] == {"dead-entry": 1, "uncovered-test": 2}
    assert record["new"] is None
    first = record["findings"][0]
    assert {key: first[key] for key in ("rule", "file", "line", "job")} == {
        "rule": "dead-entry",
        "file": FILE,
        "line": 8,
        "job": "one",
    }


def test_a_baseline_lets_only_new_findings_fail(call, tree, tmp_path):
    baseline = tmp_path / "audit.json"
    code, _, err = call("--write-baseline", baseline)
    assert code == 0
    assert f"wrote {baseline}" in err
    code, out, err = call("--baseline", baseline)
    assert code == 0
    assert out.endswith(", 0 new\n")
    assert "error" not in err

    # The second step is new, and the first has been repaired.
    (tree / FILE).write_text("# moved\n" + area(GONE.replace("vllm/gone", "vllm/b"), LOST))
    code, out, err = call("--baseline", baseline)
    assert code == 6
    assert f"  {FILE}:14: two: vllm/lost matches no file" in out.split("\n")
    assert "vllm/gone" not in out
    assert f"fixed, remove from the baseline: dead-entry: {FILE}: one: vllm/gone" in err
    assert "error: 1 finding is not in" in err
    code, out, _ = call("--baseline", baseline, "--json")
    record = json.loads(out)
    assert (code, record["new"]) == (6, 1)
    assert [row["subject"] for row in record["findings"] if row["new"]] == ["vllm/lost"]

    before = baseline.read_text()
    assert call("--write-baseline", baseline)[0] == 0
    assert baseline.read_text() != before
    code, _, err = call("--baseline", baseline)
    assert code == 0
    assert "fixed" not in err


def test_one_rule_can_be_accepted_by_itself(call, tmp_path):
    baseline = tmp_path / "audit.json"
    assert call("--write-baseline", baseline, "--rule", "dead-entry")[0] == 0
    assert call("--baseline", baseline, "--rule", "dead-entry")[0] == 0
    code, out, _ = call("--baseline", baseline)
    assert code == 6
    assert "dead-entry" not in out


def test_timings_add_the_rule_that_needs_them(call, tree, tmp_path):
    (tree / FILE).write_text(area(step("one", timeout_in_minutes="60")))
    timings = tmp_path / "timings.json"
    timings.write_text(json.dumps({"schema_version": 1, "jobs": {"one": [3590.0] * 5}}))
    code, out, err = call("--timings", timings)
    assert code == 0
    assert "one: a limit of 60 min is too tight: 95 % of 5 runs took at most 59.8 min" in out
    assert "timeout-far was not checked" not in err


def test_the_tree_can_be_a_folder(call, tmp_path):
    (tmp_path / "src" / "vllm" / "gone").mkdir(parents=True)
    (tmp_path / "src" / "vllm" / "gone" / "x.py").write_text("")
    code, out, _ = call("--tree", tmp_path / "src", "--rule", "dead-entry")
    assert code == 0
    assert "vllm/a matches no file" in out
    assert "vllm/gone matches" not in out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["--rule", "dead-entri"], "did you mean 'dead-entry'?", id="unknown rule"),
        pytest.param(["--rule", "timeout-far"], "--timings FILE", id="rule without timings"),
        pytest.param(["--tree", "{tmp}/nowhere"], "{tmp}/nowhere", id="missing tree"),
        pytest.param(["--tree", "{tmp}/other.txt"], "the tree has no vllm", id="another tree"),
        pytest.param(["--baseline", "{tmp}/nowhere"], "No such file", id="missing baseline"),
        pytest.param(["--baseline", "{tmp}/bad.json"], "bad.json:2", id="corrupt baseline"),
        pytest.param(["--write-baseline", "{tmp}/bad.json"], "bad.json:2", id="not overwritten"),
        pytest.param(["--timings", "{tmp}/bad.json"], "bad.json:1", id="corrupt timings"),
        pytest.param(["--config", "nope.yaml"], "no pipeline configuration nope.yaml", id="config"),
    ],
)
def test_wrong_usage_exits_2_and_names_what_is_wrong(call, tmp_path, arguments, words):
    (tmp_path / "bad.json").write_text('{"schema_version": ')
    (tmp_path / "other.txt").write_text("engine/a.py\n")
    code, _, err = call(*(each.format(tmp=tmp_path) for each in arguments))
    assert code == 2
    assert words.format(tmp=tmp_path) in err
    assert "Traceback" not in err
    assert (tmp_path / "bad.json").read_text() == '{"schema_version": '


def test_a_folder_without_definitions_is_refused(tmp_path, capsys):
    assert run(["pipelines", "audit", "--definitions", str(tmp_path)]) == 2
    assert "no pipeline configuration .buildkite/ci_config.yaml" in capsys.readouterr().err
