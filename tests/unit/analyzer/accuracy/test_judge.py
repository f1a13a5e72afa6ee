"""Verdicts on accuracy, and what stands before one: each names its case of the collection."""

import json
from dataclasses import replace

import pytest
from answer_factory import answer, answers_of, two_sides
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.analyzer.accuracy.judge import judge_accuracy
from gauntlet.analyzer.accuracy.report import report_lines
from gauntlet.analyzer.accuracy.samples import AnswerSet, joined
from gauntlet.core.errors import UsageError


def judge(sides, **options):
    return judge_accuracy(*sides, **options)


@pytest.mark.parametrize(
    ("losses", "gains", "outcome"),
    [
        (50, 10, "worse"),
        (0, 0, "same"),
        (15, 14, "same"),
        (10, 50, "better"),
        (60, 50, "inconclusive"),
    ],
)
def test_verdicts_of_gsm8k(losses, gains, outcome):
    found = judge(two_sides(losses, gains))
    verdict = found.verdict
    assert verdict.outcome == outcome
    assert verdict.subject == "eval/gsm8k/accuracy"
    assert verdict.effect == pytest.approx(100 * (gains - losses) / 1319)
    assert verdict.lower <= verdict.effect <= verdict.upper
    assert (verdict.n, verdict.margin, verdict.unit) == (1319, 2.0, "points")
    assert f"{losses} were right only before, {gains} only now" in verdict.reason
    table = found.details.table
    assert (table.both_right, table.only_baseline, table.only_candidate) == (1000, losses, gains)


@settings(max_examples=30)
@given(st.integers(0, 40), st.integers(0, 40))
def test_swapped_sides_have_the_opposite_effect(losses, gains):
    before, after = two_sides(losses, gains, n=200, right=100)
    there, back = judge((before, after)).verdict, judge((after, before)).verdict
    assert back.effect == pytest.approx(-there.effect)
    assert back.lower == pytest.approx(-there.upper, abs=1e-4)
    assert [there.outcome, back.outcome] != ["worse", "worse"]


def test_the_order_of_answers_does_not_matter():
    before, after = two_sides(40, 12)
    mixed = replace(after, answers=after.answers[::-1])
    assert judge((before, mixed)).verdict == judge((before, after)).verdict


def test_same_says_what_could_have_been_seen():
    verdict = judge(two_sides(15, 14)).verdict
    assert verdict.detectable == pytest.approx(1.2, abs=0.05)
    assert "a drop of 1.2 points would have been seen" in verdict.reason


def test_two_scores_by_eye_are_shown_beside():
    details = judge(two_sides(26, 26, right=1069)).details
    assert details.detectable_80 == pytest.approx(0.0136, abs=0.0005)
    assert details.detectable_by_eye_80 > 0.034
    assert details.by_eye.upper - details.by_eye.lower > 0.04


def test_a_drop_near_its_threshold_is_measured_again_before_anybody_is_accused():
    found = judge(two_sides(30, 13))
    assert found.verdict.outcome == "worse"
    assert found.details.rerun is not None
    assert (found.details.rerun.tasks, found.details.rerun.repeats) == (("gsm8k",), 3)
    assert "rerun both sides 3 times, gsm8k, before anybody is accused" in found.verdict.reason


def test_what_was_asked_again_is_not_sent_back_a_second_time():
    def repeated(side):
        answers = [
            replace(a, item_id=f"{a.item_id}{again}", cluster=a.item_id)
            for again in ("", "#2", "#3")
            for a in side.answers
        ]
        return replace(side, answers=tuple(answers))

    found = judge(map(repeated, two_sides(30, 13)))
    assert found.verdict.outcome == "worse"
    assert found.details.rerun is None
    assert (found.verdict.n, found.details.drop.units) == (3 * 1319, 1319)
    assert found.details.sequential is None


def test_differing_questions_are_refused_with_counts_and_ids():
    before = answers_of([1.0] * 10)
    after = answers_of([answer(i) for i in range(2, 13)])
    with pytest.raises(UsageError, match=r"10 questions against 11; 2 only in here \(0, 1\); 3 on"):
        judge((before, after))


def test_one_id_for_two_questions_is_refused():
    before = answers_of([1.0] * 10)
    after = answers_of([answer(i, question_digest="text:other") for i in range(10)])
    with pytest.raises(UsageError, match="10 of 10 ids mean different questions"):
        judge((before, after))


