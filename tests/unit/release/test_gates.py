import pytest
from factories import NOON

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.release.gates.qualification import load_policy
from gauntlet.release.gates.verdicts import evaluate, gate_rows


def row(subject, outcome, *, blocking=True, kind="verdict"):
    return {
        "kind": kind,
        "subject": subject,
        "outcome": outcome,
        "blocking": blocking,
        "reason": "because",
    }


GOOD = [
    row("load/random/tpot_ms/p50", "same"),
    row("eval/gsm8k/accuracy", "better"),
    row("requests/random/failed", "same"),
]


def states(rows):
    return {gate.name: gate.state for gate in evaluate(load_policy(), rows).gates}


def test_all_passed_is_qualified():
    result = evaluate(load_policy(), GOOD)
    assert result.outcome == "QUALIFIED"
    assert set(states(GOOD).values()) == {"PASS"}


@pytest.mark.parametrize(
    ("outcome", "state"),
    [
        ("worse", "FAIL"),
        ("inconclusive", "INCONCLUSIVE"),
        ("invalid", "INCONCLUSIVE"),
        ("config-changed", "INCONCLUSIVE"),
        ("missing", "MISSING"),
    ],
)
def test_one_verdict_stops_its_gate(outcome, state):
    rows = [*GOOD, row("load/random/ttft_ms/p50", outcome)]
    result = evaluate(load_policy(), rows)
    assert states(rows)["performance"] == state
    assert result.outcome == "NOT QUALIFIED"
    assert f"load/random/ttft_ms/p50 is {outcome}: because" in result.gates[0].reasons


def test_a_gate_that_was_not_measured_is_missing_and_blocks():
    rows = [each for each in GOOD if not each["subject"].startswith("eval/")]
    assert states(rows)["accuracy"] == "MISSING"
    assert not evaluate(load_policy(), rows).qualified
    assert set(states([]).values()) == {"MISSING"}


def test_what_only_informs_neither_stops_nor_carries_a_gate():
    assert (
        states([*GOOD, row("load/x/ttft_ms/p99", "worse", blocking=False)])["performance"] == "PASS"
    )
    assert states([row("load/x/ttft_ms/p99", "same", blocking=False)])["performance"] == "MISSING"


def test_other_kinds_of_decisions_are_not_verdicts():
    assert states([row("load/random/tpot_ms/p50", "same", kind="gate")])["performance"] == "MISSING"


def test_every_gate_and_the_release_are_put_on_record():
    rows = gate_rows("r1", evaluate(load_policy(), GOOD[:1]), NOON)
    found = {(each.kind, each.subject): each.outcome for each in rows}
    assert found == {
        ("gate", "performance"): "PASS",
        ("gate", "accuracy"): "MISSING",
        ("gate", "reliability"): "MISSING",
        ("release", "qualification"): "NOT QUALIFIED",
    }
    assert rows[-1].reason == "gates not passed: accuracy, reliability"


def test_a_policy_of_ones_own_and_its_mistakes(tmp_path):
    path = tmp_path / "p.yaml"
    path.write_text(
        "name: p\ngates:\n- name: speed\n  verdicts: ['load/*']\n  accept: [same, worse]\n"
    )
    with pytest.raises(
        ConfigError, match=r"p.yaml:5: gates\[0\].accept\[1\]: expected 'better' or 'same'"
    ):
        load_policy(str(path))
    with pytest.raises(UsageError, match="did you mean 'qualification'"):
        load_policy("qualificatoin")
