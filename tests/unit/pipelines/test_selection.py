from dataclasses import replace

import pytest
from unit.pipelines.factories import TINY, changes, definitions, job, make_definitions, options

from gauntlet.core.errors import UsageError
from gauntlet.pipelines.changes import ChangedFile, ChangeSet
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


def choose(*items, **asked):
    return select(definitions(), changes(*items), options(**asked))


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
        pytest.param("csrc/a.cu", "large", "above-tier", "csrc/a.cu", None, id="later tier"),
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


def test_a_job_of_a_later_tier_that_a_change_concerns_waits_for_a_person():
    found = choose("engine/x.py")
    assert found.blocked == ("large",)
    assert [reason.rule for reason in found.by_key["large"].reasons] == [
        "above-tier",
        "declared-dependency",
    ]
    assert choose("setup.py").blocked == ()


@pytest.mark.parametrize(
    ("tier", "runs"),
    [
        pytest.param(Tier.FAST, {"fast"}, id="fast"),
        pytest.param(Tier.READY, {"fast", "ready"}, id="ready"),
        pytest.param(Tier.MERGE, {"fast", "ready", "merge"}, id="merge"),
        pytest.param(Tier.NIGHTLY, {"fast", "ready", "merge", "nightly"}, id="nightly"),
        pytest.param(Tier.RELEASE, {"fast", "ready", "merge", "nightly", "release"}, id="release"),
    ],
)
def test_a_build_runs_the_jobs_up_to_its_tier(tier, runs):
    jobs = [job(kind.title, tier=kind, source_dependencies=("v",)) for kind in Tier]
    found = select(make_definitions(*jobs), changes("v/a"), options(tier=tier))
    assert set(found.selected) == runs
    assert set(found.selected) | set(found.blocked) == (
        {kind.title for kind in Tier} if not tier.runs_everything else runs
    )


def test_what_only_a_blocked_job_needs_is_blocked_with_it():
    jobs = make_definitions(
        job("image-a", image=True),
        job("image-b", image=True),
        job("user", depends_on=("image-a",), source_dependencies=("v",)),
        job(
            "late",
            tier=Tier.NIGHTLY,
            depends_on=("image-a", "image-b"),
            source_dependencies=("v",),
        ),
    )
    found = select(jobs, changes("v/a"))
    assert found.selected == ("image-a", "user")
    assert found.blocked == ("image-b", "late")
    assert found.by_key["image-b"].rule == "needed-by"


def test_a_label_of_the_pipeline_raises_the_tier_and_runs_everything():
    found = choose("docs/a.md", labels=("ready-run-all-tests", "documentation"))
    assert len(found.selected) == 9
    assert {found.by_key["large"].evidence} == {"label ready-run-all-tests"}
    assert choose("docs/a.md", labels=("documentation",)).selected == ()


def test_jobs_asked_by_key_run_with_what_they_need_and_nothing_else():
    found = choose("engine/x.py", keys=("amd-sampler",))
    assert set(found.selected) == {"amd-sampler", "image-build-amd", "ensure-ci-base-amd"}
    assert found.by_key["amd-sampler"].rule == "explicit-key"
    assert found.by_key["sampler"].rule == "not-asked"
    with pytest.raises(UsageError, match="did you mean 'amd-sampler'"):
        choose("engine/x.py", keys=("amd-samplr",))


def test_run_all_keeps_to_the_tier():
    assert set(choose(run_all=True).selected) == AUTOMATIC


def test_unknown_changes_run_everything_and_say_why():
    found = select(definitions(), ChangeSet(unknown="no base"))
    assert set(found.selected) == AUTOMATIC
    assert "no base" in found.by_key["sampler"].reasons[0].text
    assert found.by_key["sampler"].rule == "unknown-changes"


def test_files_of_another_pipeline_concern_nobody_here():
    jobs = replace(make_definitions(job("a")), elsewhere=(".ci/other", ".ci/*.yaml"))
    for path in (".ci/other/deep/x.yaml", ".ci/legacy.yaml"):
        found = select(jobs, changes(path))
        assert (found.selected, found.by_key["a"].rule) == ((), "other-pipeline")
    mixed = select(jobs, changes(".ci/legacy.yaml", "new/x.py"))
    assert mixed.by_key["a"].evidence == "new/x.py"


def test_the_pipelines_own_configuration_is_not_another_pipelines():
    jobs = replace(make_definitions(job("a")), elsewhere=("c/*.yaml",), config_file="c/c.yaml")
    assert select(jobs, changes("c/c.yaml")).by_key["a"].rule == "changed-config"


def test_a_job_that_always_runs_does_so_for_any_change_that_counts():
    jobs = make_definitions(job("a", always=True), job("b", source_dependencies=("v",)))
    assert select(jobs, changes("v/x")).by_key["a"].rule == "always"
    assert select(jobs, changes("docs/x.md")).selected == ()


def test_jobs_for_other_hardware_are_left_out():
    jobs = make_definitions(
        job("a", hardware_tags=("gfx9",), source_dependencies=("v",)),
        job("b", hardware_tags=("gfx1",), source_dependencies=("v",)),
        job("c", source_dependencies=("v",)),
    )
    found = select(jobs, changes("v/x"), options(hardware="gfx9"))
    assert found.selected == ("a", "c")
    assert found.by_key["b"].rule == "other-hardware"


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(".github/workflows/build.yml", id="inert to all others"),
        pytest.param(".ci/release.yaml", id="another pipeline's"),
    ],
)
def test_what_a_job_asks_for_counts_whoever_else_it_belongs_to(path):
    jobs = make_definitions(job("a", source_dependencies=(path,)), job("b"))
    found = select(replace(jobs, elsewhere=(".ci/*.yaml",)), changes(path))
    assert found.selected == ("a",)
    assert found.by_key["a"].rule == "declared-dependency"
    mixed = select(replace(jobs, elsewhere=(".ci/*.yaml",)), changes(path, "LICENSE", "docs/x.md"))
    assert mixed.selected == ("a",)