def test_files_and_the_warehouse_name_questions_in_two_ways():
    def side(kind, text):
        rows = [answer(i, question_digest=f"{kind}:{kind}", question=text) for i in range(300)]
        return answers_of(rows)

    sides = side("document", "what?"), side("text", "what?")
    assert judge(sides).verdict.outcome == "same"
    with pytest.raises(UsageError, match="300 of 300 ids mean different questions"):
        judge((sides[0], side("text", "why?")))


def test_ids_that_stand_twice_are_refused():
    twice = answers_of([answer("a"), answer("a")])
    with pytest.raises(UsageError, match="1 ids stand twice: a"):
        judge((twice, twice))


@pytest.mark.parametrize("score", [float("nan"), 1.5, -1.0])
def test_what_is_no_score_is_refused(score):
    with pytest.raises(UsageError, match="here: 3: accuracy is"):
        judge((answers_of([1.0] * 10), answers_of([1.0] * 3 + [score] + [1.0] * 6)))


@pytest.mark.parametrize(
    ("options", "match"),
    [({"margin": 2}, "margin 2"), ({"alpha": 0.0}, "alpha 0"), ({"margin": 0}, "0.02 is two")],
)
def test_shares_out_of_range_are_refused(options, match):
    with pytest.raises(UsageError) as caught:
        judge(two_sides(1, 1), **options)
    assert match in f"{caught.value.message} {caught.value.hint}"


def test_another_harness_is_a_dependency_not_accuracy():
    """C23: an upgrade turned strict-match from 0.31 to 0."""
    before = answers_of([1.0] * 31 + [0.0] * 69, harness_version="0.4.9.2")
    after = answers_of([0.0] * 100, harness_version="0.4.11")
    found = judge((before, after))
    assert found.verdict.outcome == "config-changed"
    assert found.verdict.effect is None
    assert "harness version 0.4.9.2 → 0.4.11: a dependency, not accuracy" in found.verdict.reason
    (difference,) = found.details.differences
    assert (difference.baseline, difference.candidate) == ("0.4.9.2", "0.4.11")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"task_version": "2.0"}, "task version 3.0 → 2.0"),
        ({"fewshot": 0}, "shots 5 → 0"),
        ({"filter": "flexible-extract"}, "filter strict-match → flexible-extract"),
        ({"settings": {"gen_kwargs": "temperature=1"}}, "gen_kwargs temperature=0 → temperature=1"),
        ({"fingerprint": "b"}, "fingerprint a → b"),
        ({"dataset_digest": "y"}, "data x → y"),
    ],
)
def test_whatever_else_could_move_the_score_is_named(change, what):
    """C23: the series key holds all of it."""
    fields = {
        "filter": "strict-match",
        "settings": {"gen_kwargs": "temperature=0"},
        "fingerprint": "a" if "fingerprint" in change else "",
        "dataset_digest": "x",
    }
    before = answers_of([1.0] * 10, **fields)
    found = judge((before, replace(before, **change)))
    assert found.verdict.outcome == "config-changed"
    assert what in found.verdict.reason


def test_another_prompt_for_the_same_question_is_another_configuration():
    before = answers_of([answer(i, prompt_digest=f"p{i}") for i in range(10)])
    after = answers_of([answer(i, prompt_digest=f"q{i}") for i in range(10)])
    verdict = judge((before, after)).verdict
    assert verdict.outcome == "config-changed"
    assert "prompt of 10 of 10 questions, first 0, p0 → q0" in verdict.reason


def test_equal_fingerprints_vouch_for_settings_that_read_otherwise():
    before = answers_of([1.0] * 300, fingerprint="a", settings={"x": "1"}, model="m1")
    after = replace(before, settings={"x": "2"}, model="m2")
    found = judge((before, after))
    assert found.verdict.outcome == "same"
    assert "the model's name differs: m1, m2" in found.details.notes
    renamed = replace(after, fingerprint="b", settings=before.settings)
    assert judge((before, renamed)).verdict.outcome == "same"


def test_what_only_one_side_records_is_noted():
    before, after = two_sides(0, 0)
    notes = judge((before, replace(after, harness_version=""))).details.notes
    assert notes == ("only one side records harness version",)


