"""One night: what is new in the engine and in CI, recorded or judged."""

import json
from datetime import UTC, datetime, time, timedelta

import pytest
from factories import (
    attempt_row,
    batch,
    build_row,
    decision_row,
    metric_row,
    repetition_row,
)

from gauntlet.core.clock import utc_now
from gauntlet.hud.nightly.ci import CHANGES, change_of
from gauntlet.hud.nightly.findings import (
    Told,
    commits_text,
    effect_text,
    lines,
    recorded,
    top_changes,
)
from gauntlet.hud.reading import Reader
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:y)"
NIGHTS = 24
NEWEST = utc_now().date() - timedelta(days=1)
OLD_ALERTS = NEWEST - timedelta(days=2)
UNMEASURED = NEWEST - timedelta(days=10)


def at(night, hour=22):
    return datetime.combine(night, time(hour), UTC)


def measured(night, series, value):
    key = {
        "run_id": f"run {night}",
        "repetition_id": f"{night} {series}",
        "side": "single",
        "series_id": series,
    }
    return [
        repetition_row(
            **key,
            recipe=f"recipe {series}",
            point="c=1",
            started_at=at(night),
            ended_at=at(night) + timedelta(minutes=5),
            engine_commit=f"{night:%Y%m%d}".ljust(40, "0"),
        ),
        metric_row(**key, value=value),
    ]


def history():
    """``slower`` loses a third four nights ago, ``gone`` is missing on the newest night."""
    rows = []
    for ago in range(NIGHTS):
        night = NEWEST - timedelta(days=ago)
        if night == UNMEASURED:
            continue
        noise = 0.02 * (-1) ** ago
        rows += measured(night, "slower", (15.0 if ago < 5 else 10.0) + noise)
        if ago:
            rows += measured(night, "gone", 10.0 + noise)
    return rows


def ci_rows():
    """``kernels`` newly fails, ``engine`` goes on failing, ``docs`` is fixed."""
    rows = []
    states = {
        1: {"kernels": "passed", "engine": "failed", "docs": "failed", "models": "passed"},
        2: {"kernels": "failed", "engine": "failed", "docs": "passed", "models": "passed"},
    }
    for number, jobs in states.items():
        began = at(NEWEST - timedelta(days=2 - number), 12)
        rows.append(
            build_row(
                number,
                created_at=began,
                finished_at=began + timedelta(hours=1),
                state="failed",
                url="javascript:alert(1)" if number == 1 else "https://ci.example/2",
            )
        )
        rows += [
            attempt_row(
                job,
                number,
                state=state,
                created_at=began,
                started_at=began + timedelta(minutes=1),
                finished_at=began + timedelta(minutes=9),
            )
            for job, state in jobs.items()
        ]
    return rows


def alert(subject, outcome, evidence, night=OLD_ALERTS):
    row = decision_row(
        f"nightly/{night}", "alert", subject, outcome=outcome, reason=HOSTILE, evidence=evidence
    )
    return row.model_copy(update={"at": at(night, 23)})


EVIDENCE = {
    "kind": "regression",
    "recipe": HOSTILE,
    "workload": "random",
    "series_id": "slower",
    "metric": "tpot_ms",
    "statistic": "p50",
    "night": str(OLD_ALERTS),
    "effect": 4.2,
    "interval": [3.0, 5.4],
    "loss": 4.2,
    "commits": {"after": "a" * 40, "until": "b" * 40, "commits": 3},
}


@pytest.fixture(scope="module")
def full(tmp_path_factory):
    """A warehouse that tests only read."""
    place = str(tmp_path_factory.mktemp("nights") / "warehouse")
    with open_store(place) as opened:
        opened.insert(batch("nights", *history(), *ci_rows()))
        alerts = [
            alert("history/slower/a", "regression", json.dumps(EVIDENCE)),
            alert("other/b", "missing", "{broken"),
        ]
        opened.insert(batch("alerts", *alerts))
    return place


@pytest.fixture
def night(show, full):
    """Draw one night of it."""

    def draw(reader=None, **query):
        return show("nightly", reader or Reader(full), **query)

    return draw


def marked_up(shown):
    said = [str(each.value) for each in (*shown.test.markdown, *shown.test.caption)]
    return [*said, *(str(each.proto.body) for each in shown.test.get("html"))]


def test_without_a_night_the_page_says_what_measures_one(show):
    assert "Nothing was measured" in show("nightly").text


def test_the_newest_night_is_judged_where_nothing_is_recorded(night):
    shown = night()
    assert "No alert of this night is recorded" in shown.text
    assert "Judged now" in shown.text
    regressed, missing = shown.tables[:2]
    assert list(regressed["recipe"]) == ["recipe slower"]
    assert regressed["verdict"][0] == "▼ worse"
    assert regressed["effect"][0].startswith("+50.")
    assert regressed["effect"][0].endswith("], worse")
    assert regressed["history"][0] == "./performance?series=slower"
    assert list(missing["recipe"]) == ["recipe gone"]
    assert list(missing["verdict"]) == ["∅ missing"]
    assert "worse" in shown.text
    asked = {
        "nights": 1,
        "night_alerts": 1,
        "night_builds": 1,
        "night_jobs": 1,
        "night_report": 1,
    }
    assert shown.asked == asked
    assert night(shown.reader).asked == asked


