import json
from pathlib import Path

import pytest
from recipe_factory import recipe_data, workload

from gauntlet.__main__ import run
from gauntlet.core.yaml_file import dump_yaml

WORKLOADS = Path(__file__).with_name("workloads")


@pytest.fixture
def call(capsys):
    def run_it(*arguments):
        code = run(["recipes", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run_it


def written(tmp_path, name="one.yaml", **changes):
    path = tmp_path / name
    path.write_text(dump_yaml(recipe_data(**changes)))
    return path


def test_every_problem_of_every_file_is_told_and_good_files_are_named(call, tmp_path):
    bad = written(tmp_path, "bad.yaml", extra=1, workloads=[workload(requests=0)])
    code, out, err = call("lint", bad, "smoke", "nope", tmp_path, tmp_path / "none.yaml")
    assert code == 2
    assert out == "smoke: ok\n"
    for expected in (
        "extra: unknown key",
        "requests: ",
        "unknown recipe 'nope'",
        "Is a directory",
        "No such file",
    ):
        assert expected in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "found nothing"),
        ("# only a comment\n", "found nothing"),
        ("- 1\n", "found list"),
        ("a: b: c\n", "YAML"),
        ("name: x\n", "description: required key is missing"),
        ("name: x\nname: y\n", "key given twice"),
    ],
)
def test_files_that_are_no_recipe_end_with_2(call, tmp_path, text, expected):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    for command in ("lint", "expand", "explain"):
        code, out, err = call(command, path)
        assert (code, out) == (2, "")
        assert expected in err


def test_warnings_go_to_stderr_and_strict_makes_them_errors(call):
    code, out, err = call("lint", "kimi_k2_5-h200")
    assert (code, out) == (0, "kimi_k2_5-h200: ok\n")
    assert err.startswith("warning: ")
    code, out, err = call("lint", "--strict", "kimi_k2_5-h200")
    assert (code, out) == (2, "")
    assert "not pinned" in err
    code, *_ = call("lint", "--strict", "kimi_k2_5-h200", "--set", f"engine.commit={'c' * 40}")
    assert code == 0


def test_lint_as_json_says_the_same(call):
    code, out, _ = call("lint", "--json", "smoke", "nope")
    assert code == 2
    smoke, nope = json.loads(out)
    assert smoke == {"recipe": "smoke", "problems": [], "warnings": []}
    assert "unknown recipe" in nope["problems"][0]


def test_a_wrong_setting_is_told_once_for_all_files(call):
    code, _, err = call("lint", "smoke", "cpu-smoke", "--set", "workloads.rndom.requests=1")
    assert code == 2
    assert err.count("did you mean 'random'") == 1
    assert call("lint", "smoke", "--set", "x")[0] == 2


def test_expand_is_json_for_programs_and_a_table_on_request(call, tmp_path):
    path = written(tmp_path, sweep=[{"grid": {"workloads.random.requests": [1, 2]}}])
    code, out, _ = call("expand", path, "--set", "repetitions=2")
    plan = json.loads(out)
    assert code == 0
    assert [point["key"] for point in plan["points"]] == ["random/requests=1", "random/requests=2"]
    assert plan["points"][0]["argv"][-2:] == ["--set", "repetitions=2"]
    assert plan["recipe"]["workloads"][0]["deadlines"]["connect_s"] == 5.0
    _, table, _ = call("expand", "--table", path)
    assert f"gauntlet bench run {path} --point random/requests=2" in table
    assert "2 points x 1 repetitions, 3 requests" in table


def test_explain_is_one_page(call):
    code, out, _ = call("explain", "gpt_oss_120b-h200")
    assert code == 0
    for title in ("What is measured", "On what", "What was checked", "What decides", "Why so"):
        assert f"\n{title}\n" in out


def test_list_can_be_narrowed(call):
    _, out, _ = call("list", "--json", "--nightly", "--tag", "mi300x")
    assert [each["name"] for each in json.loads(out)] == ["kimi_k2_5-mi300x", "minimax_m2_5-mi300x"]
    assert "simulator-sweep" in call("list")[1]


def test_import_writes_a_recipe_and_tells_what_it_lost(call, tmp_path):
    target = tmp_path / "made.yaml"
    code, out, err = call(
        "import", WORKLOADS / "large_model.yaml", "--owner", "me", "--out", target
    )
    assert (code, out) == (0, "")
    assert "warning: " in err
    assert "team: unknown key" in err
    assert call("lint", target)[0] == 0
    code, out, _ = call("import", WORKLOADS / "large_model.yaml", "--owner", "me")
    assert out == target.read_text()
    code, out, err = call("import", "--strict", WORKLOADS / "large_model.yaml")
    assert (code, out) == (2, "")


def test_import_of_what_is_no_workload_ends_with_2(call, tmp_path):
    assert call("import", tmp_path / "none.yaml")[0] == 2
    code, _, err = call("import", written(tmp_path))
    assert code == 2
    assert "gpu: required key is missing" in err
