import pytest
from unit.pipelines.factories import TINY, request

from gauntlet.pipelines.changes import ChangedFile
from gauntlet.pipelines.decide import decide

BROKEN = TINY | {
    ".buildkite/areas/broken.yaml": "group: Areas\nsteps:\n- label: Odd\n  command: [x]\n",
    ".buildkite/areas/device.yaml": "group: Areas\nsteps:\n"
    "- {label: Lost, device: h20, commands: [x]}\n",
}


@pytest.mark.parametrize(
    ("name", "changed", "jobs"),
    [
        pytest.param("one-area", ["engine/sample/top.py"], TINY, id="one area"),
        pytest.param("run-all", ["setup.py"], TINY, id="run all"),
        pytest.param("docs-only", ["docs/a.md"], TINY, id="docs only"),
        pytest.param("broken", ["brand/new.py"], BROKEN, id="broken definitions"),
        pytest.param(
            "rename",
            [ChangedFile(path="docs/x.py", status="R", old_path="engine/x.py")],
            TINY,
            id="rename into docs",
        ),
    ],
)
def test_pipeline_and_selection(golden, name, changed, jobs):
    result = decide(request(*changed, jobs=jobs))
    assert golden(f"pipelines/{name}.pipeline.yaml", result.pipeline_yaml)
    assert golden(f"pipelines/{name}.selection.json", result.selection_json())
