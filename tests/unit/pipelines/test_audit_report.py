import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from unit.pipelines.audit_factories import TREE, area, request, step

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.pipelines.audit.baseline import (
    baseline_text,
    compare,
    load_baseline,
    write_baseline,
)
from gauntlet.pipelines.audit.model import Finding, Identity
from gauntlet.pipelines.audit.registry import RULES, choose
from gauntlet.pipelines.audit.report import finding_line, record, remark_lines, report_lines
from gauntlet.pipelines.audit.run import audit

TEXT = area(
    step("one", source_file_dependencies="[vllm/gone, vllm/a]"),
    step("two", commands="[pytest a b]", source_file_dependencies="[vllm/lost, tests]"),
)
ALL = choose([], timings=False)
DEAD = choose(["dead-entry"], timings=False)
# YAML holds no surrogates, no control characters and not these two.
names = st.text(
    st.characters(blacklist_categories=["Cs", "Cc"], blacklist_characters="\ufffe\uffff"),
    max_size=20,
)
identities = st.builds(Identity, st.sampled_from(sorted(RULES)), names, names, names)


def report(text=TEXT, rules=DEAD, **options):
    return audit(request(text, **options), rules)


def finding(subject="s", rule="dead-entry", line=1):
    return Finding(rule=rule, file="f", line=line, job="j", subject=subject, message="m")


# The report


def test_findings_are_grouped_by_rule_and_summed_up():
    assert list(report_lines(report())) == [
        "dead-entry (2): entries that match no file",
        "  .buildkite/areas/one.yaml:8: one: vllm/gone matches no file",
        "  .buildkite/areas/one.yaml:13: two: vllm/lost matches no file",
        "",
        "2 findings by 1 of 1 rules, in 2 jobs and 11 files",
    ]


def test_a_sound_pipeline_says_so():
    sound = report(area(step(source_file_dependencies="[vllm]")))
    assert list(report_lines(sound)) == ["no findings in 1 jobs and 11 files"]
    assert list(remark_lines(sound)) == ["note: timeout-far was not checked: it needs --timings"]


@pytest.mark.parametrize("width", [80, 100])
def test_lines_fit_a_terminal(width):
    lines = list(report_lines(report(rules=ALL), width=width))
    shown = "\n".join(lines).split("\n")
    assert max(map(len, shown)) <= width
    assert " ".join(shown).split() == " ".join(report_lines(report(rules=ALL))).split()


@pytest.mark.parametrize(
    ("item", "line"),
    [
        pytest.param(finding(), "f:1: j: m", id="all"),
        pytest.param(finding(line=None), "f: j: m", id="no line"),
        pytest.param(Finding(rule="r", file="f", subject="s", message="m"), "f: m", id="no job"),
    ],
)
def test_a_finding_reads_like_a_compilers(item, line):
    assert finding_line(item) == line


def test_the_record_of_a_report_has_no_verdict():
    assert record(report().findings) == {
        "findings": [
            {
                "rule": "dead-entry",
                "file": ".buildkite/areas/one.yaml",
                "line": line,
                "job": job,
                "subject": subject,
                "message": f"{subject} matches no file",
                "new": None,
            }
            for line, job, subject in ((8, "one", "vllm/gone"), (13, "two", "vllm/lost"))
        ],
        "counts": {"dead-entry": 2},
        "new": None,
    }


def test_what_was_not_looked_at_is_said():
    others = {"b.yaml": "steps: [\n"}
    text = area(step("a", commands="[bash run.sh]"))
    notes = report(text, ALL, others=others).notes
    assert notes[0] == "b.yaml cannot be read: nothing that it runs is known"
    assert "tests/run.sh" in notes[1]
    assert "timeout-far" in notes[2]
    assert len(notes) == 3


def test_the_list_of_another_tree_is_refused():
    text = area(step(source_file_dependencies="[engine/a, engine/b, tests]"))
    with pytest.raises(UsageError, match="no engine, below which 2 of 3 entries lie"):
        report(text)
    assert report(text, tree=[*TREE, "engine/a"]).findings


# The baseline


