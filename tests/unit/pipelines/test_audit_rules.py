from pathlib import Path

import pytest
from unit.pipelines.audit_factories import ONE, TREE, area, audited, findings, found, step
from unit.pipelines.factories import CONFIG

from gauntlet.core.errors import UsageError
from gauntlet.pipelines.audit.registry import RULES, choose


def deps(*entries: str) -> str:
    return "[" + ", ".join(f'"{entry}"' for entry in entries) + "]"


# Entries


@pytest.mark.parametrize(
    ("entry", "dead", "words"),
    [
        pytest.param("vllm/a/", False, "", id="folder"),
        pytest.param("vllm/a/x.py", False, "", id="file"),
        pytest.param("vllm/a/x", True, "did you mean vllm/a/x.py?", id="without its suffix"),
        pytest.param("tests/b/help", True, "tests/b/helper.py only begins", id="half a name"),
        pytest.param("old/z.py", True, "did it move to vllm/b/z.py?", id="moved"),
        pytest.param("vllm/gone.py", True, "matches no file", id="gone"),
        pytest.param("vllm/*.py", True, "matches no file", id="the engine has no wildcards"),
    ],
)
def test_an_entry_that_matches_no_file_is_dead(entry, dead, words):
    found = findings("dead-entry", area(step(source_file_dependencies=deps("vllm/b", entry))))
    assert [(item.job, item.subject) for item in found] == ([("job", entry)] if dead else [])
    if dead:
        assert words in found[0].message
        assert (found[0].file, found[0].line) == (ONE, 8)


def test_each_entry_of_a_block_list_has_its_own_line():
    text = area(step(source_file_dependencies="\n  - vllm/b\n  - gone\n  - vllm/a\n  - lost"))
    assert [item.line for item in findings("dead-entry", text)] == [10, 12]


def test_a_mirror_answers_for_its_own_dead_entries_only():
    text = area(
        step(
            source_file_dependencies=deps("gone"),
            mirror="{amd: {device: mi300_1, source_file_dependencies: [lost, vllm/a]}}",
        )
    )
    assert found("dead-entry", text) == [("job", "gone")]
    assert found("dead-mirror-entry", text) == [("amd-job", "lost")]


@pytest.mark.parametrize(
    ("entries", "dead"),
    [
        pytest.param(["vllm/a", "!vllm/a/x.py"], [], id="takes a file away"),
        pytest.param(["vllm/a/x.py", "!vllm/a"], [], id="takes everything away"),
        pytest.param(["vllm/a", "!vllm/gone"], ["!vllm/gone"], id="no such file"),
        pytest.param(["vllm/a", "!vllm/b"], ["!vllm/b"], id="elsewhere"),
        pytest.param(["!vllm/b"], ["!vllm/b"], id="nothing to take from"),
    ],
)
def test_an_exclusion_must_take_something_away(entries, dead):
    text = area(step(source_file_dependencies=deps(*entries)))
    assert [subject for _, subject in found("dead-exclusion", text)] == dead


def test_an_exclusion_of_a_mirror_may_take_from_its_parent():
    text = area(
        step(
            source_file_dependencies=deps("vllm/a"),
            mirror='{amd: {device: mi300_1, source_file_dependencies: ["!vllm/a/x.py"]}}',
        )
    )
    assert found("dead-exclusion", text) == []


@pytest.mark.parametrize(
    ("entries", "useless"),
    [
        pytest.param(["vllm/a/x.py", "!vllm/a"], ["vllm/a/x.py"], id="before"),
        pytest.param(["!vllm/a", "vllm/a/x.py"], ["vllm/a/x.py"], id="after"),
        pytest.param(["vllm/a", "!vllm/a/x.py"], [], id="a part of it"),
    ],
)
def test_an_exclusion_wins_in_any_order(entries, useless):
    text = area(step(source_file_dependencies=deps(*entries)))
    assert [subject for _, subject in found("excluded-entry", text)] == useless


@pytest.mark.parametrize(
    ("entries", "redundant"),
    [
        pytest.param(["vllm/a", "vllm/a/x.py"], ["vllm/a/x.py"], id="below another"),
        pytest.param(["vllm/a/x.py", "vllm/"], ["vllm/a/x.py"], id="in any order"),
        pytest.param(["vllm/a", "vllm/a/"], ["vllm/a/"], id="the second of two equal ones"),
        pytest.param(["vllm/a", "vllm/b"], [], id="beside each other"),
        pytest.param(["vllm/", "!vllm/a"], [], id="an exclusion is no repetition"),
        pytest.param(["vllm/", "!vllm/a", "!vllm/a/x.py"], ["!vllm/a/x.py"], id="exclusions"),
        pytest.param(["vllm/", "vllm/gone"], [], id="a dead one is said to be dead"),
    ],
)
def test_an_entry_that_another_holds_is_shadowed(entries, redundant):
    text = area(step(source_file_dependencies=deps(*entries)))
    assert [subject for _, subject in found("shadowed-entry", text)] == redundant


