"""The page Jobs and tests: lists, one job, one test, over a small history with hostile names."""

from datetime import UTC, datetime

import pytest
from ci_history import HOSTILE, HOSTILE_JOB, LINE, MARKDOWN, fill, quarantine_row, sha_of
from factories import NOON, batch

from gauntlet.hud.jobs import charts
from gauntlet.hud.jobs.frames import (
    durations_of_job,
    durations_of_test,
    nearest_names,
    outcomes_of_test,
    quarantines_of,
    troubled_jobs,
    troubled_tests,
)
from gauntlet.hud.jobs.headline import (
    commit_html,
    headline_html,
    lines_about_job,
    lines_about_test,
    quarantine_line,
)
from gauntlet.hud.reading import Reader
from gauntlet.hud.shell.times import Zone
from gauntlet.warehouse.store import open_store

NODEID = "tests/k.py::breaks[<b>]"
COMMIT = {
    "sha": sha_of(6),
    "title": HOSTILE,
    "author": MARKDOWN,
    "pull_request": 60,
    "committed_at": NOON,
    "repository": "acme/engine",
}
STREAK = {
    "job_key": "kernels-1",
    "group_key": "kernels",
    "state": "broken",
    "failures_in_a_row": 1,
    "first_bad": sha_of(6),
    "last_good": sha_of(4),
    "unknown_between": 1,
    "flips": 1,
    "flaky_commits": 0,
    "commits": 7,
}
QUARANTINE = {
    "subject": "job/kernels-1",
    "reason": "slow",
    "actor": "ann",
    "evidence": '{"owner": "team-kernels", "since": 3}',
    "expires_at": None,
}


@pytest.fixture(scope="module")
def location(tmp_path_factory):
    folder = str(tmp_path_factory.mktemp("jobs") / "warehouse")
    with open_store(folder) as store:
        fill(store)
        held = [
            quarantine_row("job/engine-1"),
            quarantine_row(f"test/{NODEID}"),
            quarantine_row("job/kernels-1"),
            quarantine_row("job/kernels-1", "released", n=5),
        ]
        store.insert(batch("held", *held))
    return folder


def address(name):
    return f"./jobs?x={name}"


def test_the_list_of_jobs_has_a_row_each_with_its_quarantine():
    held = quarantines_of([QUARANTINE])
    flaky = STREAK | {"job_key": "b", "group_key": "g", "state": "flaky", "unknown_between": None}
    frame = troubled_jobs([STREAK, flaky], held, address)
    assert list(frame["shown"]) == ["✕ broken", "~ flaky"]
    assert list(frame["owner"]) == ["team-kernels", ""]
    assert list(frame["unknown_between"]) == ["1", ""]
    assert list(troubled_jobs([STREAK, flaky], held, address, "KERN")["job_key"]) == ["kernels-1"]
    assert troubled_jobs([STREAK], held, address, "nothing").empty


@pytest.mark.parametrize("evidence", ["", "{}", "[]", "not json", '{"owner": 7}'])
def test_a_quarantine_that_names_no_owner_is_its_recorder_s(evidence):
    (found,) = quarantines_of([QUARANTINE | {"evidence": evidence}]).values()
    assert found.owner == "ann"


def test_the_list_of_tests_is_found_by_test_or_job():
    row = {"nodeid": NODEID, "state": "failing", "failed": 2, "flaky": 0, "runs": 4}
    row |= {"failure_rate": 0.5, "first_failed": NOON, "last_failed": NOON}
    row |= {"jobs": ["kernels-1"], "queues": ["h100", "l4"]}
    frame = troubled_tests([row], {}, address, "kernels-1")
    assert list(frame["shown"]) == ["✕ failing"]
    assert list(frame["queues"]) == ["h100, l4"]
    assert troubled_tests([row], {}, address, "engine").empty