def test_a_score_of_exactly_zero_is_a_suspect_harness():
    """C25: a stop string given as text cuts every answer."""
    before = answers_of([1.0] * 80 + [0.0] * 20)
    after = answers_of([answer(i, 0.0, answer="T") for i in range(100)])
    found = judge((before, after))
    assert found.verdict.outcome == "invalid"
    assert "suspect harness: the candidate scores exactly 0 over 100" in found.verdict.reason
    assert [a.item_id for a in found.details.samples] == [str(i) for i in range(10)]
    plain = json.loads(json.dumps(found.plain()))
    assert plain["details"]["samples"][0]["answer"] == "T"
    assert plain["effect"] is None


def test_a_low_score_that_chance_explains_is_believed():
    before, after = answers_of([1.0] * 1 + [0.0] * 29), answers_of([0.0] * 30)
    assert judge((before, after)).verdict.outcome == "inconclusive"
    low = answers_of([1.0] * 30 + [0.0] * 270), answers_of([0.0] * 300)
    assert judge(low).verdict.outcome == "invalid"


def test_answers_that_nobody_could_parse_are_a_suspect_harness():
    """C25: the same with an answer filter that finds nothing, on both sides."""
    side = answers_of([answer(i, 0.0, status="unparsable") for i in range(20)])
    verdict = judge((side, side)).verdict
    assert verdict.outcome == "invalid"
    assert "none of the baseline's 20 answers could be parsed" in verdict.reason


@pytest.mark.parametrize("side", [0, 1], ids=["baseline", "candidate"])
def test_no_answers_are_missing_not_zero(side):
    """C27: evaluated without having been generated."""
    sides = list(two_sides(0, 0))
    sides[side] = replace(sides[side], answers=())
    found = judge(sides)
    assert (found.verdict.outcome, found.verdict.effect) == ("missing", None)
    assert "here: it holds no answer" in found.verdict.reason
    assert next(iter(report_lines(found))) == "missing  eval/gsm8k/accuracy"


def test_no_answers_with_reasons_are_invalid():
    """C27: the source says why there is nothing."""
    before, after = two_sides(0, 0)
    refused = replace(after, answers=(), refused=("failed: api-error: 500",))
    verdict = judge((before, refused)).verdict
    assert (verdict.outcome, "api-error: 500" in verdict.reason) == ("invalid", True)


def test_one_error_on_every_row_is_the_adapter_s():
    """C29: the handler lacks the decoder."""
    before = answers_of([1.0] * 50)
    rows = [answer(i, 0.0, status="unparsable", error="decoder_failed") for i in range(50)]
    found = judge((before, answers_of(rows)))
    assert found.verdict.outcome == "invalid"
    assert found.verdict.reason == (
        "adapter error: each of the candidate's 50 rows has decoder_failed"
    )
    assert len(found.details.samples) == 10


def test_a_measurement_that_its_source_refused_is_not_judged():
    before, after = two_sides(0, 0)
    verdict = judge((before, replace(after, refused=("more than 2 % lost",)))).verdict
    assert (verdict.outcome, verdict.reason) == ("invalid", "candidate: more than 2 % lost")


def lost(side, count):
    answers = tuple(
        replace(a, score=None, status="error") if i < count else a
        for i, a in enumerate(side.answers)
    )
    return replace(side, answers=answers)


def test_a_few_lost_answers_are_left_out_and_counted():
    before, after = two_sides(20, 20)
    found = judge((before, lost(after, 10)))
    assert found.verdict.n == 1309
    assert (found.details.unscored_baseline, found.details.unscored_candidate) == (0, 10)
    assert any("left out  baseline 0, candidate 10" in line for line in report_lines(found))


def test_many_lost_answers_are_no_measurement():
    before, after = two_sides(20, 20)
    found = judge((lost(before, 30), lost(after, 70)))
    assert found.verdict.outcome == "invalid"
    assert "70 of 1319 questions have no score (baseline 30, candidate 70)" in found.verdict.reason


def test_all_failed_is_invalid():
    before, after = two_sides(0, 0)
    assert judge((before, lost(after, 1319))).verdict.outcome == "invalid"


def cut(side, ids):
    answers = tuple(
        replace(a, truncated=a.item_id in ids, score=0.0 if a.item_id in ids else a.score)
        for a in side.answers
    )
    return replace(side, answers=answers)


def test_a_drop_of_cut_answers_is_about_length():
    before, after = two_sides(10, 10)
    found = judge((cut(before, set()), cut(after, {str(i) for i in range(100, 180)})))
    assert found.verdict.outcome == "worse"
    assert found.details.truncation.about_length
    assert found.details.truncation.outcome_without == "same"
    assert "about length, not knowledge" in found.verdict.reason
    assert "truncated share 0.0% → 6.1%" in found.verdict.reason