def test_a_pattern_that_matches_no_file_is_dead_wherever_it_stands():
    config = CONFIG.replace('"csrc/"', '"csrc/", "setup.cfg"').replace("csrc/cpu/", "cmake/hip")
    items = findings("dead-pattern", area(step()), config=config)
    assert [item.subject for item in items] == ["setup.cfg", "cmake/hip"]
    assert [item.line for item in items] == [3, 4]
    assert items[0].file == ".buildkite/ci_config.yaml"


# Tests


@pytest.mark.parametrize(
    ("command", "entries", "missed"),
    [
        pytest.param("pytest a", ["tests/a"], [], id="covered"),
        pytest.param("pytest a", ["tests/a/test_one.py"], ["tests/a"], id="a part"),
        pytest.param("pytest a/test_one.py b", ["tests/a"], ["tests/b"], id="two targets"),
        pytest.param("pytest a", ["tests", "!tests/a"], ["tests/a"], id="excluded"),
        pytest.param("pytest a --ignore=a/test_two.py", ["tests/a/test_one.py"], [], id="ignored"),
        pytest.param("pytest a -m 'not slow'", ["tests/a/test_one.py"], [], id="an expression"),
        pytest.param("pytest a -m slow", ["vllm"], ["tests/a"], id="an expression, none covered"),
        pytest.param("pytest a/test_*.py", ["vllm"], ["tests/a/test_*.py"], id="wildcard"),
        pytest.param("pytest c", ["vllm"], [], id="no such tests"),
        pytest.param("python3 a/test_one.py", ["vllm"], [], id="not with pytest"),
    ],
)
def test_a_job_must_depend_on_the_tests_that_it_runs(command, entries, missed):
    text = area(step(source_file_dependencies=deps(*entries), commands=f'["{command}"]'))
    assert found("uncovered-test", text) == [("job", target) for target in missed]


def test_what_one_command_ignores_another_may_run():
    commands = "[pytest a --ignore=a/test_two.py, pytest a/test_two.py]"
    text = area(step(source_file_dependencies="[tests/a/test_one.py]", commands=commands))
    assert found("uncovered-test", text) == [("job", "tests/a/test_two.py")]


def test_optional_jobs_are_never_selected_and_so_owe_no_cover():
    text = area(step(source_file_dependencies="[vllm]", commands="[pytest a]", optional="true"))
    assert found("uncovered-test", text) == []


def test_a_mirror_does_not_repeat_what_its_parent_misses():
    text = area(
        step(
            source_file_dependencies="[vllm]",
            commands="[pytest a]",
            mirror="{amd: {device: mi300_1, commands: [pytest a, pytest b]}}",
        )
    )
    assert found("uncovered-test", text) == [("job", "tests/a"), ("amd-job", "tests/b")]


def test_a_finding_stands_at_the_command_that_names_the_test():
    commands = "\n  - x\n  - pytest a\n  - pytest b"
    items = findings("uncovered-test", area(step(commands=commands)))
    assert [(item.subject, item.line) for item in items] == [("tests/a", 9), ("tests/b", 10)]


@pytest.mark.parametrize(
    ("commands", "orphans"),
    [
        pytest.param("[pytest .]", [], id="everything runs"),
        pytest.param("[pytest a]", ["tests/b/test_three.py"], id="a folder of one file"),
        pytest.param("[pytest b]", ["tests/a"], id="a whole folder"),
        pytest.param("[x]", ["tests"], id="nothing runs"),
        pytest.param(
            "[pytest b, pytest a/test_one.py]", ["tests/a/test_two.py"], id="a single file"
        ),
    ],
)
def test_tests_that_nothing_runs_are_orphans(commands, orphans):
    items = findings("orphan-test", area(step(commands=commands)))
    assert [(item.file, item.job, item.line) for item in items] == [(o, "", None) for o in orphans]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param(".buildkite/test-amd.yaml", "steps:\n- commands: [pytest a]\n", id="legacy"),
        pytest.param(
            ".github/workflows/a.yml",
            "jobs: {a: {steps: [{run: 'cd tests && pytest a'}]}}\n",
            id="workflow",
        ),
        pytest.param(
            "intel.yaml", area(step(mirror="{amd: {commands: [pytest a]}}")), id="a mirror"
        ),
    ],
)
def test_another_pipeline_saves_a_test_from_being_an_orphan(path, text):
    own = area(step(commands="[pytest b]"))
    assert found("orphan-test", own) == [("", "tests/a")]
    assert found("orphan-test", own, others={path: text}) == []


