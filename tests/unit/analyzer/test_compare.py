"""Comparisons of repetitions: what is refused, what is judged, what it means as a whole."""

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from measurements import (
    ORDER,
    RATE,
    TPOT,
    h200_repetition,
    measured,
    place,
    session_of,
)

from gauntlet.analyzer.comparison.compare import OUTCOME_ORDER, compare_measured
from gauntlet.analyzer.comparison.effects import Noise
from gauntlet.analyzer.comparison.looks import Budget
from gauntlet.analyzer.comparison.margins import load_margins
from gauntlet.analyzer.comparison.objectives import Spot
from gauntlet.analyzer.measured import Statistic
from gauntlet.perf_eval.judgement import LoadObjective

SUBJECT = "load/chat/tpot_ms/p50"
NOISE = [0.001, -0.002, 0.003, 0.0, -0.001, 0.002, 0.001, -0.003]


def compare(turns, **asked):
    return compare_measured(turns, **({"margins": load_margins(), "budget": Budget()} | asked))


def verdict_of(turns, subject=SUBJECT, **asked):
    return {v.subject: v for v in compare(turns, **asked).verdicts}[subject]


def shifted(shift, noise=NOISE):
    """Two blocks whose candidate's log value is moved."""
    return [value + shift * (ORDER[turn % 4] == "candidate") for turn, value in enumerate(noise)]


@pytest.mark.parametrize(
    ("shift", "outcome"), [(0.0, "same"), (0.08, "worse"), (-0.08, "better"), (0.06, "worse")]
)
def test_interleaved_sides(shift, outcome):
    verdict = verdict_of(session_of(shifted(shift)))
    assert verdict.outcome == outcome
    assert verdict.effect == pytest.approx(100 * math.expm1(shift + 0.0015), abs=0.2)
    assert verdict.lower < verdict.effect < verdict.upper
    assert verdict.n == 4
    assert "2 blocks A B B A" in verdict.method


def test_more_of_a_rate_is_better():
    verdict = verdict_of(
        session_of(shifted(0.08), statistic=RATE), "load/chat/output_tokens_per_s/total"
    )
    assert (verdict.outcome, verdict.higher_is_better) == ("better", True)
    assert verdict.effect > 0


@settings(max_examples=30)
@given(st.permutations(range(8)), st.floats(-0.1, 0.1))
def test_the_order_of_the_input_does_not_matter(order, shift):
    turns = session_of(shifted(shift))
    assert compare([turns[index] for index in order]) == compare(turns)


@settings(max_examples=50)
@given(st.lists(st.floats(-0.2, 0.2), min_size=8, max_size=8), st.floats(-5, 5))
def test_whatever_was_measured_has_a_defined_answer(logs, level):
    verdict = verdict_of(session_of(logs, level=math.exp(level)))
    assert verdict.outcome in {"same", "worse", "better", "inconclusive"}
    assert all(math.isfinite(each) for each in (verdict.effect, verdict.lower, verdict.upper))
    assert verdict.reason


@settings(max_examples=50)
@given(st.lists(st.floats(-0.2, 0.2), min_size=8, max_size=8))
def test_swapped_sides_mirror_the_interval(logs):
    def swapped(turn):
        other = {"baseline": "candidate", "candidate": "baseline"}[turn.side]
        return measured(other, turn.pair, values=turn.values, position=turn.position)

    turns = session_of(logs)
    one, other = verdict_of(turns), verdict_of([swapped(turn) for turn in turns])
    mirrored = [100 * math.expm1(-math.log1p(each / 100)) for each in (one.upper, one.lower)]
    assert [other.lower, other.upper] == pytest.approx(mirrored, rel=1e-6, abs=1e-9)
    assert {one.outcome, other.outcome} not in ({"worse"}, {"better"})


@pytest.mark.parametrize("shift", [0.0, 0.08])
def test_values_without_any_spread_are_judged_by_a_least_error(shift):
    verdict = verdict_of(session_of(shifted(shift, [0.0] * 8)))
    assert verdict.outcome == ("worse" if shift else "same")
    assert verdict.lower < verdict.upper


def test_one_pair_shows_no_spread():
    verdict = verdict_of(session_of(shifted(0.3))[:2])
    assert verdict.outcome == "inconclusive"
    assert (verdict.lower, verdict.upper, verdict.n) == (None, None, 1)
    assert "measure more blocks" in verdict.reason
    assert "one pair shows no spread" in verdict.method


