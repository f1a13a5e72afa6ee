import time

import pytest
from unit.pipelines.factories import TINY, changes, definitions, job, make_definitions

from gauntlet.pipelines.changes import ChangedFile
from gauntlet.pipelines.definitions.job import Tier
from gauntlet.pipelines.selection import select

AUTOMATIC = {
    "image-build",
    "image-build-smoke",
    "image-build-amd",
    "ensure-ci-base-amd",
    "sampler",
    "amd-sampler",
    "engine-2-gpus",
    "undeclared",
}
SAMPLER = {
    "sampler",
    "amd-sampler",
    "engine-2-gpus",
    "image-build",
    "image-build-smoke",
    "image-build-amd",
    "ensure-ci-base-amd",
}


def choose(*items, **options):
    return select(definitions(), changes(*items), **options)


@pytest.mark.parametrize(
    ("changed", "selected"),
    [
        pytest.param(["engine/sample/top.py"], SAMPLER, id="declared dependency"),
        pytest.param(
            [ChangedFile(path="engine/sample/top.py", status="D")], SAMPLER, id="only a deletion"
        ),
        pytest.param(
            ["engine/sample/experimental/x.py"],
            {"engine-2-gpus", "image-build", "image-build-smoke"},
            id="excluded for one job",
        ),
        pytest.param(["setup.py"], AUTOMATIC, id="run all"),
        pytest.param(["csrc/cpu/x.cpp"], AUTOMATIC, id="run-all exclusion leaves a file unowned"),
        pytest.param(["brand/new.py"], AUTOMATIC, id="unowned file"),
        pytest.param([".buildkite/ci_config.yaml"], AUTOMATIC, id="the configuration itself"),
        pytest.param(
            [".buildkite/areas/areas.yaml"], AUTOMATIC - {"x"}, id="definition of every area job"
        ),
        pytest.param(
            ["tests/v1/sample/test_a.py"], SAMPLER - {"engine-2-gpus"}, id="test of a job"
        ),
        pytest.param(["tests/engine/test_slow.py"], AUTOMATIC, id="ignored test is unowned"),
        pytest.param(["docs/a.md", "README.md"], set(), id="documentation"),
        pytest.param(["LICENSE"], set(), id="inert"),
        pytest.param([], set(), id="no change"),
        pytest.param(
            [ChangedFile(path="docs/plot.py", status="R", old_path="engine/plot.py")],
            {"engine-2-gpus", "image-build", "image-build-smoke"},
            id="rename into docs",
        ),
        pytest.param(
            [ChangedFile(path="docs/b.md", status="R", old_path="docs/a.md")],
            set(),
            id="rename inside docs",
        ),
        pytest.param(["docs/a.md", "setup.py"], AUTOMATIC, id="docs and code"),
        pytest.param(["csrc/README.md"], AUTOMATIC, id="run-all patterns come before docs"),
    ],
)
def test_what_a_change_selects(changed, selected):
    assert set(choose(*changed).selected) == selected


@pytest.mark.parametrize(
    ("changed", "key", "rule", "evidence", "path"),
    [
        pytest.param(
            "engine/sample/a.py",
            "sampler",
            "declared-dependency",
            "engine/sample/a.py",
            ("engine/sample/a.py", "engine/sample/", "sampler"),
            id="declared dependency",
        ),
        pytest.param(
            "engine/x.py",
            "image-build",
            "needed-by",
            "engine-2-gpus",
            ("engine/x.py", "engine", "engine-2-gpus", "image-build"),
            id="image build",
        ),
        pytest.param(
            "engine/x.py",
            "image-build-amd",
            "image-not-needed",
            "",
            ("image-build-amd",),
            id="image that nobody needs",
        ),
        pytest.param("csrc/a.cu", "sampler", "run-all", "csrc/a.cu", None, id="run all"),
        pytest.param("csrc/a.cu", "large", "optional", "csrc/a.cu", None, id="optional"),
        pytest.param("engine/x.py", "undeclared", "no-dependencies", "", None, id="undeclared"),
        pytest.param("engine/x.py", "sampler", "no-match", "", None, id="no match"),
        pytest.param(
            "engine/sample/experimental/x.py",
            "sampler",
            "excluded-file",
            "engine/sample/experimental/x.py",
            None,
            id="excluded",
        ),
        pytest.param("new/x.py", "sampler", "unowned-file", "new/x.py", None, id="unowned"),
        pytest.param("docs/a.md", "sampler", "docs-only", "docs/a.md", None, id="docs"),
        pytest.param("LICENSE", "sampler", "inert-files", "LICENSE", None, id="inert"),
        pytest.param(
            "engine/x.py",
            "image-build-smoke",
            "image-check",
            "image-build",
            None,
            id="check of an image",
        ),
    ],
)
def test_every_decision_says_why(changed, key, rule, evidence, path):
    decision = choose(changed).by_key[key]
    assert (decision.rule, decision.evidence) == (rule, evidence)
    assert path is None or decision.path == path
    assert decision.reasons[0].text