def test_an_orphan_names_the_command_that_was_commented_out():
    (item,) = findings("orphan-test", area(step(commands="[pytest b]")) + "# - pytest -v a\n")
    assert item.message == f"2 test files, none is run; commented out at {ONE}:8"


def test_tests_beside_a_script_that_is_not_at_hand_are_not_judged():
    tree = (*TREE, "tests/c/run.sh", "tests/c/test_four.py")
    text = area(step(commands="[pytest a b, bash c/run.sh]"))
    assert found("orphan-test", text, tree=tree) == []
    scripts = {"tests/c/run.sh": "echo\n"}
    assert found("orphan-test", text, tree=tree, scripts=scripts) == [("", "tests/c/test_four.py")]


# Steps


@pytest.mark.parametrize(
    ("comment", "subjects"),
    [
        pytest.param('# - label: "A b" # why\n#   commands: [x]\n', ["A b"], id="without a key"),
        pytest.param("  # - label: A\n  #   key: a\n", ["a"], id="indented"),
        pytest.param("#- key: a\n#  label: A\n", ["a"], id="close to the sign"),
        pytest.param(
            "# - label: A\n#   key: a\n# - label: B\n#   key: b\n", ["a", "b"], id="two at once"
        ),
        pytest.param("# - label: A\n#   key: a\n\n#   key: b\n", ["a"], id="ends with the comment"),
        pytest.param("# - label: what people see\n", [], id="prose"),
        pytest.param("# - pytest a\n#   - label: x\n", [], id="a command"),
        pytest.param("#   source_file_dependencies:\n#   - vllm/a\n", [], id="entries"),
    ],
)
def test_steps_that_became_comments(comment, subjects):
    items = findings("commented-out-step", area(step()) + comment)
    assert [item.subject for item in items] == subjects


def test_a_commented_out_step_says_why():
    text = area(step()) + "# Disabled until b is locked.\n# - label: A\n#   key: a\n"
    (item,) = findings("commented-out-step", text)
    assert (item.line, item.job) == (9, "a")
    assert item.message == "commented out: Disabled until b is locked."


@pytest.mark.parametrize(
    ("rule", "fields", "job", "subject"),
    [
        pytest.param("dangling-dependency", {"depends_on": "[nowhere]"}, "job", "'nowhere'"),
        pytest.param("circular-dependency", {"depends_on": "[job]"}, "job", "job"),
        pytest.param("broken-definition", {"timeout_in_minutes": "soon"}, "job", "timeout"),
        pytest.param("unknown-device", {"device": "h2000"}, "job", "h2000"),
        pytest.param("missing-key", {"key": ""}, "job", "job"),
    ],
)
def test_a_definition_that_does_not_hang_together(rule, fields, job, subject):
    text = area(step("good"), step(**fields))
    (item,) = findings(rule, text)
    assert (item.file, item.job) == (ONE, job)
    assert subject in item.subject
    assert item.line in range(8, 13)
    structure = list(RULES)[: list(RULES).index("missing-key") + 1]
    assert [name for name in structure if found(name, text)] == [rule]


def test_a_key_that_two_jobs_have():
    (item,) = findings("duplicate-key", area(step(), step()))
    assert (item.job, item.subject, item.line) == ("job-2", "'job'", 8)
    assert "already used" in item.message


@pytest.mark.parametrize("order", [("a", "b", "c"), ("c", "a", "b")], ids=str)
def test_a_cycle_is_told_once_and_in_the_same_words(order):
    following = {"a": "b", "b": "c", "c": "a"}
    text = area(*(step(key, depends_on=f"[{following[key]}]") for key in order))
    assert [subject for _, subject in found("circular-dependency", text)] == ["a -> b -> c"]


def test_a_mirror_does_not_repeat_its_parents_unknown_device():
    text = area(step(device="h2000", mirror="{amd: {depends_on: []}}"))
    assert found("unknown-device", text) == [("job", "h2000")]


# Folders