def test_ci_is_compared_with_the_night_before(night):
    shown = night()
    jobs = shown.tables[-1]
    assert dict(zip(jobs["job"], jobs["change"], strict=True)) == {
        "./jobs?job=kernels": "newly failing",
        "./jobs?job=engine": "still failing",
        "./jobs?job=docs": "fixed",
    }
    assert "Newly failing 1" in shown.text
    assert "https://ci.example/2" in shown.text
    assert not [text for text in marked_up(shown) if "javascript:alert" in text]


def test_recorded_alerts_are_shown_without_judging_and_as_text(night):
    shown = night(night=str(OLD_ALERTS))
    assert "recorded it" in shown.text
    assert "night_report" not in shown.asked
    regressed, missing = shown.tables[:2]
    assert list(regressed["recipe"]) == [HOSTILE]
    assert list(regressed["commits"]) == ["aaaaaaa..bbbbbbb, 3 commits"]
    assert f"baseline=commit%3A{'a' * 40}" in regressed["compare"][0]
    assert list(missing["recipe"]) == ["other/b"]
    assert not [text for text in marked_up(shown) if "<img" in text or "](javascript" in text]


def test_a_recorded_night_is_judged_anew_when_asked_for(night):
    shown = night(night=str(OLD_ALERTS), judge="true")
    assert "Judged anew" in shown.text
    assert shown.asked["night_report"] == 1


def test_a_night_without_runs_says_which_is_the_newest_that_has(night):
    shown = night(night=str(UNMEASURED))
    assert f"Nothing was measured on the night {UNMEASURED}" in shown.text
    assert f"./nightly?night={NEWEST}" in shown.text
    assert "No build of main ended" in shown.text
    assert "night_report" not in shown.asked


@pytest.mark.parametrize("wanted", [HOSTILE, "1999-01-01"], ids=["no date", "too early"])
def test_a_night_that_is_not_there_is_said_so(night, wanted):
    shown = night(night=wanted)
    assert "showing the newest" in shown.text
    assert "Judged now" in shown.text
    assert not [text for text in marked_up(shown) if "<img" in text]


def test_nights_before_and_after_are_linked(night):
    shown = night(night=str(OLD_ALERTS))
    assert f"./nightly?night={OLD_ALERTS - timedelta(days=1)}" in shown.text
    assert f"./nightly?night={OLD_ALERTS + timedelta(days=1)}" in shown.text


@pytest.mark.parametrize(
    ("before", "after", "change"),
    [
        ("passed", "failed", "newly failing"),
        ("not run", "infra", "newly failing"),
        ("failed", "infra", "still failing"),
        ("flaky", "flaky", "flaky"),
        ("failed", "passed", "fixed"),
        ("failed", "not run", "not run any more"),
        ("flaky", "passed", "no longer flaky"),
    ],
)
def test_what_happened_to_a_job(before, after, change):
    assert change_of(before, after) == change
    assert change in CHANGES


def test_series_of_one_cause_are_one_line_with_the_largest_change():
    told = [
        Told(
            kind="regression", recipe="a", night="2026-01-01", series_id="s", effect=2.0, loss=2.0
        ),
        Told(
            kind="regression", recipe="a", night="2026-01-01", series_id="t", effect=5.0, loss=5.0
        ),
        Told(
            kind="regression", recipe="b", night="2026-01-01", series_id="u", effect=1.0, loss=1.0
        ),
    ]
    found = [(each.largest.effect, each.series) for each in lines(told)]
    assert found == [(5.0, 2), (1.0, 1)]


def test_the_largest_changes_are_drawn_and_a_changed_spread_is_none_of_them():
    told = [
        Told(kind="regression", recipe="small", effect=2.0, loss=2.0, interval=(1.0, 3.0)),
        Told(kind="improvement", recipe="large", effect=-9.0, loss=-9.0),
        Told(kind="variance", recipe="spread", effect=90.0),
        Told(kind="regression", recipe="score", effect=-3.0, loss=3.0, unit="points"),
    ]
    top = top_changes(told)
    assert list(top["what"]) == ["large", "small"]
    assert list(top["way"]) == ["better", "worse"]


def test_what_is_not_known_is_said_to_be_so():
    (told,) = recorded([{"outcome": "drift", "reason": "why", "subject": "x", "evidence": "[]"}])
    assert (told.recipe, told.reason, told.way) == ("x", "why", "changed")
    assert effect_text(told) == commits_text(told.commits) == "\N{EN DASH}"