@pytest.mark.parametrize("value", [None, math.nan, 0.0, -3.0, math.inf])
def test_values_that_are_none_are_missing(value):
    turns = [measured(side, pair, values={TPOT: value}) for pair in (0, 1) for side in ORDER[:2]]
    verdict = verdict_of(turns)
    assert (verdict.outcome, verdict.effect) == ("missing", None)
    assert "4 of 4 values absent, zero or not finite" in verdict.reason


def test_a_run_whose_requests_all_failed_is_never_fast():
    turns = session_of(shifted(0.0))
    failed = [
        measured("candidate", each.pair, completed=0, failed=8, values={TPOT: 0.1})
        if each.side == "candidate"
        else each
        for each in turns
    ]
    verdict = verdict_of(failed)
    assert (verdict.outcome, verdict.effect) == ("invalid", None)
    assert verdict.reason == "4 of 4 candidate repetitions refused: 8 of 8 requests failed"
    assert compare(failed).outcome == "worse"  # by the share of failures


def test_refused_repetitions_leave_too_few():
    turns = session_of(shifted(0.0))
    warm = {"status": "invalid", "reasons": ("prefix cache was warm",)}
    refused = [
        measured(each.side, each.pair, values=each.values, **(warm if each.pair < 3 else {}))
        for each in turns
    ]
    verdict = verdict_of(refused)
    assert verdict.outcome == "invalid"
    assert "1 of 4 pairs left, 2 needed" in verdict.reason
    assert "3 of 4 baseline repetitions refused: prefix cache was warm" in verdict.reason


def test_a_refused_pair_leaves_the_others():
    turns = session_of(shifted(0.08))
    cold = [
        measured(each.side, each.pair, values=each.values, position=each.position)
        if each.pair
        else measured(each.side, 0, values=each.values, status="failed", reasons=("died",))
        for each in turns
    ]
    verdict = verdict_of(cold)
    assert (verdict.outcome, verdict.n) == ("worse", 3)


@pytest.mark.parametrize(
    ("one", "other", "says"),
    [
        pytest.param(
            {"config_fp": "a", "settings": {"OMP_NUM_THREADS": "8", "eager": "no"}},
            {"config_fp": "b", "settings": {"OMP_NUM_THREADS": "16", "dtype": "fp8"}},
            "OMP_NUM_THREADS 8 against 16, dtype unset against fp8, eager no against unset",
            id="fingerprint",
        ),
        pytest.param(
            {"settings": {"OMP_NUM_THREADS": "8"}},
            {"settings": {}},
            "OMP_NUM_THREADS 8 against unset",
            id="environment-that-the-fingerprint-forgot",
        ),
        pytest.param(
            {"settings": {"env.OMP_NUM_THREADS": "8"}},
            {"settings": {"env.OMP_NUM_THREADS": "16"}},
            "env.OMP_NUM_THREADS 8 against 16",
            id="environment-as-our-rows-have-it",
        ),
        pytest.param(
            {"config_fp": "a"},
            {"config_fp": "b"},
            "fingerprint a against b, no recorded setting says why",
            id="unexplained",
        ),
        pytest.param({"host": "n1"}, {"host": "n2"}, "host n1 against n2", id="host"),
        pytest.param({"driver": "570"}, {"driver": "575"}, "driver 570 against 575", id="driver"),
        pytest.param(
            {"place": place(accelerator="H200")},
            {"place": place(accelerator="B200")},
            "accelerator H200 against B200",
            id="accelerator",
        ),
    ],
)
@pytest.mark.parametrize("interleaved", [True, False])
def test_sides_that_differ_in_more_are_not_compared(interleaved, one, other, says):
    baseline, candidate = ("s", "s") if interleaved else ("", "")
    turns = [measured("baseline", pair, baseline, **one) for pair in (0, 1)]
    turns += [measured("candidate", pair, candidate, **other) for pair in (0, 1)]
    comparison = compare(turns)
    verdict = {v.subject: v for v in comparison.verdicts}[SUBJECT]
    assert (verdict.outcome, verdict.effect) == ("config-changed", None)
    assert says in verdict.reason
    assert comparison.outcome == "config-changed"


def test_readings_of_single_repetitions_are_no_configuration():
    turns = [
        measured(side, pair, settings={"calibration": f"{pair} {side}", "plan_digest": str(pair)})
        for pair in (0, 1)
        for side in ORDER[:2]
    ]
    assert verdict_of(turns).outcome == "same"