def watchers(count: int, *entries: str, **fields: str) -> list[str]:
    """Steps that depend on ``entries``."""
    name = "-".join([*entries, *fields]).replace("/", "").replace("!", "not-")
    listed = deps(*entries)
    return [
        step(f"{name}-{index}", source_file_dependencies=listed, **fields) for index in range(count)
    ]


@pytest.mark.parametrize(
    ("steps", "folders"),
    [
        pytest.param(watchers(10, "vllm/"), [], id="all watched"),
        pytest.param(watchers(10, "vllm/a"), ["vllm/b"], id="one is not"),
        pytest.param(watchers(10, "vllm/", "!vllm/b"), ["vllm/b"], id="excluded"),
        pytest.param(watchers(10, "tests"), ["vllm"], id="none is, told once"),
        pytest.param(watchers(9, "vllm/a"), [], id="too few jobs to tell"),
        pytest.param(
            watchers(10, "vllm/a") + watchers(1, "vllm/b", optional="true"),
            ["vllm/b"],
            id="an optional job does not run",
        ),
        pytest.param(
            [*watchers(10, "vllm/a"), step("image-build-x", source_file_dependencies="[vllm/b]")],
            ["vllm/b"],
            id="an image build tests nothing",
        ),
        pytest.param(
            watchers(10, "vllm/a") + watchers(1, "vllm/b", device="mi300_1"),
            ["vllm/b"],
            id="another vendor's job",
        ),
    ],
)
def test_folders_whose_changes_no_job_of_a_vendor_notices(steps, folders):
    # csrc/ is a run-all pattern, but for csrc/cpu/, which nothing here names.
    items = findings("unwatched-folder", area(*steps), tree=[p for p in TREE if "cpu" not in p])
    assert [(item.file, item.subject) for item in items] == [(f, "nvidia") for f in folders]


def test_files_right_in_a_folder_count_apart_from_its_subfolders():
    tree = (*TREE, "vllm/top.py")
    (item,) = findings(
        "unwatched-folder",
        area(*watchers(10, "vllm/a", "vllm/b", "csrc", "!vllm/top.py")),
        tree=tree,
    )
    assert (item.file, item.job) == ("vllm", "")
    assert item.message.startswith("no nvidia test job runs for a change to the 1 file right in it")


def test_run_all_exclusions_leave_a_folder_unwatched():
    items = findings("unwatched-folder", area(*watchers(10, "vllm")))
    assert [item.file for item in items] == ["csrc/cpu"]


# Mirrors


@pytest.mark.parametrize(
    ("own", "mirror", "subjects"),
    [
        pytest.param("[pytest a]", "commands: [pytest a]", [], id="the same"),
        pytest.param("[pytest a]", "commands: [pytest -x a -k 'not b']", [], id="other options"),
        pytest.param(
            "[pytest a]", "commands: [pytest a/test_one.py]", ["tests/a/test_two.py"], id="less"
        ),
        pytest.param("[pytest a]", "commands: [pytest a b]", ["tests/b/test_three.py"], id="more"),
        pytest.param("[pytest a]", "commands: [pytest a rocm]", [], id="for its hardware"),
        pytest.param("[pytest cuda]", "commands: [x]", [], id="for the parent's hardware"),
        pytest.param("[pytest d]", "commands: [pytest d/rocm]", [], id="counterpart"),
        pytest.param("[pytest a]", "optional: true", ["optional"], id="optional"),
        pytest.param("[pytest a]", "timeout_in_minutes: 20", ["timeout_in_minutes"], id="time"),
        pytest.param("[pytest a]", "timeout_in_minutes: 30", [], id="less time"),
        pytest.param(
            "[pytest a]",
            "timeout_in_minutes: 20, commands: [pytest a/test_one.py]",
            ["tests/a/test_two.py"],
            id="less time for fewer tests",
        ),
    ],
)
def test_what_a_mirror_does_otherwise_than_its_parent(own, mirror, subjects):
    more = ("rocm/test_x.py", "cuda/test_y.py", "d/test_five.py", "d/rocm/test_five.py")
    tree = (*TREE, *(f"tests/{path}" for path in more))
    text = area(
        step(
            commands=own,
            device="h100",
            timeout_in_minutes="60",
            mirror=f"{{amd: {{device: mi300_1, {mirror}}}}}",
        )
    )
    assert found("mirror-drift", text, tree=tree) == [("amd-job", subject) for subject in subjects]


