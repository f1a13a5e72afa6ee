from datetime import timedelta

import pytest
from gate_factory import (
    BEFORE,
    COMMIT,
    HOUR,
    IMAGE,
    NOW,
    OTHER_IMAGE,
    PERFORMANCE,
    SUBJECT,
    evaluate,
    run,
    verdict,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from gauntlet.release.gates.measured import _fisher
from gauntlet.release.gates.rules import MeasuredGate, NeededRun

ACCURACY = MeasuredGate(
    kind="measured", name="accuracy", runs=(NeededRun(recipe="llama"),), verdicts=("eval/*",)
)
TPOT = "llama@H200/load/random/tpot_ms/p50"


def gate(*runs, rule=PERFORMANCE, **facts):
    return evaluate(rule, runs=runs, **facts)[0][rule.name]


def keys(result):
    return {problem.key: problem.state for problem in result.problems}


def test_a_run_without_a_loss_passes():
    assert gate(run("r1", verdict(), verdict("requests/random/failed"))).state == "PASS"


def test_no_run_is_missing():
    result = gate()
    assert keys(result) == {"run/llama": "MISSING"}


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"images": frozenset({OTHER_IMAGE})}, "the image 2222222222, not the candidate's"),
        ({"images": frozenset({IMAGE, OTHER_IMAGE})}, "2222222222"),
        ({"images": frozenset({""})}, "the image not recorded"),
        ({"commits": frozenset({COMMIT, BEFORE})}, "it measured bbbbbbbbbb as well"),
        ({"baseline_commits": frozenset({COMMIT})}, "its baseline is cccccccccc, not v1.1.0"),
        ({"baseline_commits": frozenset()}, "its baseline is nothing"),
        ({"status": "failed"}, "it is failed"),
        ({"started_at": NOW - timedelta(days=15)}, "older than 14 days"),
        ({"started_at": NOW + HOUR}, "a clock is wrong"),
    ],
)
def test_a_run_of_something_else_does_not_count(changes, why):
    result = gate(run("r1", **changes))
    assert keys(result) == {"run/llama": "MISSING"}
    assert why in result.problems[0].message
    assert why in result.notes[0]


def test_a_release_without_images_is_bound_by_its_commit():
    from dataclasses import replace

    subject = replace(SUBJECT, images={}, needs_image=False)
    assert gate(run("r1", images=frozenset({""})), subject=subject).state == "PASS"
    assert gate(run("r1", images=frozenset({""}))).state == "MISSING"


def test_a_run_that_nobody_judged_is_missing():
    result = gate(run("r1", verdict("eval/gsm8k/accuracy")))
    assert keys(result) == {"run/llama": "MISSING"}
    assert result.problems[0].remedy == "gauntlet analyze compare r1"


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        ("better", None),
        ("same", None),
        ("worse", "FAIL"),
        ("inconclusive", "INCONCLUSIVE"),
        ("config-changed", "INCONCLUSIVE"),
        ("invalid", "MISSING"),
        ("missing", "MISSING"),
        ("a word of tomorrow", "INCONCLUSIVE"),
    ],
)
def test_each_verdict_makes_its_state(outcome, expected):
    result = gate(run("r1", verdict(outcome=outcome), verdict("requests/random/failed")))
    assert keys(result).get(TPOT) == expected


def test_a_verdict_that_does_not_block_blocks_nothing_and_one_that_cannot_be_judged_is_said():
    told = verdict("load/x/ttft_ms/p99", "worse", blocking=False)
    shy = verdict("load/x/itl_ms/p99", "inconclusive", blocking=False, demoted=True)
    result = gate(run("r1", verdict(), told, shy))
    assert result.state == "PASS"
    assert result.notes == ("cannot be judged by these runs, so they inform: load/x/itl_ms/p99",)


def test_a_loss_is_weighed_beside_all_statistics_of_all_gates():
    """A loss at p = 0.002 is one in 500: among 40 statistics somebody has it by chance."""
    loss = verdict(outcome="worse", p_value=0.002)
    others = [verdict(f"load/w{n}/tpot_ms/p50", p_value=0.5) for n in range(20)]
    evals = [verdict(f"eval/t{n}/accuracy", p_value=0.5) for n in range(20)]
    assert gate(run("r1", loss)).state == "FAIL"
    both, _ = evaluate(PERFORMANCE, ACCURACY, runs=[run("r1", loss, *others, *evals)])
    assert keys(both["performance"]) == {TPOT: "INCONCLUSIVE"}
    assert "measure this recipe once more" in both["performance"].problems[0].remedy
    adjusted = {each.key: each.adjusted_p for each in both["performance"].statistics}
    assert adjusted[TPOT] == pytest.approx(0.002 * 3 * 41)