def test_a_drop_beside_cut_answers_is_still_a_drop():
    before, after = two_sides(60, 10)
    found = judge((cut(before, set()), cut(after, {"1200"})))
    assert found.verdict.outcome == "worse"
    assert not found.details.truncation.about_length
    assert found.details.truncation.without.losses == 60


def test_the_floor_is_reported_beside_the_candidate_s_discordance():
    before, after = two_sides(44, 13)
    assert judge((before, before), baseline_again=before).details.floor.share == 0.0
    turned = tuple(
        replace(a, score=1 - a.score) if i < 20 else a for i, a in enumerate(before.answers)
    )
    found = judge((before, after), baseline_again=replace(before, answers=turned))
    assert found.details.floor.share == pytest.approx(20 / 1319)
    assert found.details.floor.candidate_share == pytest.approx(57 / 1319)
    assert "4.3% of the answers differ, more than the 1.5%" in found.verdict.reason


def test_a_floor_measured_otherwise_is_refused():
    before, after = two_sides(1, 1)
    with pytest.raises(UsageError, match="not the baseline asked again: shots 5 → 0"):
        judge((before, after), baseline_again=replace(before, fewshot=0))


def categories(losses):
    """Two categories of 400 and 100 questions, the small one losing so many."""

    def side(name, n, wrong):
        return answers_of([0.0] * wrong + [1.0] * (n - wrong), task=name)

    before = joined([side("bfcl_multiple", 400, 0), side("bfcl_parallel", 100, 0)], "bfcl")
    after = joined([side("bfcl_multiple", 400, 0), side("bfcl_parallel", 100, losses)], "bfcl")
    return before, after


def test_categories_have_their_own_rows_and_weights():
    found = judge(categories(30), weights="equal")
    assert found.verdict.subject == "eval/bfcl/accuracy"
    assert found.verdict.effect == pytest.approx(-15)
    assert (found.verdict.baseline, found.verdict.candidate) == (100, pytest.approx(85))
    assert found.details.by_eye is None
    assert [(s.name, s.drop.losses) for s in found.details.strata] == [
        ("bfcl_multiple", 0),
        ("bfcl_parallel", 30),
    ]
    assert judge(categories(30), weights="size").verdict.effect == pytest.approx(-6)
    assert any(line.startswith("  bfcl_parallel: -30.00") for line in report_lines(found))


def test_tasks_of_two_harnesses_are_not_joined():
    first, second = two_sides(0, 0)
    with pytest.raises(UsageError, match="several harnesses"):
        joined([first, replace(second, harness_version="0.5")], "all")
    with pytest.raises(UsageError, match="no task"):
        joined([], "all")


def test_graded_scores_are_compared_by_their_means():
    before = answers_of([0.9, 0.8, 0.7, 1.0] * 50)
    after = answers_of([0.7, 0.6, 0.6, 0.8] * 50)
    found = judge((before, after))
    assert found.verdict.outcome == "worse"
    assert found.details.table is None
    assert "better only before" in found.verdict.reason


def test_one_question_is_never_enough():
    found = judge((answers_of([1.0]), answers_of([1.0])))
    assert found.verdict.outcome == "inconclusive"
    assert "so few answers can show no drop at all" in found.verdict.reason


def test_where_a_session_would_have_stopped():
    found = judge(two_sides(60, 10))
    look = found.details.sequential
    assert (look.decision, look.items < 1000) == ("worse", True)
    assert any(f"{look.items} of 1319 questions would" in line for line in report_lines(found))


def test_the_json_has_the_verdict_and_what_it_rests_on():
    plain = json.loads(json.dumps(judge(two_sides(50, 10)).plain()))
    assert {"subject", "verdict", "effect", "interval", "n", "method", "reason", "margin"} <= set(
        plain
    )
    details = plain["details"]
    assert (details["losses"], details["gains"]) == (50, 10)
    assert details["unpaired"]["interval"][0] < plain["interval"][0]
    assert details["detectable"]["power_80"] < details["detectable"]["power_90"]
    assert details["rerun"] is None


def test_an_empty_pair_of_sets_is_missing():
    """C27: nothing on either side."""
    nothing = AnswerSet(answers=(), task="t", source="nowhere")
    assert judge((nothing, nothing)).verdict.outcome == "missing"
