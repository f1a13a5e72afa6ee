"""The page Performance: every series, and one of them night by night."""

from datetime import date

import pandas as pd
import pytest
from factories import metric_row, repetition_row
from histories import FIRST, TPOT, alarm, change, described, shape
from sweeps import fill, nightly, note

from gauntlet.analyzer.history.describe import describe
from gauntlet.analyzer.history.report import Rule, describe_all, judge_history
from gauntlet.hud.performance import charts, frames
from gauntlet.hud.reading import Reader

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:y)"


def table_with(shown, column):
    return next(table for table in shown.tables if column in table.columns)


def test_an_empty_warehouse_says_what_fills_it(show):
    assert "No nightly load" in show("performance").text


def test_all_series_are_listed_the_gravest_first_with_how_far_they_moved(show, location):
    fill(location, *nightly(), *nightly(recipe="calm", step_at=99))
    shown = show("performance")
    table = next(t for t in shown.tables if "newest" in t and "▼ worse" in set(t["state"]))
    assert list(table["state"])[:3] == ["▼ worse"] * 3
    assert list(table["recipe"]) == ["sweep"] * 3 + ["calm"] * 3
    assert table["change"][0].startswith("+10.")
    assert set(table["missing"]) == {"0 of 14"}
    assert table["link"][0].startswith("./performance?series=sweep-c")
    assert "**3** worse" in shown.text
    assert set(table_with(shown, "commits")["kind"]) == {"regression"}


def test_the_list_asks_little_and_nothing_again(show, location):
    fill(location, *nightly(nights=3))
    reader = Reader(location)
    first = show("performance", reader).asked.copy()
    assert first == {
        "known_statistics": 1,
        "known_series": 1,
        "history of all series": 1,
        "missing_points": 1,
    }
    assert show("performance", reader).asked == first


def test_one_series_shows_its_changes_its_holes_and_what_may_explain_them(show, location):
    fill(
        location,
        *nightly(left_out=(12, 25), new_setting_at=8),
        *nightly(recipe="other", step_at=99),
        note("sweep-c4", f"driver {HOSTILE}", actor="ann"),
    )
    shown = show("performance", series="sweep-c4")
    assert "verdict ▼ worse" in shown.text
    assert "TPOT p50 rose by" in "\n".join(each.value for each in shown.test.get("text"))
    changes = table_with(shown, "commits")
    assert set(changes["state"]) == {"▼ worse"}
    assert changes["compare"][0].startswith("./compare?baseline=commit")
    events = table_with(shown, "text")
    assert list(events["what"]).count("missing") == 2
    assert "driver 580 -> 590" in "\n".join(events["text"])
    assert f"ann: driver {HOSTILE}" in "\n".join(events["text"])
    assert "onerror" not in shown.text


def test_one_series_asks_little_and_nothing_again(show, location):
    fill(location, *nightly(nights=3))
    reader = Reader(location)
    first = show("performance", reader, series="sweep-c4").asked.copy()
    assert first == {
        "known_statistics": 1,
        "known_series": 1,
        "history of a recipe": 1,
        "decisions_about": 1,
        "series_repetitions": 1,
        "frontier of a recipe": 1,
        "missing_points": 1,
    }
    assert show("performance", reader, series="sweep-c4").asked == first


def test_long_ranges_ask_for_no_repetitions(show, location):
    fill(location, *nightly(nights=3))
    shown = show("performance", series="sweep-c4", range="all")
    assert "series_repetitions" not in shown.asked
    assert "faint points" not in shown.text


def test_a_sweep_has_a_frontier_against_the_build_before(show, location):
    fill(location, *nightly(nights=10, step_at=9))
    shown = show("performance", series="sweep-c4")
    said = "\n".join(each.value for each in shown.test.get("text"))
    assert "frontier/random/128x64/hypervolume" in said


def test_a_recipe_of_one_point_and_one_build_says_why_it_has_no_frontier(show, location):
    rows = [row for row in nightly(nights=1) if row.repetition_id.count("/c4/")]
    fill(location, *rows)
    assert "one build of this recipe only" in show("performance", series="sweep-c4").text


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ({"series": "nope"}, "No series nope; showing all of them"),
        ({"metric": "nope"}, "No metric nope; showing tpot\\_ms"),
        ({"statistic": "nope"}, "No statistic nope; showing p50"),
        ({"series": "sweep-c1", "range": "nope"}, "No range nope; showing 90 days"),
        ({"series": HOSTILE}, "No series \\<img"),
    ],
    ids=["series", "metric", "statistic", "range", "hostile"],
)
def test_an_address_that_names_what_is_not_there_is_said(show, location, query, said):
    fill(location, *nightly(nights=3))
    assert said in show("performance", **query).text