def test_days_without_a_passed_attempt_are_gaps_not_zeros():
    nan = float("nan")
    rows = [
        {"day": NOON.date(), "attempts": 2, "passed": 1, "failed": 1}
        | {"run_s_p50_p90_p99": [60.0, 120.0, 180.0]},
        {"day": NOON.date(), "attempts": 1, "passed": 0, "failed": 1}
        | {"run_s_p50_p90_p99": [nan, nan, nan]},
    ]
    frame = durations_of_job(rows)
    assert list(zip(frame["quantile"], frame["value"], strict=True)) == [("p50", 1.0), ("p90", 2.0)]
    assert durations_of_job(rows[1:]).empty
    chart = charts.durations(frame, unit="minutes").to_dict()
    assert chart["encoding"]["y"]["title"] == "minutes (lower is better)"


def test_a_test_without_times_has_no_durations():
    row = {"day": NOON.date(), "runs": 2, "failed": 0, "mean_ms": None, "most_ms": None}
    assert durations_of_test([row]).empty
    assert list(durations_of_test([row | {"mean_ms": 2.0}])["quantile"]) == ["mean"]


def test_results_of_a_test_are_folded_by_queue_and_commit():
    def result(queue, position, outcome):
        return {"queue": queue, "position": position, "outcome": outcome}

    found = outcomes_of_test(
        [
            result("h100", 6, "failed"),
            result("h100", 6, "passed"),
            result("l4", 6, "error"),
            result("l4", 5, "skipped"),
            result("l4", None, "failed"),
        ]
    )
    assert [(row["queue"], row["position"], row["state"]) for row in found] == [
        ("h100", 6, "flaky"),
        ("l4", 6, "failed"),
        ("l4", 5, "not run"),
    ]


def test_names_that_are_nearly_so_are_offered_nearest_first():
    assert nearest_names("kernelz-1", ["kernels-1", "docs-1", "kernels-12"])[0] == "kernels-1"
    assert nearest_names("zzz", ["kernels-1"]) == []


def test_a_commit_is_named_with_what_is_known_and_escaped():
    html = commit_html(sha_of(6), {sha_of(6): COMMIT}, Zone())
    assert "<img" not in html
    assert f"https://github.com/acme/engine/commit/{sha_of(6)}" in html
    assert "https://github.com/acme/engine/pull/60" in html
    assert commit_html(sha_of(1), {}, Zone()) == f"<code>{sha_of(1)[:10]}</code>"
    assert commit_html("", {}, Zone()) == "not known"


def test_a_broken_job_says_first_bad_and_last_good_or_that_it_is_older():
    lines = lines_about_job(STREAK, [COMMIT], Zone(), commits_seen=200)
    assert lines[0].startswith("First bad: ")
    assert sha_of(4)[:10] in lines[1]
    assert "1 failure in a row, 1 flip" in lines[2]
    older = lines_about_job(STREAK | {"last_good": ""}, [], Zone(), commits_seen=200)
    assert "none in the newest 200 commits" in older[1]
    assert lines_about_job(None, [], Zone(), commits_seen=9) == [
        "Neither broken nor flaky in the newest 9 commits."
    ]


def test_a_test_is_spoken_of_queue_by_queue():
    row = {"queue": HOSTILE, "commits": 4, "flips": 2, "flaky_commits": 1}
    row |= {"failing_since": sha_of(6), "first_failure": sha_of(2), "last_success": sha_of(4)}
    passing = row | {"failing_since": ""}
    never = passing | {"first_failure": ""}
    lines = lines_about_test([row, passing, never], [COMMIT], Zone())
    assert ["failing since" in lines[0], "passes now" in lines[1], "never failed" in lines[2]] == [
        True,
        True,
        True,
    ]
    assert "<img" not in headline_html("failed", HOSTILE, lines)


def test_a_quarantine_says_owner_reason_and_end():
    (held,) = quarantines_of(
        [QUARANTINE | {"reason": HOSTILE, "expires_at": datetime(2026, 3, 1, tzinfo=UTC)}]
    ).values()
    (line,) = quarantine_line(held, Zone())
    assert "until 2026-03-01 00:00, owner team-kernels" in line
    assert "<img" not in line
    assert quarantine_line(None, Zone()) == []