def test_the_turns_of_a_pair_must_have_sent_the_same():
    turns = [measured(side, pair, prompts=side) for pair in (0, 1) for side in ORDER[:2]]
    assert "prompts baseline against candidate" in verdict_of(turns).reason
    apart = [measured(side, 0, "", prompts=side) for side in ORDER[:2]]
    assert verdict_of(apart).outcome != "config-changed"


def test_a_place_on_one_side_only_is_missing():
    turns = [*session_of(shifted(0.0)), measured("baseline", place=place(point="c=64"))]
    verdict = verdict_of(turns, "load/chat@c=64/tpot_ms/p50")
    assert (verdict.outcome, verdict.reason) == ("missing", "measured on the baseline only")
    assert compare(turns).outcome == "missing"


def apart(baseline, candidate):
    """Repetitions of sides that were not interleaved."""
    return [
        measured(side, number, "", number, values={TPOT: value})
        for side, values in (("baseline", baseline), ("candidate", candidate))
        for number, value in enumerate(values)
    ]


def test_sides_of_two_nights_need_more_than_their_own_spread():
    turns = apart([10.0, 10.01, 9.99], [10.9, 10.91, 10.89])
    verdict = verdict_of(turns)
    assert verdict.outcome == "inconclusive"
    assert "interleave both sides" in verdict.reason
    assert "assumed by noise_percent" in verdict.method
    known = {(Spot("r", "chat", "", "m"), TPOT): Noise(sd=0.003, df=30, source="31 nights")}
    verdict = verdict_of(turns, history=known)
    assert verdict.outcome == "worse"
    assert "31 nights" in verdict.method


def test_ten_thousand_repetitions_are_judged_at_once():
    turns = apart([10.0] * 5000, [10.2] * 5000)
    assert verdict_of(turns).n == 10_000
    turns.append(measured("candidate", 5000, "", 5000, settings={"OMP_NUM_THREADS": "8"}))
    assert verdict_of(turns).outcome == "config-changed"


def test_one_repetition_a_side_is_judged_with_the_noise_of_sessions():
    assert verdict_of(apart([10.0], [10.1])).outcome == "inconclusive"
    assert verdict_of(apart([10.0], [16.0])).outcome == "worse"


def test_what_has_no_margin_is_listed():
    odd = Statistic("kv_cache_usage", "max")
    turns = [
        measured(side, pair, values={TPOT: 10.0, odd: 1.0}) for pair in (0, 1) for side in ORDER[:2]
    ]
    comparison = compare(turns)
    assert [each.subject for each in comparison.unjudged] == ["kv_cache_usage/max"]
    assert not any("kv_cache" in verdict.subject for verdict in comparison.verdicts)


def test_points_have_verdicts_of_their_own_and_one_together():
    turns = [
        turn
        for point in ("c=1", "c=8", "c=64")
        for turn in session_of(shifted(0.08 if point == "c=8" else 0.0), place=place(point=point))
    ]
    found = {v.subject: v.outcome for v in compare(turns).verdicts if "requests" not in v.subject}
    assert found == {
        "load/chat@c=1/tpot_ms/p50": "same",
        "load/chat@c=8/tpot_ms/p50": "worse",
        "load/chat@c=64/tpot_ms/p50": "same",
        "summary/tpot_ms/p50": "same",
    }


def test_workloads_of_two_recipes_keep_their_names_apart():
    turns = [
        turn
        for recipe in ("a", "b")
        for turn in session_of(shifted(0.0), place=place(recipe=recipe), session=recipe)
    ]
    subjects = {verdict.subject for verdict in compare(turns).verdicts}
    assert {"load/a:chat/tpot_ms/p50", "load/b:chat/tpot_ms/p50"} <= subjects


def test_a_recipe_says_what_is_judged():
    wanted = [
        LoadObjective(workload="chat", metric="tpot_ms", statistic="p50", margin_percent=20),
        LoadObjective(workload="other", metric="ttft_ms", statistic="p50", margin_percent=5),
    ]
    turns = session_of(shifted(0.08))
    assert verdict_of(turns, objectives=wanted).outcome == "same"
    missing = verdict_of(turns, "load/other/ttft_ms/p50", objectives=wanted)
    assert (missing.outcome, missing.reason) == ("missing", "no repetition was recorded")