def test_a_series_without_the_number_says_so(show, location):
    plain = {"run_id": "r", "repetition_id": "r/1", "series_id": "bare", "side": "single"}
    at = nightly(nights=1)[0].started_at
    fill(
        location,
        *nightly(nights=3),
        repetition_row(**plain, recipe="sweep", started_at=at, ended_at=at),
        metric_row(**plain, metric="e2e_ms", value=None),
    )
    shown = show("performance", series="bare")
    assert "no such number" in shown.text


def test_a_point_that_was_refused_is_listed_as_missing_with_its_reason(show, location):
    rows = nightly(nights=4)
    last = max(row.started_at for row in rows if hasattr(row, "started_at"))
    refused = [
        row.model_copy(update={"status": "invalid", "reasons": ("warm cache",)})
        if getattr(row, "started_at", None) == last and row.point == "concurrency=4"
        else row
        for row in rows
    ]
    fill(location, *refused)
    table = table_with(show("performance"), "nights_seen")
    assert list(table["why"]) == ["warm cache"]


def test_levels_lie_between_changes_with_their_intervals():
    numbers = [10.0, 10.1, 9.9, 10.05] * 6 + [12.0, 12.1, 11.9, 12.05] * 6
    (one,) = describe_all([described(numbers=numbers).series], describe)
    levels = frames.levels_frame(one, FIRST)
    assert list(levels["value"].round(1)) == [10.0, 12.0]
    assert (levels["lower"] < levels["value"]).all()
    assert (levels["upper"] > levels["value"]).all()
    assert list(levels["n"]) == [24, 24]
    late = frames.levels_frame(one, date(2026, 2, 1))
    assert len(late) == 1
    assert late["from"].min() == pd.Timestamp("2026-02-01", tz="UTC")


def test_a_hole_is_a_mark_of_its_own_and_no_value():
    one = described(numbers=(10.0, None, 10.0))
    nights = frames.nights_frame(one.series, FIRST)
    assert nights["value"].isna().sum() == 1
    assert list(frames.missing_frame(nights)["text"]) == [
        "2026-01-02: measured, but without this number"
    ]


def test_changes_come_newest_first_and_alarms_are_no_losses_yet():
    one = described(shape(change(10), change(20, -3.0), alarm=alarm(29)))
    report = judge_history([one], Rule())
    table = frames.changes_frame(report.findings)
    assert list(table["night"]) == ["2026-01-30", "2026-01-21", "2026-01-11"]
    assert list(table["kind"]) == ["alarm", "improvement", "regression"]
    assert list(table["state"]) == ["inconclusive", "better", "worse"]
    assert table["interval"][2] == "+4.5 to +5.5 %"


def test_names_are_ordered_as_people_count():
    assert sorted(["c=16", "c=1", "c=128", "c=4"], key=frames.natural) == [
        "c=1",
        "c=4",
        "c=16",
        "c=128",
    ]


def test_the_chart_says_unit_and_direction_and_draws_no_hole_as_a_value():
    one = described(shape(change(10)), numbers=(10.0, None, *[10.0] * 28))
    nights = frames.nights_frame(one.series, FIRST)
    drawn = charts.History(
        nights=nights,
        repetitions=frames.repetitions_frame([], FIRST),
        levels=frames.levels_frame(one, FIRST),
        changes=frames.changes_frame(judge_history([one], Rule()).findings),
        events=frames.missing_frame(nights),
    )
    words = charts.Words(
        place="p", metric=TPOT.metric, statistic="p50", unit="ms", higher_is_better=False
    )
    chart = charts.history(drawn, words).to_dict()
    assert words.title == "tpot p50 (ms), lower is better"
    values = [row["value"] for rows in chart["datasets"].values() for row in rows if "n" in row]
    assert len(values) == 29
    assert "▼ 01-11 +5.0 %" in str(chart)