def test_another_run_decides_what_was_open():
    first = run("r1", verdict(outcome="inconclusive"), started_at=NOW - 3 * HOUR)
    assert gate(first).state == "INCONCLUSIVE"
    assert gate(first, run("r2")).state == "PASS"


def test_a_loss_that_every_run_shows_a_little_is_shown_by_all_together():
    others = [verdict(f"load/w{n}/tpot_ms/p50", p_value=0.5) for n in range(40)]
    runs = [
        run(f"r{n}", verdict(outcome="worse", p_value=0.001), *others, started_at=NOW - n * HOUR)
        for n in range(1, 4)
    ]
    assert [gate(*runs[:count]).state for count in (1, 2, 3)] == [
        "INCONCLUSIVE",
        "FAIL",
        "FAIL",
    ]


@given(st.lists(st.floats(0.0001, 1), min_size=1, max_size=6))
def test_p_values_are_combined_as_scipy_combines_them(p_values):
    expected = stats.combine_pvalues(p_values, method="fisher").pvalue
    assert _fisher(p_values) == pytest.approx(expected)


def seen(low, high, **changes):
    outcome = changes.pop("outcome", "inconclusive")
    numbers = {"effect": (low + high) / 2, "interval": (low, high), "margin": 3.0, "p_value": 0.3}
    return verdict(outcome=outcome, **{**numbers, **changes})


@pytest.mark.parametrize(
    ("verdicts", "passes"),
    [
        ([seen(-1, 3.5), seen(-2.5, 2, outcome="same")], True),
        ([seen(-1, 3.5), seen(-1, 3.5)], True),
        ([seen(1, 5, outcome="worse"), seen(-0.5, 2.9, outcome="same")], False),
        ([seen(-3.5, 1, higher_is_better=True), seen(-3.5, 1, higher_is_better=True)], True),
        ([seen(-5, -1, higher_is_better=True), seen(-5, -1, higher_is_better=True)], False),
        ([seen(-1, 3.5), verdict(outcome="same")], True),
    ],
    ids=["one open", "both open", "a bad and a good one", "higher", "lower", "without numbers"],
)
def test_runs_exclude_a_loss_together(verdicts, passes):
    runs = [run(f"r{n}", each, started_at=NOW - (9 - n) * HOUR) for n, each in enumerate(verdicts)]
    assert (gate(*runs).state == "PASS") is passes


def test_repeating_cannot_wash_a_shown_loss_out():
    bad = run("r1", verdict(outcome="worse"), started_at=NOW - 3 * HOUR)
    assert gate(bad, run("r2"), run("r3")).state == "FAIL"


def test_nobody_measures_until_it_fits():
    runs = [
        run(f"r{n}", verdict(outcome="inconclusive"), started_at=NOW - (9 - n) * HOUR)
        for n in range(3)
    ]
    result = gate(*runs, run("r9"))
    assert result.state == "INCONCLUSIVE"
    assert "run r9 does not count: 3 before it do" in result.notes
    assert "3 runs count, and all are there" in result.problems[0].remedy


def test_every_needed_run_has_to_be_there():
    rule = PERFORMANCE.model_copy(
        update={
            "runs": (
                NeededRun(recipe="llama", accelerator="H200"),
                NeededRun(recipe="llama", accelerator="MI300*"),
                NeededRun(recipe="llama", least_hours=8),
            )
        }
    )
    result = gate(run("r1"), rule=rule)
    assert keys(result) == {"run/llama on MI300*": "MISSING", "run/llama": "MISSING"}
    assert "0.5 h under load, 8 h needed" in result.problems[-1].message


def test_a_soak_is_a_run_with_hours():
    rule = PERFORMANCE.model_copy(
        update={"name": "soak", "runs": (NeededRun(recipe="soak", least_hours=8),)}
    )
    assert gate(run("r1", recipe="soak", hours=8.5), rule=rule).state == "PASS"


@given(
    st.lists(st.sampled_from(["same", "better", "worse", "inconclusive"]), min_size=1, max_size=4)
)
def test_more_runs_never_turn_a_failure_into_a_pass(outcomes):
    runs = [
        run(f"r{n}", verdict(outcome=outcome), started_at=NOW - (9 - n) * HOUR)
        for n, outcome in enumerate(outcomes)
    ]
    states = [gate(*runs[: n + 1]).state for n in range(len(runs))]
    if "FAIL" in states:
        assert set(states[states.index("FAIL") :]) == {"FAIL"}
