"""Verdicts of one session's stored rows, and what the decision rules make of evidence."""

import math
from dataclasses import dataclass

import pytest
from factories import metric_row, repetition_row

from gauntlet.analyzer.compare import worth_more
from gauntlet.analyzer.comparison.decide import Finding, decide
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.comparison.margins import load_margins
from gauntlet.analyzer.findings import eval_finding, failure_finding, find_all
from gauntlet.perf_eval.recipe import EvalObjective, LoadObjective, load_recipe

OBJECTIVE = LoadObjective(workload="random", metric="tpot_ms", statistic="p50", margin_percent=4)
ACCURACY = EvalObjective(task="gsm8k", margin_points=3)
ONE_LOOK = Budget(false_alarm_rate=0.05)


@dataclass(frozen=True)
class Told:
    """Evidence that says what the test wants it to say."""

    loss: float
    low: float
    high: float
    p_value: float
    n: int = 4
    what: str = "pairs"
    method: str = "told"
    interleaved: bool = True

    def decidable(self, margin, level):
        return self.interleaved

    def bounds(self, level):
        return self.low, self.high

    def detectable(self, level):
        return 9.0


def finding(loss, low, high, p, *, blocking=True, subject="load/w/tpot_ms/p50", **kind):
    told = Told(loss, low, high, p, **kind)
    return Finding(subject=subject, blocking=blocking, margin=4.0, unit="%", evidence=told)


@pytest.mark.parametrize(
    ("loss", "low", "high", "p", "outcome"),
    [
        pytest.param(7.0, 6.0, 8.0, 1e-5, "worse", id="clearly-worse"),
        pytest.param(7.0, -1.0, 15.0, 0.2, "inconclusive", id="big-but-noisy"),
        pytest.param(0.1, -0.5, 0.7, 0.3, "same", id="nothing"),
        pytest.param(2.5, 1.5, 3.9, 1e-5, "same", id="real-but-surely-below-the-margin"),
        pytest.param(0.1, -9.0, 9.0, 0.4, "inconclusive", id="too-noisy"),
        pytest.param(-6.0, -7.0, -5.0, 1.0, "better", id="better"),
        pytest.param(-6.0, -13.0, 1.0, 0.9, "same", id="a-gain-that-is-not-sure"),
        pytest.param(-2.0, -3.0, -1.0, 1.0, "same", id="a-little-better"),
        pytest.param(2.5, 0.5, 4.5, 1e-5, "worse", id="half-of-the-margin-and-surely-a-loss"),
        pytest.param(1.9, 0.5, 4.1, 1e-5, "inconclusive", id="surely-a-loss-but-a-small-one"),
    ],
)
def test_outcomes(loss, low, high, p, outcome):
    (verdict,) = decide([finding(loss, low, high, p)], ONE_LOOK)
    assert verdict.outcome == outcome
    assert f"{loss:+.1f} %" in verdict.reason
    assert (verdict.n, verdict.method, verdict.detectable) == (4, "told", 9.0)


def test_open_and_equal_verdicts_say_what_would_have_shown():
    same, unsure = decide([finding(0, -1, 1, 0.5), finding(0, -9, 9, 0.5)], ONE_LOOK)
    assert "one of 9 % would have shown" in same.reason
    assert "one of 9 % would have shown; about 9 more blocks" in unsure.reason
    (other,) = decide([finding(0, -9, 9, 0.5, interleaved=False)], ONE_LOOK)
    assert "interleave both sides" in other.reason


def test_the_error_budget_is_shared_by_all_objectives_and_looks():
    many = [finding(7.0, 1.0, 9.0, 0.02, subject=f"load/w{n}/tpot_ms/p50") for n in range(10)]
    assert decide(many[:1], ONE_LOOK)[0].outcome == "worse"
    assert {v.outcome for v in decide(many, ONE_LOOK)} == {"inconclusive"}
    early = Budget(false_alarm_rate=0.05, shares=(0.5,))
    assert decide(many[:1], early)[0].outcome == "inconclusive"


def test_what_only_informs_costs_the_others_nothing():
    informs = [finding(0, -1, 1, 0.5, blocking=False, subject=f"i{n}") for n in range(50)]
    assert decide([finding(7.0, 1.0, 9.0, 0.02), *informs], ONE_LOOK)[0].outcome == "worse"


def test_what_informs_is_adjusted_by_the_share_of_false_alarms():
    informs = [finding(7, 1, 9, p, blocking=False, subject=str(p)) for p in (0.01, 0.02, 0.03)]
    assert [v.adjusted_p for v in decide(informs, ONE_LOOK)] == pytest.approx([0.03] * 3)