def test_nightly_runs_everything_with_or_without_changes():
    assert len(choose(nightly=True).selected) == 9
    nightly = choose("docs/a.md", nightly=True)
    assert len(nightly.selected) == 9
    assert not nightly.docs_only


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        pytest.param(["docs/a.md"], True, id="docs"),
        pytest.param(["LICENSE"], False, id="inert, but no documentation"),
        pytest.param([], False, id="nothing"),
        pytest.param(["docs/a.md", "engine/a.py"], False, id="docs and code"),
    ],
)
def test_docs_only(changed, expected):
    assert choose(*changed).docs_only is expected


def test_one_reason_for_each_rule_and_entry():
    found = choose("engine/sample/a.py", "engine/sample/b.py", "tests/v1/sample/t.py")
    reasons = found.by_key["sampler"].reasons
    assert [reason.rule for reason in reasons] == ["changed-test", "declared-dependency"]
    assert "(and 1 more)" in reasons[1].text


def test_a_broken_job_runs_unless_nothing_can_be_affected():
    broken = definitions(TINY | {".buildkite/areas/bad.yaml": "a: [\n"})
    key = "broken-buildkite-areas-bad-yaml"
    assert select(broken, changes("engine/x.py")).by_key[key].rule == "broken-definition"
    assert not select(broken, changes("docs/x.md")).by_key[key].runs


def test_a_needed_optional_job_runs():
    jobs = make_definitions(
        job("user", depends_on=("tool",), source_dependencies=("v",)),
        job("tool", tier=Tier.NIGHTLY),
    )
    assert select(jobs, changes("v/a")).selected == ("tool", "user")


@pytest.mark.parametrize(
    ("entry", "path", "owned"),
    [
        pytest.param("v/a", "v/a", True, id="the file"),
        pytest.param("v/a/", "v/a/b", True, id="below, with a slash"),
        pytest.param("v/a", "v/ab", False, id="same beginning"),
        pytest.param("v/a.py", "v/a.pyi", False, id="longer suffix"),
        pytest.param("", "v/a", False, id="empty entry owns nothing"),
        pytest.param("/", "v/a", False, id="a bare slash owns nothing"),
    ],
)
def test_entries_match_whole_path_parts(entry, path, owned):
    jobs = make_definitions(job("a", source_dependencies=(entry,)), job("b"))
    rule = select(jobs, changes(path)).by_key["a"].rule
    assert (rule == "declared-dependency") is owned


def test_a_run_all_pattern_that_is_no_regex_is_plain_text():
    jobs = make_definitions(job("a"), run_all=("csrc/(",))
    assert select(jobs, changes("csrc/(x")).by_key["a"].rule == "run-all"


def test_hundreds_of_jobs_and_files_are_quick():
    jobs = [
        job(
            f"job-{n}",
            source_dependencies=tuple(f"engine/part{(n + i) % 60}/" for i in range(8)),
            commands=(f"pytest part{n % 60}",),
            working_dir="/vllm-workspace/tests",
        )
        for n in range(500)
    ]
    changed = changes(*(f"engine/part{n % 60}/deep/er/file{n}.py" for n in range(100)))
    best = min(_timed(make_definitions(*jobs), changed) for _ in range(5))
    # The target is 50 ms; machines that run tests are slower and shared.
    assert best < 0.25


def _timed(jobs, changed):
    start = time.perf_counter()
    select(jobs, changed)
    return time.perf_counter() - start
