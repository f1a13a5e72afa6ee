"""One night: what is news, what is known, what is missing."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from histories import PLACE, THROUGHPUT, alarm, change, described, night_of, shape

from gauntlet.analyzer.history.layout import night_lines
from gauntlet.analyzer.history.nightly import (
    alert_rows,
    announced_before,
    judge_night,
    missing_findings,
    raise_for,
    stale_findings,
)
from gauntlet.analyzer.history.report import Rule, judge_history
from gauntlet.analyzer.history.reruns import plan_reruns
from gauntlet.core.errors import InvalidMeasurementError, NotQualifiedError

NIGHT = night_of(29)
NOW = datetime(2026, 2, 1, tzinfo=UTC)
STEP = shape(change(27, 5.0), level_from=27)


def judged(*some, alerts=(), missing=(), night=NIGHT):
    announced = announced_before(alerts, night)
    report = judge_history(some, Rule(), known=announced)
    return judge_night(
        night,
        report,
        scores=(),
        missing=missing,
        announced=announced,
        reruns=plan_reruns(night, report.findings),
    )


def alerts_of(report, night=None):
    """What a night recorded, as the warehouse gives it back."""
    rows = [row.model_dump() for row in alert_rows(report, (), NOW)]
    return [row | ({"run_id": f"nightly/{night}"} if night else {}) for row in rows]


def missing_row(state="missing", **changes):
    fields = {
        "recipe": "nightly", "workload": "random", "point": "c=1", "accelerator": None,
        "nights_seen": 14, "last_seen": NOW, "state": state, "series_id": "s9", "reasons": [],
    }  # fmt: skip
    return {**fields, **changes}


def test_a_new_regression_fails_the_night():
    report = judged(described(STEP))
    assert (report.verdict, report.reason) == ("worse", "1 new regression at 1 point")
    with pytest.raises(NotQualifiedError, match="TPOT p50 rose"):
        raise_for(report)


def test_the_next_night_does_not_announce_it_again():
    before = alerts_of(judged(described(STEP)), NIGHT - timedelta(days=1))
    report = judged(described(STEP), alerts=before)
    assert (report.verdict, report.new) == ("same", ())
    assert [finding.kind for finding in report.ongoing] == ["regression"]
    raise_for(report)


def test_the_same_night_judged_again_says_the_same_and_records_nothing():
    first = judged(described(STEP))
    recorded = alerts_of(first)
    again = judged(described(STEP), alerts=recorded)
    assert again.verdict == "worse"
    assert len(recorded) == 1
    assert alert_rows(again, recorded, NOW) == ()


def test_an_alarm_that_becomes_a_step_is_news_again():
    alarmed = judged(described(shape(alarm=alarm(28, 5.0))))
    assert alarmed.verdict == "inconclusive"
    before = alerts_of(alarmed, NIGHT - timedelta(days=1))
    report = judged(described(STEP), alerts=before)
    assert report.verdict == "worse"
    assert alert_rows(report, before, NOW)[0].subject == before[0]["subject"]


def test_more_statistics_of_an_announced_loss_join_it():
    before = alerts_of(judged(described(STEP)), NIGHT - timedelta(days=1))
    other = described(
        shape(change(28, -5.0), level_from=28), statistic=THROUGHPUT, direction="higher"
    )
    report = judged(described(STEP), other, alerts=before)
    assert (report.verdict, report.new) == ("same", ())
    assert [finding.statistic for finding in report.joined] == [THROUGHPUT]
    elsewhere = described(STEP, place=PLACE._replace(recipe="another"))
    assert judged(elsewhere, alerts=before).verdict == "same"


@pytest.mark.parametrize("subject", ["host/h1", "queue-wait/l4", "disk/h1", "history/by/hand"])
@pytest.mark.parametrize("evidence", ["", "{}", "a note", '{"owner": "fleet"}'])
def test_alerts_of_the_fleet_are_none_of_the_history(subject, evidence):
    other = {"subject": subject, "run_id": "alerts", "outcome": "open", "evidence": evidence}
    before = alerts_of(judged(described(STEP)), NIGHT - timedelta(days=1))
    assert announced_before([other, *before], NIGHT) == announced_before(before, NIGHT)


def test_what_is_old_when_it_is_first_seen_is_history():
    report = judged(described(shape(change(10, 5.0), level_from=10)))
    assert (report.verdict, len(report.ongoing)) == ("same", 1)


@pytest.mark.parametrize(
    ("state", "verdict", "said"),
    [
        ("missing", "missing", "1 expected point not measured, 0 refused"),
        ("invalid", "invalid", "0 expected points not measured, 1 refused"),
    ],
)
def test_what_was_not_measured_has_not_passed(state, verdict, said):
    missing = missing_findings([missing_row(state, reasons=["warm-cache: 96 %"])], NIGHT)
    report = judged(described(shape()), missing=missing)
    assert (report.verdict, report.reason) == (verdict, said)
    with pytest.raises(InvalidMeasurementError):
        raise_for(report)


def test_a_regression_outweighs_a_hole():
    missing = missing_findings([missing_row()], NIGHT)
    with pytest.raises(NotQualifiedError):
        raise_for(judged(described(STEP), missing=missing))


def test_an_empty_warehouse_is_missing_and_not_same():
    assert judged().verdict == "missing"


def test_a_series_that_nobody_expects_any_more_is_stale():
    history = judge_history([described(shape())], Rule())
    seen = {"s1": NIGHT - timedelta(days=20)}
    (finding,) = stale_findings(history, seen, NIGHT)
    assert finding.reason.endswith("20 nights ago: retired, or lost?")
    assert stale_findings(history, {"s1": NIGHT}, NIGHT) == []


def test_evidence_is_the_finding_and_text_fits_the_page():
    report = judged(described(STEP), missing=missing_findings([missing_row()], NIGHT))
    (step, hole) = alert_rows(report, (), NOW)
    assert json.loads(step.evidence)["effect"] == 5.0
    assert (step.kind, step.outcome, step.blocking, hole.outcome) == (
        "alert", "regression", True, "missing",
    )  # fmt: skip
    lines = night_lines(report)
    assert lines[0] == "2026-01-30  worse: 1 new regression at 1 point"
    assert max(map(len, lines)) <= 100
    assert report.plain()["new"][0]["commits"]["nights"] == 1