def test_only_what_the_baseline_lacks_is_new_and_shown():
    result = report()
    known = [result.findings[0].identity, Identity("dead-entry", "f", "j", "s")]
    compared = compare(result.findings, known, DEAD)
    assert [item.subject for item in compared.new] == ["vllm/lost"]
    assert compared.fixed == (Identity("dead-entry", "f", "j", "s"),)
    assert list(report_lines(result, compared))[1:] == [
        "  .buildkite/areas/one.yaml:13: two: vllm/lost matches no file",
        "",
        "2 findings, 1 in the baseline, 1 new",
    ]
    assert "fixed, remove from the baseline: dead-entry: f: j: s" in remark_lines(result, compared)
    rows = record(result.findings, compared)
    assert rows["new"] == 1
    assert [row["new"] for row in rows["findings"]] == [False, True]


def test_an_edit_elsewhere_in_the_file_makes_nothing_new():
    known = [item.identity for item in report(rules=ALL).findings]
    moved = report("# a comment\n\n" + TEXT, ALL)
    assert [item.line for item in moved.findings] != [item.line for item in report(TEXT).findings]
    assert compare(moved.findings, known, ALL).new == ()
    assert compare(moved.findings, known, ALL).fixed == ()


def test_entries_of_rules_that_were_not_checked_are_not_fixed():
    known = [Identity("orphan-test", "tests/a", "", "tests/a")]
    assert compare(report().findings, known, DEAD).fixed == ()


@given(st.sets(identities, max_size=6))
def test_a_baseline_survives_writing_and_is_sorted(tmp_path_factory, found):
    path = tmp_path_factory.mktemp("baseline") / "b.json"
    path.write_text(baseline_text(found), encoding="utf-8")
    assert load_baseline(path) == found
    rows = json.loads(path.read_text(encoding="utf-8"))["findings"]
    assert rows == sorted(rows, key=lambda row: tuple(row.values()))
    assert baseline_text(sorted(found, reverse=True)) == baseline_text(found)


def test_a_finding_takes_one_line_of_the_baseline():
    text = baseline_text([Identity("dead-entry", "f", "j", s) for s in "ba"])
    assert text.split("\n")[3] == (
        '  {"rule": "dead-entry", "file": "f", "job": "j", "subject": "a"},'
    )


def test_writing_keeps_entries_of_rules_that_were_not_checked(tmp_path):
    path = tmp_path / "b.json"
    write_baseline(path, [finding("a"), finding("t", "orphan-test")], ALL)
    write_baseline(path, [finding("b")], DEAD)
    assert {(item.rule, item.subject) for item in load_baseline(path)} == {
        ("dead-entry", "b"),
        ("orphan-test", "t"),
    }


def test_a_baseline_may_be_written_by_hand_in_yaml(tmp_path):
    path = tmp_path / "b.yaml"
    entry = {"rule": "dead-entry", "file": "f", "job": "", "subject": "s"}
    path.write_text(yaml.safe_dump({"schema_version": 1, "findings": [entry]}))
    assert load_baseline(path) == {Identity("dead-entry", "f", "", "s")}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "found nothing", id="empty"),
        pytest.param("[1, 2", "YAML", id="cut off"),
        pytest.param('{"schema_version": 2, "findings": []}', "schema_version", id="version"),
        pytest.param('{"schema_version": 1, "finding": []}', "did you mean 'findings'", id="key"),
        pytest.param(
            '{"schema_version": 1, "findings": [\n{"rule": "dead-entri", "file": "f", "job": "", '
            '"subject": "s"}]}',
            "b.json:2: findings[0].rule: there is no such rule (got 'dead-entri'); did you mean "
            "'dead-entry'?",
            id="rule",
        ),
    ],
)
def test_a_baseline_that_is_none_is_refused_and_kept(tmp_path, text, words):
    path = tmp_path / "b.json"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_baseline(path)
    assert words in caught.value.message
    assert "--write-baseline" in str(caught.value.hint)
    with pytest.raises(ConfigError):
        write_baseline(path, [], ALL)
    assert path.read_text() == text
