import math

import numpy as np
import pytest
from factories import metric_row, repetition_row

from gauntlet.analyzer.compare import worth_more
from gauntlet.analyzer.findings import eval_finding, failure_finding, find_all, load_finding
from gauntlet.analyzer.stats import Estimate
from gauntlet.analyzer.verdicts import Finding, decide
from gauntlet.perf_eval.recipe import EvalObjective, LoadObjective, load_recipe

OBJECTIVE = LoadObjective(workload="random", metric="tpot_ms", statistic="p50", margin_percent=4)
ACCURACY = EvalObjective(task="gsm8k", margin_points=3)


def finding(effect, lower, upper, p, *, blocking=True, subject="load/w/tpot_ms/p50"):
    estimate = Estimate(effect=effect, lower=lower, upper=upper, p_value=p, n=4)
    return Finding(subject=subject, blocking=blocking, margin=4.0, unit="%", estimate=estimate)


@pytest.mark.parametrize(
    ("effect", "lower", "upper", "p", "outcome"),
    [
        pytest.param(7.0, 6.0, 8.0, 1e-5, "worse", id="clearly-worse"),
        pytest.param(7.0, -1.0, 15.0, 0.2, "inconclusive", id="big-but-noisy"),
        pytest.param(0.1, -0.5, 0.7, 0.3, "same", id="nothing"),
        pytest.param(2.0, 1.5, 2.5, 1e-5, "same", id="real-but-small"),
        pytest.param(0.1, -9.0, 9.0, 0.4, "inconclusive", id="too-noisy"),
        pytest.param(-6.0, -7.0, -5.0, 1.0, "better", id="better"),
        pytest.param(-2.0, -3.0, -1.0, 1.0, "same", id="a-little-better"),
        pytest.param(3.5, 2.5, 4.5, 1e-5, "inconclusive", id="around-the-margin"),
    ],
)
def test_outcomes(effect, lower, upper, p, outcome):
    (verdict,) = decide([finding(effect, lower, upper, p)], false_alarm_rate=0.05, looks=1)
    assert verdict.outcome == outcome
    assert f"{effect:+.1f} %" in verdict.reason


def test_the_error_budget_is_shared_by_all_objectives_and_looks():
    many = [finding(7.0, 1.0, 9.0, 0.02, subject=f"load/w{n}/tpot_ms/p50") for n in range(10)]
    alone = decide(many[:1], false_alarm_rate=0.05, looks=1)
    assert alone[0].outcome == "worse"
    assert {v.outcome for v in decide(many, false_alarm_rate=0.05, looks=1)} == {"inconclusive"}
    assert decide(many[:1], false_alarm_rate=0.05, looks=3)[0].outcome == "inconclusive"


def test_what_only_informs_costs_the_others_nothing():
    informs = [finding(0, -1, 1, 0.5, blocking=False, subject=f"i{n}") for n in range(50)]
    verdicts = decide([finding(7.0, 1.0, 9.0, 0.02), *informs], false_alarm_rate=0.05, looks=1)
    assert verdicts[0].outcome == "worse"


def test_family_wise_false_alarms_stay_within_the_budget():
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(600):
        pairs = [rng.normal(0, 0.02, 4) for _ in range(8)]
        rows, metrics = [], []
        for number, differences in enumerate(pairs):
            rows += [
                repetition_row(workload=f"w{number}", pair=p, side=s)
                for p in range(4)
                for s in ("baseline", "candidate")
            ]
            for pair, difference in enumerate(differences):
                metrics.append(metric_row(workload=f"w{number}", pair=pair, value=10.0))
                metrics.append(
                    metric_row(
                        workload=f"w{number}",
                        pair=pair,
                        side="candidate",
                        value=10.0 * math.exp(difference),
                    )
                )
        found = [
            load_finding(
                OBJECTIVE.model_copy(update={"workload": f"w{n}", "margin_percent": 1.0}),
                repetitions=[row.model_dump() for row in rows if row.workload == f"w{n}"],
                metrics=[row.model_dump() for row in metrics if row.workload == f"w{n}"],
                alpha=0.05,
            )
            for n in range(8)
        ]
        alarms += any(v.outcome == "worse" for v in decide(found, false_alarm_rate=0.05, looks=1))
    assert alarms / 600 < 0.07


