"""The page Durations and cost: builds as waterfalls, jobs that take long, money and time lost."""

from datetime import timedelta
from itertools import pairwise

import pandas as pd
import pytest
from factories import attempt_row, batch, build_row, failure_row, price_row
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.core.clock import utc_now
from gauntlet.hud.durations import charts, frames
from gauntlet.hud.durations.waterfall import MOST_BARS, Bar, bars, choose, frontier, pieces
from gauntlet.warehouse.rollups import roll_up
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:y)"
START = utc_now().replace(second=0, microsecond=0) - timedelta(days=2)
MINUTE = timedelta(minutes=1)


def minute(number):
    return None if number is None else START + number * MINUTE


def bar(name, could_run, started, finished, **changes):
    fields = {"label": name, "state": "passed", "queue": "gpu", "host": "h"}
    times = {"could_run_at": minute(could_run), "started_at": minute(started)}
    return Bar(job_id=name, finished_at=minute(finished), **{**fields, **times, **changes})


def job(key, could_run, started, finished, *, number=7, **changes):
    fields = {
        "created_at": START,
        "runnable_at": minute(could_run),
        "started_at": minute(started),
        "finished_at": minute(finished),
    }
    return attempt_row(key, number, **{**fields, **changes})


def build_of_four():
    lost = job("lint", 0, 1, 16, state="failed", exit_status=1, queue="unpriced")
    build = build_row(7, created_at=START, finished_at=minute(60), state="failed")
    jobs = [
        job("image", 0, 1, 20),
        lost,
        job("models", 20, 22, 60, job_name=HOSTILE),
        job("later", 20, None, None, state="scheduled", exit_status=None),
    ]
    return build, [build, *jobs, failure_row(lost), price_row()]


@pytest.fixture
def build_id(location):
    build, rows = build_of_four()
    with open_store(location) as store:
        store.insert(batch("build", *rows))
        roll_up(store)
    return str(build.build_id)


def test_an_empty_warehouse_says_how_to_fill_it(show):
    shown = show("durations", build="b", job="j")
    assert "No build of main is recorded" in shown.text
    assert "No day of job attempts is rolled up" in shown.text
    assert "No attempt of this job is known" in shown.text
    assert "does not hold" in shown.text
    assert "build_timeline" not in shown.asked


def test_what_takes_long_and_what_it_costs(show, build_id):
    shown = show("durations")
    builds, longest = shown.tables
    assert list(builds["number"]) == [7]
    assert list(builds["jobs"]) == [4]
    assert f"./durations?build={build_id}" in shown.text
    assert list(longest["job_key"])[:2] == ["models", "image"]
    assert list(longest["p50_min"])[:2] == [38.0, 19.0]
    assert longest["p50_min"][2:].isna().all()  # never passed
    assert set(longest["direction"]) == {"✶ new"}
    assert "6 USD in 14 days" in shown.text
    assert "hours ran on queues without a price" in shown.text
    questions = ("recent_builds", "longest_jobs", "costs", "minutes_lost")
    assert dict(shown.asked) == dict.fromkeys(questions, 1)
    again = show("durations", shown.reader, build=build_id, job="models")
    assert dict(again.asked) == dict.fromkeys((*questions, "build_timeline", "job_trend"), 1)
    assert "4 attempts, 1 h from" in again.text
    assert "the 2 on the completion frontier" in again.text
    assert "onerror" not in again.text
    assert len(again.test.get("vega_lite_chart")) == 5
    wrong = show("durations", shown.reader, days="1000", build="<b>")
    assert "No days 1000; showing 14" in wrong.text
    assert "does not hold" in wrong.text


def test_the_frontier_goes_back_from_the_last_end_to_the_begin():
    drawn = [
        bar("image", 0, 1, 20),
        bar("lint", 0, 1, 5),
        bar("tests", 20, 25, 40),
        bar("long", 0, 2, 58),
        bar("report", 40, 41, 60),
    ]
    assert frontier(drawn, START) == ["image", "tests", "report"]