def test_a_test_that_another_job_on_the_hardware_runs_is_no_drift():
    mirror = "{amd: {device: mi300_1, commands: [pytest a/test_one.py]}}"
    other = step("other", device="mi300_1", commands="[pytest a/test_two.py]")
    text = area(step(commands="[pytest a]", device="h100", mirror=mirror), other)
    assert found("mirror-drift", text) == []


def test_on_the_same_hardware_any_other_test_is_drift():
    mirror = "{torch_nightly: {commands: [pytest a/test_one.py]}}"
    other = step("other", device="h100", commands="[pytest a/test_two.py]")
    text = area(step(commands="[pytest a]", device="h100", mirror=mirror), other)
    assert found("mirror-drift", text) == [("torch-nightly-job", "tests/a/test_two.py")]


def test_a_test_that_runs_on_a_processor_too_is_no_drift_of_the_mirror():
    mirror = "{amd: {device: mi300_1, commands: [pytest a b]}}"
    text = area(step(commands="[pytest a]", device="h100", mirror=mirror))
    assert found("mirror-drift", text) == [("amd-job", "tests/b/test_three.py")]
    text += step("other", device="cpu-small", commands="[pytest b]")
    assert found("mirror-drift", text) == []


# Time limits


@pytest.mark.parametrize(
    ("limit", "minutes", "verdict"),
    [
        pytest.param(60, [30] * 5, None, id="fits"),
        pytest.param(60, [48] * 5, None, id="at the edge"),
        pytest.param(60, [49] * 5, "too tight", id="too tight"),
        pytest.param(60, [20] * 95 + [59] * 5, None, id="one run in twenty may be slower"),
        pytest.param(60, [20] * 94 + [59] * 6, "too tight", id="but not more"),
        pytest.param(60, [10] * 5, "too loose", id="too loose"),
        pytest.param(30, [1] * 5, None, id="short limits may be loose"),
        pytest.param(60, [59] * 4, None, id="too few runs"),
    ],
)
def test_a_limit_is_held_against_what_was_measured(limit, minutes, verdict):
    text = area(step(timeout_in_minutes=str(limit)))
    jobs = {"job": [60.0 * each for each in minutes], "unknown": [1.0] * 9}
    assert [subject for _, subject in found("timeout-far", text, jobs=jobs)] == (
        [verdict] if verdict else []
    )


def test_without_a_limit_or_a_measurement_nothing_is_said():
    assert found("timeout-far", area(step()), jobs={"job": [9e9] * 9}) == []
    assert found("timeout-far", area(step(timeout_in_minutes="1"))) == []


# The registry


def test_rules_are_chosen_by_name_and_told_apart():
    assert [rule.name for rule in choose(["orphan-test", "dead-entry"], timings=False)] == [
        "dead-entry",
        "orphan-test",
    ]
    assert set(RULES) - {rule.name for rule in choose([], timings=False)} == {"timeout-far"}
    assert len(choose([], timings=True)) == len(RULES)
    with pytest.raises(UsageError, match="did you mean 'dead-entry'"):
        choose(["dead-entri"], timings=False)
    with pytest.raises(UsageError, match="measured durations"):
        choose(["timeout-far"], timings=False)


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_is_documented(rule):
    page = Path(__file__).resolve().parents[3] / "docs" / "reference" / "audit.md"
    assert f"| `{rule}` | " in page.read_text()


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_calls_its_findings_by_its_name(rule):
    broken = area(
        step("one", source_file_dependencies=deps("gone", "vllm/", "vllm/a", "!vllm/a", "!lost")),
        step("two", key="", device="h2000", commands="[pytest a]"),
        step("two"),
        step("three", depends_on="[three]"),
        step("four", depends_on="[nowhere]"),
        step("five", timeout_in_minutes="soon"),
        step(
            "six",
            timeout_in_minutes="60",
            mirror="{amd: {device: mi300_1, optional: true, source_file_dependencies: [gone]}}",
        ),
        *watchers(10, "vllm/b"),
        "# - label: A\n#   key: a\n",
    )
    config = CONFIG.replace("setup.py", "setup.cfg")
    items = findings(rule, broken, config=config, jobs={"six": [60.0] * 5})
    assert items
    assert {item.rule for item in items} == {rule}
    assert len({item.identity for item in items}) == len(items)


def test_a_file_of_comments_and_a_broken_file_cost_nobody_else_anything():
    texts = {ONE: area(step(source_file_dependencies="[gone]")), "b.yaml": "# x\n", "c.yaml": "["}
    assert found("dead-entry", texts) == [("job", "gone")]
    assert [job for job, _ in found("broken-definition", texts)] == ["broken-c-yaml"]
    assert audited(texts).unread == ()