def rows_of(changes, *, direction="lower", **repetition):
    repetitions, metrics = [], []
    for pair, change in enumerate(changes):
        for side, factor in (("baseline", 1.0), ("candidate", 1 + change)):
            repetitions.append(repetition_row(pair=pair, side=side, **repetition).model_dump())
            metrics.append(
                metric_row(
                    pair=pair, side=side, value=10 * factor, direction=direction
                ).model_dump()
            )
    return repetitions, metrics


@pytest.mark.parametrize(("direction", "worse_change"), [("lower", 0.08), ("higher", -0.08)])
def test_the_direction_of_the_metric_counts(direction, worse_change):
    changes = [worse_change, worse_change + 0.001, worse_change - 0.001, worse_change]
    repetitions, metrics = rows_of(changes, direction=direction)
    found = load_finding(OBJECTIVE, repetitions=repetitions, metrics=metrics, alpha=0.05)
    assert found.estimate.effect == pytest.approx(8.0, abs=0.05)
    (verdict,) = decide([found], false_alarm_rate=0.05, looks=1)
    assert verdict.outcome == "worse"
    assert verdict.effect == pytest.approx(100 * worse_change, abs=0.05)
    assert verdict.lower < verdict.effect < verdict.upper


def test_another_configuration_is_never_compared():
    repetitions, metrics = rows_of([0.2] * 4)
    repetitions[1]["config_fp"] = "OMP_NUM_THREADS differs"
    found = load_finding(OBJECTIVE, repetitions=repetitions, metrics=metrics, alpha=0.05)
    assert (found.unusable, found.estimate) == ("config-changed", None)
    assert "pair 1" in found.why_unusable


def test_invalid_and_missing_are_told_apart():
    repetitions, _ = rows_of([0.0] * 4, status="invalid", reasons=("9 of 40 requests failed",))
    found = load_finding(OBJECTIVE, repetitions=repetitions, metrics=[], alpha=0.05)
    assert found.unusable == "invalid"
    assert "9 of 40" in found.why_unusable
    found = load_finding(OBJECTIVE, repetitions=[], metrics=[], alpha=0.05)
    assert found.unusable == "missing"


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
    found = eval_finding(ACCURACY, repetitions=repetitions, eval_pairs=rows, alpha=0.025)
    return decide([found], false_alarm_rate=0.05, looks=2)[0]


@pytest.mark.parametrize(
    ("losses", "gains", "outcome"),
    [(0, 0, "same"), (3, 3, "same"), (22, 2, "worse"), (12, 6, "inconclusive"), (0, 30, "better")],
)
def test_accuracy_verdicts(losses, gains, outcome):
    verdict = eval_verdict(eval_rows(losses, gains, 400))
    assert verdict.outcome == outcome
    assert verdict.effect == pytest.approx(100 * (gains - losses) / 400)


def test_unanswered_questions_are_left_out_not_counted_wrong():
    rows = eval_rows(0, 0, 300)
    rows += [
        {**row, "candidate_score": None, "item_id": f"x{n}"} for n, row in enumerate(rows[:50])
    ]
    assert eval_verdict(rows).n == 300


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
    (verdict,) = decide(
        [failure_finding("random", repetitions=rows)], false_alarm_rate=0.05, looks=1
    )
    assert verdict.outcome == outcome


def test_every_objective_of_the_recipe_gets_a_verdict_even_without_data():
    recipe = load_recipe("smoke")
    found = find_all(recipe, repetitions=[], metrics=[], eval_pairs=[])
    verdicts = decide(found, false_alarm_rate=0.05, looks=1)
    objectives = len(recipe.judge.load) + len(recipe.judge.evals)
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
        return decide(found, false_alarm_rate=0.05, looks=1)

    assert worth_more(verdicts("same", "inconclusive"))
    assert not worth_more(verdicts("same", "inconclusive", "worse"))
    assert not worth_more(verdicts("same", "same"))