def rows_of(changes, *, direction="lower", metric="tpot_ms", statistic="p50", **repetition):
    """A session in which the candidate's value differs by these shares, pair by pair."""
    repetitions, metrics = [], []
    point = repetition.get("point", "")
    for pair, change in enumerate(changes):
        for side, factor in (("baseline", 1.0), ("candidate", 1 + change)):
            key = f"{point}/{pair}/{side}"
            repetitions.append(
                repetition_row(pair=pair, side=side, repetition_id=key, **repetition).model_dump()
            )
            row = metric_row(pair=pair, side=side, value=10 * factor, direction=direction)
            metrics.append(
                row.model_dump() | {"metric": metric, "statistic": statistic, "repetition_id": key}
            )
    return repetitions, metrics


def judge(repetitions, metrics, *objectives, budget=ONE_LOOK):
    recipe = load_recipe("smoke")
    loads = objectives or (OBJECTIVE,)
    judged = recipe.judge.model_copy(update={"load": loads, "evals": ()})
    recipe = recipe.model_copy(update={"judge": judged})
    found = find_all(
        recipe,
        repetitions=repetitions,
        metrics=metrics,
        eval_pairs=[],
        margins=load_margins(),
    )
    return {v.subject: v for v in decide(found, budget) if v.subject.startswith(("load", "summ"))}


@pytest.mark.parametrize(
    ("metric", "statistic", "change"),
    [("tpot_ms", "p50", 0.08), ("output_tokens_per_s", "total", -0.08)],
)
def test_the_direction_of_the_metric_counts(metric, statistic, change):
    wanted = OBJECTIVE.model_copy(update={"metric": metric, "statistic": statistic})
    changes = [change, change + 0.001, change - 0.001, change]
    rows = rows_of(changes, metric=metric, statistic=statistic)
    (verdict,) = judge(*rows, wanted).values()
    assert verdict.outcome == "worse"
    assert verdict.effect == pytest.approx(100 * change, abs=0.05)
    assert verdict.lower < verdict.effect < verdict.upper


def test_each_point_of_a_sweep_is_judged_by_itself_and_all_together():
    fast = rows_of([0.0, 0.002, -0.002, 0.0], point="concurrency=1")
    slow = rows_of([0.1, 0.102, 0.098, 0.1], point="concurrency=16")
    verdicts = judge(fast[0] + slow[0], fast[1] + slow[1])
    assert {subject: verdict.outcome for subject, verdict in verdicts.items()} == {
        "load/random@concurrency=1/tpot_ms/p50": "same",
        "load/random@concurrency=16/tpot_ms/p50": "worse",
        "summary/random/tpot_ms/p50": "worse",
    }
    assert verdicts["summary/random/tpot_ms/p50"].effect == pytest.approx(4.88, abs=0.05)


def test_only_the_full_window_is_judged():
    repetitions, metrics = rows_of([0.001, -0.001, 0.0, 0.0])
    steady = [row | {"window": "steady", "value": 99.0} for row in metrics]
    (verdict,) = judge(repetitions, metrics + steady).values()
    assert verdict.outcome == "same"


def test_another_configuration_is_never_compared():
    repetitions, metrics = rows_of([0.2] * 4)
    repetitions[1] |= {"config_fp": "other", "settings": {"OMP_NUM_THREADS": "16"}}
    repetitions[0] |= {"settings": {"OMP_NUM_THREADS": "8"}}
    (verdict,) = judge(repetitions, metrics).values()
    assert (verdict.outcome, verdict.effect) == ("config-changed", None)
    assert verdict.reason == "the sides of pair 1 differ: OMP_NUM_THREADS 8 against 16"


def test_invalid_and_missing_are_told_apart():
    repetitions, _ = rows_of([0.0] * 4, status="invalid", reasons=("9 of 40 requests failed",))
    (verdict,) = judge(repetitions, []).values()
    assert verdict.outcome == "invalid"
    assert "4 of 4 baseline repetitions refused: 9 of 40 requests failed" in verdict.reason
    (verdict,) = judge([], []).values()
    assert (verdict.outcome, verdict.reason) == ("missing", "no repetition was recorded")


def eval_rows(losses, gains, n):
    pairs = [(1.0, 0.0)] * losses + [(0.0, 1.0)] * gains + [(1.0, 1.0)] * (n - losses - gains)
    return [
        {"task": "gsm8k", "item_id": str(i), "baseline_score": b, "candidate_score": c}
        for i, (b, c) in enumerate(pairs)
    ]