def test_the_worst_blocking_verdict_speaks_for_all():
    assert OUTCOME_ORDER[0] == "worse"
    worse = compare([*session_of(shifted(0.08)), measured("baseline", place=place("other"))])
    assert worse.outcome == "worse"
    assert worse.reason.startswith(f"1 of 5 blocking objectives worse: {SUBJECT}: +8.")
    assert compare(session_of(shifted(-0.08))).outcome == "better"
    assert compare(session_of(shifted(0.0))).reason == "2 of 2 blocking objectives same"
    assert compare([]).outcome == "missing"
    assert compare([measured("single")]).reason == "nothing that blocks was measured"


# Real repetitions of vLLM 0.24.0 on an H200.


@pytest.fixture
def h200(shared):
    return shared / "data" / "h200"


@pytest.mark.parametrize(("one", "other"), list(permutations((1, 2, 3), 2)))
def test_repetitions_of_one_engine_are_the_same(h200, one, other):
    repetitions = [
        h200_repetition(
            h200 / f"vllm-0.24.0_h200_isl1024_osl128_r{number}-c{streams}.json",
            side,
            concurrency=streams,
        )
        for number, side in ((one, "baseline"), (other, "candidate"))
        for streams in (1, 16, 128)
    ]
    found = {verdict.subject: verdict.outcome for verdict in compare(repetitions).verdicts}
    assert not {"worse", "better"} & set(found.values())
    assert found["summary/output_tokens_per_s/mean"] == "same"
    assert found["summary/itl_ms/p50"] == "same"


# Block, position and letter of its turn, pair.
COLD = [
    ("block1", "0A", 0), ("block1", "1B", 0), ("block1", "2B", 1), ("block1", "3A", 1),
    ("block2first", "0A", 0), ("block2first", "1B", 0), ("block2", "2B", 1), ("block2", "3A", 1),
]  # fmt: skip
WARM = [("block2", "0A", 0), ("block2", "1B", 0)]


def cuda_graphs_against_eager(h200):
    def turn(block, name, pair, streams, **changes):
        file = h200 / "ab" / f"{block}-{name}-c{streams}.json.gz"
        side = "baseline" if name.endswith("A") else "candidate"
        return h200_repetition(file, side, concurrency=streams, session=block, pair=pair, **changes)

    refused = {"status": "invalid", "reasons": ("prefix cache was warm",)}
    return [
        *(turn(*each, streams) for each in COLD for streams in (16, 64)),
        *(turn(*each, streams, **refused) for each in WARM for streams in (16, 64)),
    ]


def test_an_engine_without_graphs_is_worse_with_an_interval_that_holds_all_pairs(h200):
    repetitions = cuda_graphs_against_eager(h200)
    verdicts = {verdict.subject: verdict for verdict in compare(repetitions).verdicts}
    for streams in (16, 64):
        for name in ("tpot_ms/p50", "itl_ms/p50", "output_tokens_per_s/mean"):
            verdict = verdicts[f"load/random@concurrency={streams}/{name}"]
            assert (verdict.outcome, verdict.n) == ("worse", 4)
            ratios = observed(repetitions, streams, Statistic(*name.split("/")))
            assert verdict.lower < 100 * (min(ratios) - 1)
            assert 100 * (max(ratios) - 1) < verdict.upper
    assert verdicts["summary/tpot_ms/p50"].outcome == "worse"


def observed(repetitions, streams, statistic):
    """Ratios of the valid pairs at one point."""
    sides = {"baseline": {}, "candidate": {}}
    for each in repetitions:
        if each.status == "valid" and each.place.point == f"concurrency={streams}":
            sides[each.side][each.session, each.pair] = each.values[statistic]
    return [sides["candidate"][key] / value for key, value in sides["baseline"].items()]


def test_unchanged_releases_of_many_metrics_are_not_called_worse():
    random = np.random.default_rng(12)
    statistics = [
        Statistic(metric, statistic)
        for metric, kind in load_margins().metrics.items()
        for statistic in kind.statistics
    ]
    calls = []
    for _ in range(40):
        turns = random.normal(0, 0.015, (16, len(statistics)))
        made = [
            measured(
                ORDER[turn % 4],
                turn // 2,
                position=turn,
                values={s: 10 * math.exp(v) for s, v in zip(statistics, logs, strict=True)},
            )
            for turn, logs in enumerate(turns.tolist())
        ]
        calls.append(compare(made).outcome)
    assert "worse" not in calls