def test_an_empty_warehouse_says_that_nothing_is_in_trouble(show, tmp_path):
    text = show("jobs", Reader(str(tmp_path / "empty"))).text
    assert "No job is broken or flaky" in text
    assert "No test failed" in text


def test_the_list_shows_jobs_and_tests_in_trouble_and_asks_once(show, location):
    reader = Reader(location)
    jobs, tests = show("jobs", reader).tables
    assert list(zip(jobs["shown"], jobs["job"], strict=True)) == [
        ("✕ broken", "./jobs?job=kernels-1"),
        ("~ flaky", "./jobs?job=engine-1"),
    ]
    assert list(jobs["owner"]) == ["", "ann"]
    assert list(tests["shown"]) == ["✕ failing"]
    assert list(tests["owner"]) == ["ann"]
    asked = {"quarantines": 1, "job_streaks": 1, "tests_in_trouble": 1}
    assert reader.asked == asked
    show("jobs", reader)
    assert reader.asked == asked


def test_the_list_is_filtered_by_the_address(show):
    shown = show("jobs", find="engine")
    assert list(shown.tables[0]["job"]) == ["./jobs?job=engine-1"]
    assert "No test in trouble has that" in shown.text


def test_a_broken_job_says_since_when_and_who_is_suspected(show, location):
    reader = Reader(location)
    shown = show("jobs", reader, job="kernels-1")
    assert "broken" in shown.text
    assert f'First bad: <a href="https://github.com/acme/engine/commit/{sha_of(6)}' in shown.text
    assert "2 commits after the last good one" in shown.text
    assert list(shown.tables[0]["short"]) == [sha_of(6)[:10], sha_of(5)[:10]]
    assert f"h100 at {sha_of(6)[:10]} (Change 6): failed" in shown.text
    assert f"h100 at {sha_of(7)[:10]} (&lt;img" in shown.text
    assert LINE in list(shown.tables[-1]["line"])
    once = ("quarantines", "job_history", "job_streaks", "job_outcomes", "decisions_about")
    once += ("job_trend", "tests_in_trouble")
    assert reader.asked == dict.fromkeys(once, 1) | {"commits_between": 2}
    before = dict(reader.asked)
    show("jobs", reader, job="kernels-1")
    assert reader.asked == before


def test_a_flaky_job_in_quarantine_says_both(show):
    text = show("jobs", job="engine-1").text
    assert "failed and passed on 1 of 7 commits" in text
    assert "owner ann: fails too often" in text


def test_a_job_with_a_hostile_name_is_only_a_name(show):
    shown = show("jobs", job=HOSTILE_JOB)
    assert HOSTILE not in shown.text
    assert "Neither broken nor flaky" in shown.text
    assert shown.test.code[0].value == HOSTILE_JOB


def test_an_unknown_job_offers_names_that_are_nearly_so(show):
    text = show("jobs", job="kernelz-1").text
    assert "No attempt of this job is known" in text
    assert 'href="./jobs?job=kernels-1"' in text
    hostile = show("jobs", job=HOSTILE * 2).text
    assert HOSTILE not in hostile
    assert "nearly so" in hostile


def test_a_test_says_since_when_on_which_queue_and_why(show, location):
    reader = Reader(location)
    shown = show("jobs", reader, test=NODEID)
    assert "failing since" in shown.text
    assert "<b>h100</b>" in shown.text
    assert HOSTILE not in shown.text
    assert HOSTILE in [each.value for each in shown.test.code]
    assert "owner ann" in shown.text
    assert list(shown.tables[0]["shown"])[:2] == ["✕ failed", "✕ failed"]
    once = ("quarantines", "test_history", "test_streak", "commits_between", "test_trend")
    once += ("decisions_about",)
    assert reader.asked == dict.fromkeys(once, 1)


def test_an_unknown_test_offers_names_that_are_nearly_so(show):
    text = show("jobs", test="tests/k.py::break").text
    assert "No result of this test is known" in text
    assert "tests/k.py::breaks[&lt;b&gt;]" in text