def eval_verdict(rows):
    repetitions = [
        repetition_row(workload="gsm8k", side=side, kind="eval").model_dump()
        for side in ("baseline", "candidate")
    ]
    found = eval_finding(ACCURACY, repetitions=repetitions, eval_pairs=rows)
    return decide([found], Budget(false_alarm_rate=0.025))[0]


@pytest.mark.parametrize(
    ("losses", "gains", "outcome"),
    [(0, 0, "same"), (3, 3, "same"), (22, 2, "worse"), (12, 6, "inconclusive"), (0, 30, "better")],
)
def test_accuracy_verdicts(losses, gains, outcome):
    verdict = eval_verdict(eval_rows(losses, gains, 400))
    assert verdict.outcome == outcome
    assert verdict.effect == pytest.approx(100 * (gains - losses) / 400)
    assert math.isfinite(verdict.detectable)


def test_unanswered_questions_are_left_out_not_counted_wrong():
    rows = eval_rows(0, 0, 300)
    rows += [
        {**row, "candidate_score": None, "item_id": f"x{n}"} for n, row in enumerate(rows[:50])
    ]
    assert eval_verdict(rows).n == 300


@pytest.mark.parametrize("again", ["{}#{n}", "{}"], ids=["repeats", "other-pairs"])
def test_a_question_that_is_asked_again_is_still_one_question(again):
    # Four questions of forty changed, each in all five answers: as twenty of two hundred
    # independent ones they would be a certain loss.
    once = eval_rows(4, 0, 40)
    rows = [
        {
            **row,
            "pair": n,
            "item_id": again.format(row["item_id"], n=n) if n > 1 else row["item_id"],
        }
        for n in range(1, 6)
        for row in once
    ]
    assert eval_verdict(eval_rows(20, 0, 200)).outcome == "worse"
    verdict = eval_verdict(rows)
    assert (verdict.outcome, verdict.n) == ("inconclusive", 200)
    assert "over 40 clusters" in verdict.method
    assert verdict.adjusted_p == pytest.approx(0.5**4)


def test_an_eval_whose_configuration_differs_says_in_what():
    repetitions = [
        repetition_row(
            workload="gsm8k",
            side=side,
            kind="eval",
            config_fp=side,
            settings={"env.VLLM_ATTENTION_BACKEND": backend},
        ).model_dump()
        for side, backend in (("baseline", "FLASH"), ("candidate", "TRITON"))
    ]
    found = eval_finding(ACCURACY, repetitions=repetitions, eval_pairs=eval_rows(9, 0, 40))
    (verdict,) = decide([found], ONE_LOOK)
    assert verdict.outcome == "config-changed"
    assert "env.VLLM_ATTENTION_BACKEND FLASH against TRITON" in verdict.reason


@pytest.mark.parametrize(
    ("baseline", "candidate", "outcome"),
    [
        ((0, 160), (0, 160), "same"),
        ((0, 160), (1, 160), "same"),
        ((0, 160), (20, 160), "worse"),
        ((20, 160), (20, 160), "same"),
    ],
)
def test_failed_requests_are_a_verdict_of_their_own(baseline, candidate, outcome):
    rows = [
        repetition_row(side=side, failed=failed, completed=total - failed).model_dump()
        for side, (failed, total) in (("baseline", baseline), ("candidate", candidate))
    ]
    (verdict,) = decide([failure_finding("random", repetitions=rows)], ONE_LOOK)
    assert verdict.outcome == outcome


def test_every_objective_of_the_recipe_gets_a_verdict_even_without_data():
    recipe = load_recipe("smoke")
    found = find_all(recipe, repetitions=[], metrics=[], eval_pairs=[], margins=load_margins())
    verdicts = decide(found, ONE_LOOK)
    objectives = len(recipe.judge.load) + len(recipe.judge.evals)
    # Both workloads have the same statistics, but a summary is over points of one workload.
    assert len(verdicts) == objectives + len(recipe.workloads) + len(recipe.evals)
    assert {verdict.outcome for verdict in verdicts} == {"missing"}


def test_more_is_measured_while_something_is_open_and_nothing_is_lost_yet():
    def verdicts(*outcomes):
        estimates = {
            "worse": (7.0, 6.0, 8.0, 1e-9),
            "same": (0, -1, 1, 0.5),
            "inconclusive": (0, -9, 9, 0.5),
        }
        found = [finding(*estimates[name], subject=str(n)) for n, name in enumerate(outcomes)]
        return decide(found, ONE_LOOK)

    assert worth_more(verdicts("same", "inconclusive"))
    assert not worth_more(verdicts("same", "inconclusive", "worse"))
    assert not worth_more(verdicts("same", "same"))
