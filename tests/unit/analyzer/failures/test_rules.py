"""The rules that ship, and those of people: sound, reachable, quick, complete."""

import pytest

from gauntlet.analyzer.failures.engine import scan
from gauntlet.analyzer.failures.lint import has_nested_repeats, lint
from gauntlet.analyzer.failures.literals import required_literals
from gauntlet.analyzer.failures.rules import load_rules
from gauntlet.core.errors import ConfigError

RULES = load_rules()
OWN = """
schema_version: 1
owner: us
rules:
  - name: our_gate
    class: infra_machine
    retryable: yes
    pattern: 'gate \\d+ closed'
    example: 'FAILED tests/a.py::test_b - gate 7 closed'
    counter_example: 'gates closed'
"""


def test_there_are_enough_rules_and_every_one_is_sound():
    assert len(RULES.rules) >= 450
    assert [str(fault) for fault in lint(RULES)] == []


@pytest.mark.parametrize("rule", RULES.rules, ids=lambda rule: rule.name)
def test_a_rule_decides_its_example(rule):
    found = scan([rule.model.example.encode()], RULES).findings
    assert found[0].rule.name == rule.name


def test_rules_of_ones_own_come_before_those_that_ship(tmp_path):
    (tmp_path / "own.yaml").write_text(OWN)
    rules = load_rules(tmp_path)
    found = scan([b"FAILED tests/a.py::test_b - gate 7 closed\n"], rules).findings
    assert [finding.rule.name for finding in found][:2] == ["our_gate", "pytest_failed"]
    assert rules.digest != RULES.digest


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param("infra_machine", "infra", "expected 'test_regression'", id="class"),
        pytest.param("closed'\n    ex", "closed('\n    ex", "no regular expression", id="pattern"),
        pytest.param("'gate \\d+ closed'", "'\\d+ +\\d+'", "needles", id="no-literal"),
        pytest.param("our_gate", "pytest_failed", "stands in", id="twice"),
        pytest.param("retryable: yes", "retriable: yes", "did you mean 'retryable'", id="key"),
    ],
)
def test_a_wrong_rule_is_refused_with_what_is_wrong(tmp_path, old, new, says):
    (tmp_path / "own.yaml").write_text(OWN.replace(old, new))
    with pytest.raises(ConfigError, match="own.yaml") as refused:
        load_rules(tmp_path)
    assert says in str(refused.value)


def test_an_empty_folder_of_rules_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="no \\*.yaml file"):
        load_rules(tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param(
            "FAILED tests/a.py::test_b - gate 7 closed", "gate open", "does not match", id="e"
        ),
        pytest.param("'gates closed'", "'gate 8 closed'", "counter-example matches", id="counter"),
        pytest.param("gate \\d+ closed", "gate (\\d+)+ closed", "nested repeats", id="nested"),
        pytest.param("yes\n", "yes\n    priority: 7\n", "where only unknown may stand", id="band"),
        pytest.param(
            "infra_machine\n    retryable: yes\n",
            "flaky\n    retryable: yes\n    priority: 95\n",
            "at priority 95",
            id="machine-band",
        ),
    ],
)
def test_the_lint_finds(tmp_path, old, new, says):
    (tmp_path / "own.yaml").write_text(OWN.replace(old, new))
    faults = [str(fault) for fault in lint(load_rules(tmp_path))]
    assert any("our_gate" in fault and says in fault for fault in faults)


def test_the_lint_finds_a_rule_out_of_reach_and_one_given_again(tmp_path):
    first = OWN.replace("'gate \\d+ closed'", "'gate .*'")
    (tmp_path / "a.yaml").write_text(first)
    (tmp_path / "b.yaml").write_text(OWN.replace("our_gate", "second"))
    (tmp_path / "c.yaml").write_text(first.replace("our_gate", "third"))
    faults = "\n".join(str(fault) for fault in lint(load_rules(tmp_path)))
    assert "second: its example is decided by our_gate" in faults
    assert "third: the pattern is that of our_gate" in faults


@pytest.mark.parametrize(
    ("pattern", "literals"),
    [
        ("^fatal: (?:no route|no host)", {"fatal: no "}),
        ("(?:disk full|no space left)", {"disk full", "no space left"}),
        ("(?i)disk full", set()),
        ("(?:disk full)?.*", set()),
        (r"\d+ errors? in \w+", {" error"}),
    ],
)
def test_texts_that_every_match_has(pattern, literals):
    assert set(required_literals(pattern)) == literals


def test_the_parser_of_expressions_is_as_it_is_read():
    """``re._parser`` is no public interface: nodes are pairs, repeats and groups as used here."""
    from re import _constants as op
    from re import _parser as parser

    (repeat, (least, most, inner)), (group, (number, on, off, body)) = parser.parse("a*(?i:b|cd)")
    assert (repeat, least, most, list(inner)) == (
        op.MAX_REPEAT,
        0,
        op.MAXREPEAT,
        [(op.LITERAL, 97)],
    )
    assert (group, number, bool(on), bool(off)) == (op.SUBPATTERN, None, True, False)
    assert body[0][0] is op.BRANCH


@pytest.mark.parametrize(
    ("pattern", "nested"),
    [("(a+)+", True), ("(?:a*b*)*", True), ("(?:\\d+, )+", False), ("(?:ab){2,5}c*", False)],
)
def test_nested_repeats(pattern, nested):
    assert has_nested_repeats(pattern) is nested