@pytest.mark.parametrize(
    ("drawn", "path"),
    [
        ([], []),
        ([bar("runs", 0, 1, None)], []),
        ([bar("first", 0, 1, 5), bar("at once", 0, 1, 9)], ["at once"]),
        ([bar("late", 7, 8, 9)], ["late"]),
        # Its clock says that it ended before it could run.
        ([bar("first", 0, 1, 5), bar("odd", 8, 8, 6)], ["first", "odd"]),
        # Neither took any time: they must not name each other for ever.
        ([bar("a", 5, 5, 5), bar("b", 5, 5, 5)], ["a", "b"]),
    ],
    ids=["no job", "none ended", "all at once", "nothing before", "clock", "no time"],
)
def test_the_frontier_of_odd_builds(drawn, path):
    assert frontier(drawn, START) == path


MINUTES = st.integers(0, 50)


@settings(max_examples=50)
@given(st.lists(st.tuples(MINUTES, MINUTES, MINUTES), max_size=40))
def test_each_step_of_a_frontier_ended_before_the_next_could_run(times):
    drawn = [bar(str(n), a, a + b, a + b + c) for n, (a, b, c) in enumerate(times)]
    by_id = {each.job_id: each for each in drawn}
    path = [by_id[each] for each in frontier(drawn, START)]
    assert len(path) == len(set(path))
    for before, after in pairwise(path):
        assert before.finished_at <= after.could_run_at
        between = [
            each
            for each in drawn
            if each is not after and before.finished_at < each.finished_at <= after.could_run_at
        ]
        assert not between
    if drawn:
        assert path[-1].finished_at == max(each.finished_at for each in drawn)


def test_the_path_and_the_longest_are_drawn_of_a_large_build():
    short_path = bar("needed", 0, 0, 1)
    last = bar("last", 1, 2, 200)
    many = [bar(f"job {n}", 1, 2, 10 + n) for n in range(100)]
    shown = choose([short_path, last, *many], ["needed", "last"], minute(300))
    assert len(shown) == MOST_BARS
    assert shown[0] is short_path
    assert {"last", "job 99"} <= {each.label for each in shown}
    assert "job 0" not in {each.label for each in shown}


def test_waits_and_runs_are_told_apart_and_open_ends_last_until_now():
    drawn = [bar("done", 0, 2, 5), bar("runs", 1, 3, None), bar("waits", 4, None, None)]
    found = pieces(drawn, ["done"], START, minute(10))
    columns = ["label", "what", "begin_min", "end_min"]
    assert found[columns].to_numpy().tolist() == [
        ["◆ done", "wait", 0, 2],
        ["◆ done", "run, on the frontier", 2, 5],
        ["runs", "wait", 1, 3],
        ["runs", "run", 3, 10],
        ["waits", "wait", 4, 10],
    ]
    encoding = charts.waterfall(found).to_dict()["encoding"]
    assert encoding["size"]["scale"]["range"] == [4, 12, 12]


def test_bars_have_a_label_of_their_own():
    row = {
        "job_id": "1", "job_key": "k", "job_name": "", "shard": None, "attempt": 1,
        "state": "failed", "soft_failed": True, "queue": "q", "host": "h",
        "could_run_at": START, "started_at": None, "finished_at": None,
    }  # fmt: skip
    rows = [row, row, {**row, "job_name": "n", "shard": 2, "attempt": 3}]
    assert [each.label for each in bars(rows)] == ["k", "k #2", "n shard 2 attempt 3"]
    assert bars(rows)[0].state == "soft failed"


def test_a_day_on_which_nothing_passed_is_a_gap():
    row = {"day": START.date(), "attempts": 1, "passed": 0}
    quantiles = {"run_s_p50_p90_p99": [float("nan")] * 3, "wait_s_p50_p90_p99": [60, 120, 180]}
    trend = frames.trend([row | quantiles])
    assert list(trend["minutes"].isna()) == [True, True, True, False, False, False]
    assert list(trend["minutes"])[3:] == [1, 2, 3]


def test_only_the_dearest_groups_are_drawn():
    costs = pd.DataFrame(
        {"group_key": [f"g{n}" for n in range(25)], "vendor": "", "cost_usd": range(25)}
    )
    kept, left_out = frames.dearest(costs)
    assert left_out == 5
    assert "g24" in set(kept["group_key"])
    assert set(kept["vendor"]) == {"no price list"}


def test_a_change_is_pointed_out_from_five_percent_on():
    rows = pd.DataFrame({"change": [0.05, -0.2, 0.049, None], "p50_min_before": [1, 1, 1, None]})
    assert list(frames.longest(rows)["direction"]) == ["longer", "shorter", "alike", "new"]
