import json

import pytest
from unit.pipelines.factories import TINY, request, write_tree

from gauntlet.core.errors import ConfigError
from gauntlet.pipelines.decide import DecideRequest, decide
from gauntlet.pipelines.outputs import write_artifacts
from gauntlet.pipelines.sources import open_source

NAMES = ["annotation.md", "parameters.json", "pipeline.yaml", "selection.json"]


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param(None, id="sound"),
        pytest.param(TINY | {".buildkite/areas/x.yaml": "a: [\r\n"}, id="broken file"),
        pytest.param(TINY | {".buildkite/areas/x.yaml": "\udcff"}, id="not UTF-8"),
    ],
)
def test_a_replay_gives_the_same_bytes(tmp_path, jobs):
    first = write_artifacts(decide(request("engine/sample/a.py", jobs=jobs)), tmp_path / "a")
    again = decide(DecideRequest.from_parameters(tmp_path / "a" / "parameters.json"))
    second = write_artifacts(again, tmp_path / "b")
    assert sorted(path.name for path in first) == NAMES
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_artifacts_hold_no_path_of_the_machine(tmp_path):
    root = write_tree(tmp_path / "tree")
    made = decide(DecideRequest.from_source(open_source(root), request("engine/a.py").changes))
    for path in write_artifacts(made, tmp_path / "out"):
        assert str(tmp_path) not in path.read_text()


def test_altered_parameters_are_refused(tmp_path):
    write_artifacts(decide(request("engine/a.py")), tmp_path)
    path = tmp_path / "parameters.json"
    path.write_text(path.read_text().replace("pytest large", "pytest small"))
    with pytest.raises(ConfigError, match="does not match its sha256"):
        DecideRequest.from_parameters(path)


def test_counts_and_summary():
    result = decide(request("engine/sample/a.py"))
    counts = result.counts
    assert (counts.selected, counts.jobs, counts.groups, counts.changed_files) == (7, 9, 2, 1)
    summary = [(reason.rule, reason.jobs) for reason in result.summary_reasons()]
    assert summary == [("declared-dependency", 3), ("needed-by", 3), ("image-check", 1)]
    assert sum(reason.jobs for reason in result.summary_reasons()) == counts.selected


def test_selection_json_is_sorted_and_complete():
    record = json.loads(decide(request("engine/sample/a.py")).selection_json())
    keys = [entry["key"] for entry in record["jobs"]]
    assert keys == sorted(keys)
    assert record["counts"] == {"jobs": 9, "selected": 7, "blocked": 1, "groups": 2}
    assert record["selected"] == [e["key"] for e in record["jobs"] if e["decision"] == "run"]
    assert all(entry["rule"] and entry["reasons"] for entry in record["jobs"])
