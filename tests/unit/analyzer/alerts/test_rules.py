"""Rules are data, changed by name; every mistake is named with its place."""

import pytest

from gauntlet.analyzer.alerts.model import MEASURES
from gauntlet.analyzer.alerts.rules import load_rules, rule_for
from gauntlet.core.errors import ConfigError

OWN_RULE = "rules: {x: {measure: disk, open_at: 3, close_at: 1, unit: x, owner: a, severity: page}}"


@pytest.fixture
def given(tmp_path):
    def write(text):
        path = tmp_path / "rules.yaml"
        path.write_text(text)
        return load_rules(path)

    return write


def test_every_measure_is_watched_by_a_rule_that_ships():
    rules = load_rules()
    assert {rule.measure for rule in rules} == set(MEASURES)
    assert all(rule.remedy and rule.owner for rule in rules)


def test_a_file_changes_a_rule_and_keeps_the_rest_of_it(given):
    rules = given("rules: {queue-wait: {open_at: 90, owner: ann}}")
    rule = rule_for(rules, "queue-wait", "l4")
    assert (rule.open_at, rule.owner, rule.close_at) == (90, "ann", 15)
    assert len(rules) == len(load_rules())


def test_a_rule_of_its_own_goes_before_those_that_ship(given):
    rules = given(
        "rules:\n"
        "  cpu-wait: {measure: queue-wait, applies_to: 'cpu*', open_at: 5, close_at: 1,"
        " unit: minutes, owner: ci, severity: page}\n"
        "  no-small: {measure: queue-wait, applies_to: small, open_at: 5, close_at: 1,"
        " unit: minutes, owner: ci, severity: page, enabled: false}\n"
    )
    assert rule_for(rules, "queue-wait", "cpu-1").name == "cpu-wait"
    assert rule_for(rules, "queue-wait", "l4").name == "queue-wait"
    assert rule_for(rules, "queue-wait", "small") is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rules: {queue-wait: {opens: 1}}", "rules.queue-wait.opens: unknown key; did you mean"),
        (
            "rules: {queue-wait: {severity: shout}}",
            "rules.queue-wait.severity: expected 'page' or 'notify' (got 'shout')",
        ),
        (
            "rules: {queue-wait: {unit: hours}}",
            "the unit of queue-wait is another (got 'hours'); allowed: minutes",
        ),
        (
            "rules: {queue-wait: {close_at: 40}}",
            "queue-wait.close_at: it must be below open_at, which is 30, or the alert would flap",
        ),
        (
            "rules: {spool-age: {open_after_minutes: 5}}",
            "so it cannot be asked to hold (got 5.0); allowed: 0",
        ),
        (
            "rules: {queue-wai: {open_at: 3}}",
            "needs measure, close_at, unit, owner, severity; did you mean 'queue-wait'?",
        ),
        (
            OWN_RULE,
            "rules.x.measure: unknown measure (got 'disk')",
        ),
    ],
)
def test_a_mistake_is_named_with_key_value_and_what_is_allowed(given, text, said):
    with pytest.raises(ConfigError) as caught:
        given(text)
    assert said in caught.value.message
    assert "rules.yaml:1" in caught.value.message


def test_all_mistakes_are_told_at_once(given):
    with pytest.raises(ConfigError) as caught:
        given("rules: {queue-wait: {unit: hours, close_at: 99}, disk-pressure: {unit: x}}")
    assert len(caught.value.problems) == 3
