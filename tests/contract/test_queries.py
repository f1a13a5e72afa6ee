"""Named queries against a small history whose answers are known by hand.

Eight commits. ``kernels`` breaks at commit 6 (7 did not run it), ``engine`` is flaky at 4,
``lora`` lost its machine at 3 and passed when it was retried, ``docs`` only fails softly.
"""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from uuid import uuid5

import pytest
from factories import (
    NAMESPACE,
    NOON,
    attempt_row,
    batch,
    build_row,
    commit_row,
    decision_row,
    failure_row,
    gpu_row,
    metric_row,
    price_row,
    queue_row,
    repetition_row,
    request_row,
    run_row,
    sample_row,
    sha_of,
)
from stores import embedded_store

from gauntlet.analyzer.accuracy.judge import judge_accuracy
from gauntlet.analyzer.accuracy.stored import stored_repetition, stored_run
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.named_queries import load_query, query_names
from gauntlet.warehouse.rollups import roll_up, stale_days
from gauntlet.warehouse.rows.ci import GpuSampleRow, QueuePriceRow, QueueSampleRow, SpanRow
from gauntlet.warehouse.rows.ingest import RejectedRow
from gauntlet.warehouse.rows.measurement import EvalResultRow

MINUTE = timedelta(minutes=1)
# Queries speak of the last days: the history has to be young.
SHIFT = utc_now().replace(hour=12, minute=0, second=0, microsecond=0) - timedelta(days=2) - NOON


def young(row):
    """Move a row's times into the last days."""
    moved = {
        name: value + SHIFT
        for name in type(row).model_fields
        if isinstance(value := getattr(row, name), datetime)
    }
    return row.model_copy(update=moved)


def attempts():
    found, failures = [], []

    def failed(key, number, attempt=1, cause="test_regression", **changes):
        row = attempt_row(key, number, attempt, state="failed", exit_status=1, minutes=6, **changes)
        found.append(row)
        failures.append(failure_row(row, cause))

    for number in range(1, 9):
        found.append(attempt_row("models", number, queue="big"))
        if number == 4:
            failed("engine", 4, cause="flaky", retried=True)
        found.append(attempt_row("engine", number, attempt=2 if number == 4 else 1))
        if number == 3:
            failed("lora", 3, cause="infra_machine", retried=True)
        found.append(attempt_row("lora", number, attempt=2 if number == 3 else 1))
        if number in {6, 8}:
            failed("kernels", number)
        elif number != 7:
            found.append(attempt_row("kernels", number))
        found.append(attempt_row("docs", number, state="failed", soft_failed=True))
    return found, failures


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with embedded_store(tmp_path_factory.mktemp("queries") / "warehouse") as opened:
        jobs, failures = attempts()
        rows = [*jobs, *failures]
        rows += [commit_row(n) for n in range(1, 9)]
        rows += [build_row(n, state="failed" if n in {6, 8} else "passed") for n in range(1, 9)]
        rows += [
            QueuePriceRow(
                queue="gpu", vendor="nvidia", usd_per_hour=6.0, valid_from=NOON, version=0
            )
        ]
        samples = [(0, 0, 2, None), (10, 4, 0, 120.0), (20, 9, 0, 1800.0)]
        rows += [
            QueueSampleRow(
                at=NOON + timedelta(minutes=m),
                queue="gpu",
                agents_total=4,
                agents_busy=4 - idle,
                agents_idle=idle,
                jobs_waiting=waiting,
                jobs_running=4 - idle,
                oldest_wait_s=oldest,
            )
            for m, waiting, idle, oldest in samples
        ]
        opened.insert(batch("history", *map(young, rows)))
        _insert_tests(opened, jobs)
        opened.insert(batch("runs", *map(young, measurements())))
        roll_up(opened)
        yield opened


def _insert_tests(store, jobs):
    """One test that fails where its job does, one that always passes, one that is skipped."""
    store.command(
        "INSERT INTO tests VALUES (1, 'engine', 't.py::breaks', 't.py', 7),"
        " (2, 'engine', 't.py::holds', 't.py', 7), (3, 'engine', 't.py::skipped', 't.py', 7)"
    )
    values, details = [], []
    for job in map(young, jobs):
        bad = job.state == "failed" and not job.soft_failed
        at = job.started_at.strftime("%Y-%m-%d %H:%M:%S")
        for test_id, outcome in ((1, "failed" if bad else "passed"), (2, "passed"), (3, "skipped")):
            values.append(
                f"({test_id}, '{job.job_id}', 0, '{outcome}', {100 * test_id}, '{job.sha}', 'main',"
                f" '{job.job_key}', '{job.queue}', '{at}', 7)"
            )
        if bad:
            details.append(f"(1, '{job.job_id}', 0, 'failed', 'no', '', 't.py', 3, '{at}', 7)")
    store.command(f"INSERT INTO test_results VALUES {', '.join(values)}")
    store.command(f"INSERT INTO test_details VALUES {', '.join(details)}")
    days = sorted({young(job).started_at.date() for job in jobs})
    for day in days:
        store.command(
            "INSERT INTO batches"
            " VALUES ('test_results', {day: Date}, 7, 'tests', 'test', 1, now64(3))",
            {"day": day},
        )


def measurements():
    rows = []
    for night, fp in enumerate(["a", "a", "b"]):
        for side, value in (("single", 10.0 + night),):
            key = {"run_id": f"n{night}", "repetition_id": f"n{night}/r", "side": side}
            start = NOON - timedelta(days=2 - night)
            rows.append(
                repetition_row(
                    **key,
                    recipe="nightly",
                    point="c=1",
                    config_fp=fp,
                    started_at=start,
                    ended_at=start,
                    engine_commit=f"commit{night}",
                    series_id="s1",
                )
            )
            rows.append(metric_row(**key, value=value, series_id="s1"))
        if night < 2:
            key = {"run_id": f"n{night}", "repetition_id": f"n{night}/x", "side": "single"}
            rows.append(
                repetition_row(
                    **key,
                    recipe="nightly",
                    point="c=2",
                    started_at=start,
                    ended_at=start,
                    series_id="s2",
                    engine_commit=f"commit{night}",
                )
            )
    for night in (0, 1):
        key = {"run_id": f"e{night}", "repetition_id": f"e{night}", "series_id": "e"}
        start = NOON - timedelta(days=2 - night)
        rows.append(
            repetition_row(
                **key,
                kind="eval",
                workload="gsm8k",
                side="single",
                started_at=start,
                ended_at=start,
            )
        )
        rows.append(
            EvalResultRow(
                **key,
                task="gsm8k",
                harness="lm-eval",
                harness_version=f"0.{night}",
                metric="acc",
                value=0.5 + night / 10,
                n=2,
            )
        )
        rows.append(sample_row(**key, side="single", item="q1", score=1.0))
        rows.append(
            sample_row(**key, side="single", item="q2", score=float(night), answer=str(night))
        )
    rows.append(decision_row(run_id="", kind="quarantine", subject="t.py::breaks", outcome="on"))
    rows.append(
        RejectedRow(
            source="junit",
            origin="f.xml",
            position="testcase 1",
            target="test_results",
            reasons=("time: -1",),
            raw="<x/>",
            at=NOON,
        )
    )
    return rows


def test_main_s_grid_tells_states_apart(store):
    grid = {row["position"]: row for row in store.query("main_grid", commits=8)}
    assert list(grid) == [8, 7, 6, 5, 4, 3, 2, 1]
    states = ("passed", "failed", "flaky", "infra")
    counts = {n: tuple(grid[n][state] for state in states) for n in grid}
    assert counts[8] == (4, 1, 0, 0)
    assert counts[7] == (4, 0, 0, 0)
    assert counts[4] == (4, 0, 1, 0)
    assert counts[3] == (4, 0, 1, 0)
    assert counts[1] == (5, 0, 0, 0)


def test_an_attempt_that_failed_for_its_machine_alone_is_infra(store):
    alone = young(attempt_row("lora", 9, state="failed", exit_status=-1))
    store.insert(batch("alone", alone, failure_row(alone, "infra_agent"), young(commit_row(9))))
    (row,) = store.query("main_grid", commits=1)
    assert (row["infra"], row["failed"], row["passed"]) == (1, 0, 0)


def test_broken_jobs_name_their_first_bad_and_last_good_commit(store):
    rows = {row["job_key"]: row for row in store.query("job_streaks", commits=8)}
    broken = rows["kernels"]
    assert (broken["state"], broken["failures_in_a_row"]) == ("broken", 2)
    assert (broken["first_bad"], broken["last_good"]) == (sha_of(6), sha_of(5))
    assert (broken["unknown_between"], broken["flips"]) == (0, 1)
    assert rows["engine"]["state"] == "flaky"
    assert rows["engine"]["flaky_commits"] == 1
    assert set(rows) <= {"kernels", "engine", "lora"}


def test_a_job_s_attempts_with_cause_minutes_and_cost(store):
    rows = store.query("job_history", job_key="engine")
    at_four = [row for row in rows if row["position"] == 4]
    assert [(row["attempt"], row["state"], row["failure_class"]) for row in at_four] == [
        (2, "passed", None),
        (1, "failed", "flaky"),
    ]
    assert at_four[1]["minutes"] == 6
    assert at_four[1]["cost_usd"] == pytest.approx(0.6)


def test_tests_in_trouble(store):
    (row,) = store.query("tests_in_trouble", days=7)
    assert (row["nodeid"], row["failed"], row["flaky"]) == ("t.py::breaks", 4, 2)
    assert row["jobs"] == ["engine", "lora", "kernels"] or set(row["jobs"]) == {
        "engine",
        "lora",
        "kernels",
    }


def test_a_test_s_history_and_streak(store):
    rows = store.query("test_history", nodeid="t.py::breaks")
    assert rows[0]["position"] == 8
    assert {row["message"] for row in rows if row["outcome"] == "failed"} == {"no"}
    (gpu,) = [r for r in store.query("test_streak", nodeid="t.py::breaks") if r["queue"] == "gpu"]
    assert (gpu["first_failure_position"], gpu["last_success_position"]) == (3, 8)
    assert gpu["flaky_commits"] == 4


def test_histories_of_tests_that_failed_come_in_merge_order_without_lost_machines(store):
    rows = store.query("test_histories")
    told = {row["job_key"]: row for row in rows}
    assert {row["nodeid"] for row in rows} == {"t.py::breaks"}
    assert set(told) == {"kernels", "engine"}  # lora's one failure was the machine's
    assert told["kernels"]["positions"] == [1, 2, 3, 4, 5, 6, 8]
    assert list(map(bool, told["kernels"]["failed"])) == [False] * 5 + [True] * 2
    assert list(map(bool, told["engine"]["failed"][3:5])) == [True, False]
    assert told["engine"]["shas"][3] == told["engine"]["shas"][4] == sha_of(4)
    assert store.query("test_histories", runs=2, limit=1)[0]["positions"] == [6, 8]


def test_histories_of_named_tests_come_whether_they_failed_or_not(store):
    rows = store.query("test_histories", nodeids="t.py::holds\nt.py::none")
    assert {(row["nodeid"], row["failures"]) for row in rows} == {("t.py::holds", 0)}
    of_file = store.query("test_histories", nodeids="t.py")
    assert {row["nodeid"] for row in of_file} == {"t.py::breaks", "t.py::holds"}
    assert store.query("test_histories", branch="other") == []


def test_histories_of_jobs_say_what_a_retry_costs(store):
    told = {row["job_key"]: row for row in store.query("job_histories")}
    assert set(told) == {"kernels", "engine"}
    assert (told["engine"]["runs"], told["engine"]["failures"]) == (9, 1)
    assert told["engine"]["attempt_min"] == pytest.approx((8 * 10 + 6) / 9)
    assert told["kernels"]["positions"] == [1, 2, 3, 4, 5, 6, 8]
    (named,) = store.query("job_histories", job_keys="models")
    assert (named["runs"], named["failures"]) == (8, 0)


def test_a_queue_is_congested_when_jobs_wait_and_nobody_is_idle(store):
    (row,) = store.query("queues_now")
    assert (row["jobs_waiting"], row["oldest_wait_s"], row["congested"]) == (9, 1800.0, True)
    (row,) = store.query("queues_now", wait_s=3600)
    assert row["congested"] is False
    steps = store.query("queue_history", queue="gpu", step_min=10)
    assert [step["most_waiting"] for step in steps] == [0, 4, 9]


def test_longest_jobs_come_from_the_roll_ups(store):
    rows = store.query("longest_jobs", days=7)
    assert {row["job_key"] for row in rows} == {"models", "engine", "lora", "kernels", "docs"}
    models = next(row for row in rows if row["job_key"] == "models")
    assert (models["attempts"], models["p50_min"], models["change"]) == (8, 10.0, None)
    trend = store.query("job_trend", job_key="models")
    assert sum(row["attempts"] for row in trend) == 8


def test_what_changed_between_two_builds(store):
    rows = store.query("build_differences", before=5, after=6)
    assert [
        (row["job_key"], row["before"], row["after"], row["newly_failing"]) for row in rows
    ] == [("kernels", "passed", "failed", 1)]
    gone = store.query("build_differences", before=6, after=7)
    assert [(row["job_key"], row["after"], row["fixed"]) for row in gone] == [
        ("kernels", "not run", 1)
    ]
    assert len(store.query("build_jobs", build=4)) == 6


def test_a_series_breaks_where_its_configuration_changes(store):
    rows = [
        row for row in store.query("series_history", recipe="nightly") if row["series_id"] == "s1"
    ]
    assert [(row["value"], row["segment"]) for row in rows] == [(10.0, 1), (11.0, 1), (12.0, 2)]


def test_two_builds_are_laid_side_by_side(store):
    (same,) = store.query("compare_images", before="commit0", after="commit1")
    assert (same["before"], same["after"], same["comparable"]) == ([10.0], [11.0], True)
    (other,) = store.query("compare_images", before="commit1", after="commit2")
    assert other["comparable"] is False


def test_scores_over_time_and_the_answers_behind_them(store):
    rows = store.query("eval_history", task="gsm8k")
    assert [(row["value"], row["harness_version"]) for row in rows] == [(0.5, "0.0"), (0.6, "0.1")]
    (changed,) = store.query("eval_disagreements", task="gsm8k", before="e0", after="e1")
    assert (changed["item_id"], changed["score_before"], changed["score_after"]) == ("q2", 0.0, 1.0)
    assert (changed["answer_before"], changed["answer_after"]) == ("0", "1")


@pytest.mark.parametrize(
    ("shown", "items"),
    [("discordant", ["q2"]), ("wrong", ["q2"]), ("all", ["q2", "q1"])],
    ids=["discordant", "wrong", "all"],
)
def test_answers_of_two_evals_to_the_same_questions(store, shown, items):
    asked = {"task": "gsm8k", "before": "e0", "after": "e1"}
    rows = store.query("eval_pairs", **asked, show=shown)
    assert [row["item_id"] for row in rows] == items
    assert {row["matching"] for row in rows} == {len(items)}
    assert rows[0]["change"] == "gained"
    assert store.query("eval_pairs", **asked, show=shown, find="nowhere") == []
    part = store.query("eval_pairs", **asked, show="all", limit=1, skip=1)
    assert [(row["item_id"], row["change"], row["matching"]) for row in part] == [
        ("q1", "both right", 2)
    ]


def test_questions_are_counted_by_who_answered_them_rightly(store):
    asked = {"task": "gsm8k", "before": "e0", "after": "e1"}
    (counts,) = store.query("eval_pair_counts", **asked)
    found = {name: number for name, number in counts.items() if number}
    assert found == {"both_right": 1, "gained": 1, "asked_before": 2, "asked_after": 2}
    (alone,) = store.query("eval_pair_counts", **{**asked, "after": "none"})
    assert (alone["only_before"], alone["lost"], alone["asked_after"]) == (2, 0, 0)


def test_one_question_with_the_answers_of_both_sides(store):
    rows = store.query("eval_item", task="gsm8k", item="q2", before="e0", after="e1")
    assert [(row["which"], row["answer"], row["score"]) for row in rows] == [
        ("before", "0", 0.0),
        ("after", "1", 1.0),
    ]


def test_scores_of_a_series_say_how_many_answers_are_kept(store):
    rows = store.query("series_scores", series_id="e", task="gsm8k")
    assert [(row["repetition_id"], row["value"], row["samples"]) for row in rows] == [
        ("e1", 0.6, 2),
        ("e0", 0.5, 2),
    ]


def test_nights_are_those_on_which_something_was_measured(store):
    nights = store.query("nights")
    newest = (NOON + SHIFT).date()
    assert [row["night"] for row in nights] == [newest - timedelta(days=n) for n in range(3)]
    assert [row["runs"] for row in nights] == [1, 2, 2]


def test_the_last_builds_of_two_nights_and_jobs_that_failed_in_either(store):
    # Builds of these rows have no end; without one they are not finished.
    assert store.query("night_builds", night=(NOON + SHIFT).date()) == []
    rows = store.query("night_jobs", before=3, after=8)
    assert [(row["job_key"], row["before"], row["after"]) for row in rows] == [
        ("kernels", "passed", "failed"),
        ("lora", "flaky", "passed"),
    ]


def test_answers_of_a_repetition_with_what_they_were_asked_with(store):
    (row,) = store.query("asked_with", repetition_id="e1")
    assert (row["workload"], row["harness"], row["harness_version"]) == ("gsm8k", "lm-eval", "0.1")
    assert (row["client"], row["status"], row["settings"]) == ("gauntlet-load", "valid", {})
    answers = store.query("answers", repetition_id="e1")
    assert [(each["item_id"], each["score"]) for each in answers] == [("q1", 1.0), ("q2", 1.0)]
    assert store.query("answers", repetition_id="e1", task="other") == []


def test_answers_of_a_run_are_those_of_its_valid_repetitions(store):
    assert [row["item_id"] for row in store.query("answers", run_id="e0")] == ["q1", "q2"]
    assert store.query("answers", run_id="e0", side="candidate") == []
    refused = {"run_id": "e9", "repetition_id": "e9", "side": "single"}
    store.insert(
        batch(
            "refused",
            young(repetition_row(**refused, kind="eval", status="invalid", reasons=("cut",))),
            sample_row(**refused),
        )
    )
    assert store.query("answers", run_id="e9") == []
    assert len(store.query("answers", repetition_id="e9")) == 1
    (row,) = store.query("asked_with", run_id="e9")
    assert (row["status"], row["reasons"], row["fewshot"]) == ("invalid", ["cut"], None)
    assert store.query("asked_with") == []


def test_two_repetitions_are_judged_from_the_warehouse(store):
    before, after = (stored_repetition(store, each)[0] for each in ("e0", "e1"))
    found = judge_accuracy(before, after)
    assert found.verdict.outcome == "config-changed"
    assert "harness version 0.0 → 0.1" in found.verdict.reason
    alike = judge_accuracy(before, replace(after, harness_version="0.0"))
    assert (alike.verdict.outcome, alike.verdict.effect) == ("inconclusive", 50.0)
    (run,) = stored_run(store, "e0", "")
    assert run.answers == before.answers
    with pytest.raises(UsageError, match="no eval repetition 'nowhere'"):
        stored_repetition(store, "nowhere")
    with pytest.raises(UsageError, match="no evals of run:e0:candidate"):
        stored_run(store, "e0", "candidate")


def test_minutes_lost_by_cause_and_costs_by_group(store):
    rows = {row["cause"]: row for row in store.query("minutes_lost", branch="main")}
    assert (rows["test_regression"]["attempts"], rows["test_regression"]["minutes"]) == (2, 12.0)
    assert rows["flaky"]["cost_usd"] == pytest.approx(0.6)
    # Softly failed attempts have no class; nobody looked.
    assert rows["unknown"]["attempts"] == 8
    costs = {row["vendor"]: row for row in store.query("costs")}
    assert costs["nvidia"]["cost_usd"] > 0
    assert costs[""]["hours_without_price"] == pytest.approx(8 * 10 / 60, abs=0.06)


def test_a_point_that_was_measured_before_is_missing_tonight(store):
    night = (NOON + SHIFT).date()
    rows = store.query("missing_points", night=night)
    assert [(r["workload"], r["point"], r["state"], r["nights_seen"]) for r in rows] == [
        ("random", "c=2", "missing", 2),
        ("gsm8k", "", "missing", 2),
    ]


def test_nights_of_a_series_are_told_apart_by_their_configuration(store):
    night = (NOON + SHIFT).date()
    rows = store.query("history_nights", recipes="nightly", night=night)
    mine = [row for row in rows if row["series_id"] == "s1"]
    assert [(row["config_fp"], [point[3] for point in row["points"]]) for row in mine] == [
        ("a", ["commit0", "commit1"]),
        ("b", ["commit2"]),
    ]
    values = store.query("history_values", recipes="nightly", night=night)
    by_build = {build: (v, n) for row in values for build, v, n in row["points"]}
    assert [by_build[point[0]] for row in mine for point in row["points"]] == [
        (10.0, 1),
        (11.0, 1),
        (12.0, 1),
    ]
    earlier = store.query("history_nights", recipes="nightly", night=night - timedelta(days=1))
    assert {row["config_fp"] for row in earlier if row["series_id"] == "s1"} == {"a"}


def test_a_night_is_the_day_on_which_its_run_began_and_its_value_the_median(store):
    evening = (NOON + SHIFT).replace(hour=23, minute=50)
    rows = []
    for n, value in enumerate([10.0, 30.0, 11.0, 12.0]):
        key = {"run_id": "late", "repetition_id": f"late/{n}", "series_id": "late"}
        at = evening + timedelta(minutes=8 * n)
        invalid = {"status": "invalid", "reasons": ("throttled: heat",)} if n == 1 else {}
        rows.append(
            repetition_row(
                **key, recipe="late", side="single", started_at=at, ended_at=at, **invalid
            )
        )
        rows.append(metric_row(**key, side="single", value=value))
    store.insert(batch("late", *rows))
    (row,) = store.query("history_nights", recipes="late", night=evening.date())
    (point,) = row["points"]
    assert (point[1], point[5], point[6]) == (evening.date(), 1, ["throttled: heat"])
    (values,) = store.query("history_values", recipes="late", night=evening.date())
    assert [found[1:] for found in values["points"]] == [(11.0, 3)]
    assert store.query("history_nights", recipes="late", night=evening.date() - timedelta(1)) == []


def test_commits_stand_in_the_merge_order(store):
    rows = store.query("commit_positions", commits=f"{sha_of(5)},{sha_of(2)},{'f' * 40}")
    assert [(row["repository"], row["position"]) for row in rows] == [("engine", 2), ("engine", 5)]


def test_scores_of_all_tasks_come_night_by_night(store):
    rows = store.query("score_history", night=(NOON + SHIFT).date())
    mine = [row for row in rows if row["series_id"] == "e"]
    assert [(row["value"], row["harness_version"]) for row in mine] == [(0.5, "0.0"), (0.6, "0.1")]


def test_values_of_reruns_are_those_of_valid_turns_of_both_builds(store):
    rows = []
    for pair, side in ((0, "baseline"), (0, "candidate"), (1, "candidate")):
        key = {"run_id": "again", "pair": pair, "side": side, "workload": "w"}
        build = "parent" if side == "baseline" else "suspect"
        row = repetition_row(**key, recipe="again", engine_commit=build, started_at=utc_now())
        bad = {"status": "invalid", "reasons": ("throttled",)} if pair else {}
        rows += [row.model_copy(update={"ended_at": utc_now(), **bad}), metric_row(**key)]
    store.insert(batch("again", *rows))
    found = store.query("rerun_values", recipes="again", builds="parent,suspect")
    assert [(row["engine_commit"], row["value"]) for row in found] == [
        ("parent", 10.0),
        ("suspect", 10.0),
    ]
    assert store.query("rerun_values", recipes="again", builds="others") == []


def test_alerts_are_found_by_what_their_subject_begins_with(store):
    rows = [
        young(decision_row(run_id="nightly/x", kind="alert", subject=subject, decision_id=subject))
        for subject in ("history/s1/tpot_ms/p50/rise/a", "other/s1")
    ]
    store.insert(batch("alerts", *rows))
    assert [row["subject"] for row in store.query("alerts")] == [rows[0].subject]


def test_the_definitions_of_runs_are_their_newest(store):
    rows = [run_row("defined", version=n, recipe_definition=text) for n, text in enumerate("ab")]
    store.insert(batch("definitions", *rows))
    (row,) = store.query("run_definitions", run_ids="defined,unknown")
    assert row["recipe_definition"] == "b"


def test_books_and_refusals(store):
    assert {row["source"] for row in store.query("freshness")} >= {"gauntlet", "test"}
    (row,) = store.query("refused", days=7)
    assert (row["reasons"], row["target"]) == (["time: -1"], "test_results")
    (row,) = store.query("decisions_about", subject="t.py::breaks")
    assert (row["kind"], row["outcome"]) == ("quarantine", "on")


def test_where_a_job_s_time_went_and_how_its_machine_was(store):
    job = uuid5(NAMESPACE, "spans")
    start = utc_now() - timedelta(hours=1)
    spans = [
        SpanRow(
            job_id=job,
            span_id=str(n),
            kind="section",
            name=name,
            started_at=start + n * MINUTE,
            duration_ms=60_000.0,
        )
        for n, name in enumerate(["checkout", "tests"])
    ]
    samples = [
        GpuSampleRow(
            at=start + n * MINUTE,
            host="h",
            gpu="0",
            utilization_pct=50.0 + n,
            throttle_bits=n % 2,
            sm_clock_mhz=1980.0 - n,
        )
        for n in range(4)
    ]
    store.insert(batch("machine", *spans, *samples))
    rows = store.query("job_spans", job_id=str(job))
    assert [(row["name"], row["duration_ms"]) for row in rows] == [
        ("checkout", 60_000.0),
        ("tests", 60_000.0),
    ]
    (gpu,) = store.query("gpu_history", host="h", step_min=1440)
    assert (gpu["samples"], gpu["throttled_samples"], gpu["least_sm_clock_mhz"]) == (4, 2, 1977.0)
    assert gpu["most_memory_mib"] is None


def test_what_pipelines_needs_of_the_past(store):
    jobs = {row["job_key"]: row["seconds"] for row in store.query("job_durations")}
    assert jobs["models"] == [600.0] * 8
    tests = {row["nodeid"]: row["seconds"] for row in store.query("test_durations")}
    assert tests["t.py::holds"][-1] == pytest.approx(0.2)
    (last,) = store.query("last_built")
    assert (last["sha"], last["position"]) == (sha_of(8), 8)
    (newest,) = store.query("newest_commit", repository="engine")
    assert newest["position"] >= 8


def test_the_usual_load_of_the_hours_to_come_is_that_of_the_weeks_before(store):
    hour = utc_now().replace(minute=0, second=0, microsecond=0)
    rows = [
        queue_row(
            "weekly", at=hour - timedelta(weeks=week, hours=-ahead), waiting=10 * week + ahead
        )
        for week in range(6)
        for ahead in (0, 1, 30)
        if week or not ahead
    ]
    store.insert(batch("weekly", *rows))
    found = store.query("queue_week", queue="weekly", weeks=3, hours=24)
    assert [(row["hour"], row["usual_waiting"], row["weeks"]) for row in found] == [
        (hour, 20.0, 3),
        (hour + timedelta(hours=1), 21.0, 3),
    ]
    assert found[0]["high_waiting"] == 28.0


def queue_jobs():
    newest = utc_now().replace(minute=0, second=0, microsecond=0)
    found = []
    for n, minutes_ago in enumerate((130, 125, 70, 0)):
        came = newest - minutes_ago * MINUTE
        open_end = {"state": "scheduled", "started_at": None, "finished_at": None} if n == 3 else {}
        times = {"started_at": came + n * 5 * MINUTE, "finished_at": came + 60 * MINUTE} | open_end
        host = "" if n == 3 else f"host-{n % 2}"
        found.append(
            attempt_row(
                "flow", 40 + n, queue="flow", host=host, created_at=came, runnable_at=came, **times
            )
        )
    return newest, found


def test_the_flow_of_a_queue_counts_each_attempt_s_newest_version(store):
    newest, jobs = queue_jobs()
    again = jobs[0].model_copy(update={"version": 9, "started_at": None, "finished_at": None})
    late = queue_row("flow", at=newest, waiting=1)
    store.insert(batch("flow", *jobs, again, late))
    rows = store.query("queue_flow", queue="flow", days=1, step_min=60)
    whole = [tuple(row[name] for name in ("came", "began", "ended", "p50_wait_s")) for row in rows]
    assert whole == [(2, 0, 0, None), (1, 1, 1, 300.0), (0, 1, 1, 600.0)]
    (rates,) = store.query("queue_rates", queue="flow", hours=4)
    assert (rates["came_per_hour"], rates["began_per_hour"]) == (1.0, 0.5)
    assert store.query("queue_rates", queue="unknown") == []
    (waits,) = store.query("waiting_jobs", queue="flow")
    assert (waits["build_number"], waits["waiting"]) == (43, 1)


def test_hosts_are_told_beside_the_other_hosts_of_their_queue(store):
    now = utc_now()
    times = {"created_at": now, "runnable_at": now, "started_at": now, "finished_at": now}
    key = {"queue": "hosts", **times}
    lost = [
        attempt_row("x", 60 + n, host="sick", state="failed", exit_status=-1, **key)
        for n in range(2)
    ]
    fine = [attempt_row("x", 70 + n, host="well", **key) for n in range(3)]
    soft = attempt_row("x", 80, host="well", state="failed", soft_failed=True, **key)
    marks = [
        decision_row("", "alert", f"host/{host}", outcome="sick", expires_at=until, at=now)
        for host, until in (("sick", None), ("well", now - MINUTE))
    ]
    causes = [failure_row(each, "infra_machine") for each in lost]
    store.insert(batch("hosts", *lost, *fine, soft, *causes, *marks))
    rows = store.query("queue_hosts", queue="hosts")
    names = ("host", "attempts", "failed", "infra_failed", "others_infra_share", "alert")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("sick", 2, 2, 2, 0.0, "sick"),
        ("well", 4, 0, 0, 1.0, None),
    ]


def test_recent_builds_and_one_of_them_attempt_by_attempt(store):
    rows = {row["number"]: row for row in store.query("recent_builds", limit=8)}
    assert (rows[4]["jobs"], rows[4]["attempts"]) == (5, 6)
    assert (rows[7]["jobs"], rows[7]["minutes"]) == (4, None)
    attempts = store.query("build_timeline", build_id=rows[4]["build_id"])
    assert sorted(row["job_key"] for row in attempts).count("engine") == 2
    assert {row["build_created_at"] for row in attempts} == {rows[4]["created_at"]}
    assert store.query("build_timeline", build_id=str(uuid5(NAMESPACE, "no build"))) == []


def test_the_fleet_is_its_queues_and_accelerators(store):
    now = utc_now()
    priced = price_row("dear", usd_per_hour=9.0)
    later = price_row("dear", usd_per_hour=99.0, valid_from=now + timedelta(days=9))
    samples = [
        gpu_row("fleet", "0", at=now - n * MINUTE, utilization_pct=float(n), xid=n == 3)
        for n in range(5)
    ]
    silent = gpu_row("fleet", "1", at=now - timedelta(hours=2), utilization_pct=0.0)
    store.insert(batch("fleet", priced, later, *samples, silent))
    queues = {row["queue"]: row for row in store.query("fleet_queues")}
    assert (queues["dear"]["usd_per_hour"], queues["dear"]["agents_total"]) == (9.0, None)
    assert (queues["gpu"]["vendor"], queues["gpu"]["agents_total"]) == ("nvidia", 4)
    gpus = {row["gpu"]: row for row in store.query("gpu_hosts") if row["host"] == "fleet"}
    assert (gpus["0"]["utilization_pct"], gpus["0"]["hour_utilization_pct"]) == (0.0, 2.0)
    assert (gpus["0"]["idle"], gpus["0"]["xid_errors"], gpus["0"]["xids"]) == (True, 1, [1])
    # What no sample of the last hour says is not known.
    assert gpus["1"]["idle"] is None or gpus["1"]["idle"] != gpus["1"]["idle"]


def test_the_bot_s_record_counts_the_newest_outcome_of_each_revert(store):
    now = utc_now()
    steps = [("a", "proposed", 2), ("a", "merged", 1), ("b", "closed", 1)]
    rows = [
        decision_row(word, "revert", f"commit/{name}", outcome=word, at=now - ago * MINUTE)
        for name, word, ago in steps
    ]
    escaped = decision_row("pr", "selection", "job/kernels", outcome="escaped", at=now)
    store.insert(batch("bot", *rows, escaped))
    found = {row["outcome"]: row["reverts"] for row in store.query("bot_record")}
    assert found == {"merged": 1, "closed": 1}
    assert [row["subject"] for row in store.query("selection_escapes")] == ["job/kernels"]


def test_a_source_is_late_once_it_is_silent_for_longer_than_it_ever_was(store):
    now = utc_now()
    # A day apart, so that each is on a day of its own at whatever hour this runs.
    for source, ages_h in (("late", (88, 64, 40)), ("steady", (58, 34, 10)), ("once", (1,))):
        for n, age in enumerate(ages_h):
            store.command(
                "INSERT INTO batches VALUES ('queue_samples', today(), {n: UInt64}, {id: String},"
                " {source: String}, 5, {at: DateTime64(3)})",
                {
                    "n": 1000 + age,
                    "id": f"{source}{n}",
                    "source": source,
                    "at": now - timedelta(hours=age),
                },
            )
    rows = {row["source"]: row for row in store.query("source_rhythm")}
    lateness = {name: rows[name]["late"] for name in ("late", "steady", "once")}
    assert lateness == {"late": True, "steady": False, "once": None}
    assert rows["steady"]["longest_gap_s"] == pytest.approx(24 * 3600, abs=1)
    assert rows["once"]["usual_gap_s"] is None


def test_stale_days_are_counted_from_the_rows(store):
    """The view is right before and after the roll-up, also when rows came in between."""

    def runs():
        return store.sql("SELECT sum(runs) AS n FROM test_days")[0]["n"]

    before = runs()
    assert stale_days(store) == [] or {each.target for each in stale_days(store)} == {"job_daily"}
    day = utc_now().date() - timedelta(days=1)
    store.command(
        "INSERT INTO test_results"
        " VALUES (9, generateUUIDv4(), 0, 'passed', 1, 'x', 'main', 'j', 'q',"
        " {at: DateTime64(3)}, 99)",
        {"at": datetime(day.year, day.month, day.day, tzinfo=UTC)},
    )
    store.command(
        "INSERT INTO batches VALUES ('test_results', {day: Date}, 99, 'late', 'test', 1, now64(3))",
        {"day": day},
    )
    assert [each.day for each in stale_days(store) if each.target == "test_daily"] == [day]
    assert runs() == before + 1
    roll_up(store)
    assert stale_days(store) == []
    assert runs() == before + 1


def test_accuracies_of_a_series_are_those_of_valid_evals(store):
    rows = []
    for night, (status, accuracy) in enumerate([("valid", 0.8), ("invalid", 0.0), ("valid", 0.7)]):
        key = {"run_id": f"a{night}", "repetition_id": f"a{night}", "series_id": "accuracies"}
        at = NOON - timedelta(days=3 - night)
        reasons = () if status == "valid" else ("suspect harness",)
        rows += [
            repetition_row(
                **key, kind="eval", side="single", status=status, reasons=reasons,
                started_at=at, ended_at=at,
            ),
            metric_row(**key, metric="accuracy", statistic="mean", value=accuracy),
        ]  # fmt: skip
    store.insert(batch("accuracies", *rows))
    found = store.query("accuracy_history", series_id="accuracies")
    assert [row["value"] for row in found] == [0.7, 0.8]


def blocked_history(branch="blocked"):
    """A commit of a branch of its own whose jobs wait, are blocked, were cancelled, are queued."""
    commit = young(commit_row(1, branch=branch, sha="b" * 40))
    ended = {"branch": branch, "sha": "b" * 40, "exit_status": None, "started_at": None}
    rows = [
        young(attempt_row(key, 90, state=state, group_key=key, finished_at=None, **ended))
        for key, state in (
            ("waits", "waiting_failed"),
            ("behind", "broken"),
            ("stopped", "canceled"),
            ("queued", "scheduled"),
        )
    ]
    return [commit, *rows]


def test_a_job_that_a_step_before_it_held_back_is_blocked_not_failed(store):
    store.insert(batch("blocked", *blocked_history()))
    grid = {row["group_key"]: row for row in store.query("main_grid", branch="blocked")}
    states = ("blocked", "not_run", "running", "failed")
    assert {key: [row[state] for state in states] for key, row in grid.items()} == {
        "behind": [1, 0, 0, 0],
        "queued": [0, 0, 1, 0],
        "stopped": [0, 1, 0, 0],
        "waits": [1, 0, 0, 0],
    }
    outcomes = store.query("job_outcomes", job_keys="waits,queued", branch="blocked")
    assert [(row["job_key"], row["state"]) for row in outcomes] == [
        ("queued", "running"),
        ("waits", "blocked"),
    ]


def test_outcomes_of_a_job_are_folded_by_queue_and_commit(store):
    rows = store.query("job_outcomes", job_keys="engine,kernels", upto=6, commits=3)
    assert [(row["job_key"], row["position"], row["state"]) for row in rows] == [
        ("engine", 6, "passed"),
        ("engine", 5, "passed"),
        ("engine", 4, "flaky"),
        ("kernels", 6, "failed"),
        ("kernels", 5, "passed"),
        ("kernels", 4, "passed"),
    ]
    assert {(row["queue"], row["group_key"]) for row in rows} == {("gpu", "group")}


def test_the_attempts_of_a_cell_are_found_by_the_beginning_of_the_commit_s_id(store):
    rows = store.query("cell_attempts", sha=sha_of(4), group_key="group")
    engine = [row for row in rows if row["job_key"] == "engine"]
    assert [(row["attempt"], row["state"], row["line"]) for row in engine] == [
        (1, "failed", "E   assert left == right"),
        (2, "passed", None),
    ]
    assert {row["position"] for row in rows} == {4}
    assert store.query("cell_attempts", sha="bbbb", group_key="behind", branch="blocked") != []
    assert store.query("cell_attempts", sha=sha_of(4), group_key="other") == []


def test_commits_of_a_range_leave_out_its_beginning(store):
    rows = store.query("commits_between", after=3, upto=6)
    assert [row["position"] for row in rows] == [6, 5, 4]
    assert [row["position"] for row in store.query("commits_between", upto=6, limit=1)] == [6]


def test_a_commit_s_newest_build_counts_and_one_without_has_none(store):
    at = NOON + timedelta(hours=30)
    rows = [
        commit_row(n, branch="rebuilt", sha=f"{n}" * 40, committed_at=at) for n in (1, 2)
    ] + [
        build_row(
            900 + n, sha="1" * 40, branch="rebuilt", state=state, created_at=at + n * MINUTE,
            finished_at=None if state == "running" else at + 5 * MINUTE,
        )
        for n, state in enumerate(["failed", "running"])
    ]  # fmt: skip
    store.insert(batch("rebuilt", *map(young, rows)))
    found = store.query("commit_builds", branch="rebuilt")
    assert [(row["position"], row["build_number"], row["state"]) for row in found] == [
        (2, None, None),
        (1, 901, "running"),
    ]
    assert found[1]["finished_at"] is None
    (day,) = store.query("green_commits", branch="rebuilt")
    assert (day["commits"], day["green"]) == (1, 0)


def test_time_to_signal_ends_with_the_last_job_of_builds_that_ended(store):
    created = NOON + timedelta(hours=20)
    builds = [
        build_row(950 + n, branch="signal", state=state, created_at=created)
        for n, state in enumerate(["passed", "failed", "running", "canceled"])
    ]
    jobs = [
        attempt_row(
            f"j{k}", row.number, branch="signal", build_id=row.build_id, created_at=created,
            finished_at=None if row.state == "running" and k else created + minutes * MINUTE,
        )
        for row, longest in zip(builds, (20, 40, 900, 900), strict=True)
        for k, minutes in enumerate((5, longest))
    ]  # fmt: skip
    store.insert(batch("signal", *map(young, [*builds, *jobs])))
    (day,) = store.query("time_to_signal", branch="signal")
    assert (day["builds"], day["p50_min"], day["p90_min"]) == (2, 30.0, 38.0)
    (week,) = store.query("time_to_signal", branch="signal", days=7, step_days=7)
    assert (week["builds"], week["p50_min"]) == (2, 30.0)
    assert week["day"] == utc_now().date() - timedelta(days=6)


def said(kind, subject, outcome, n=0, **changes):
    at = utc_now() - timedelta(hours=1) + n * MINUTE
    return decision_row(
        "", kind, subject, decision_id=f"{subject}/{n}", outcome=outcome, at=at, **changes
    )


def test_an_incident_is_open_until_its_newest_word_says_otherwise(store):
    rows = [
        said("incident", "i/fixed", "open"),
        said("incident", "i/fixed", "fixed", 5),
        said("incident", "i/again", "fixed"),
        said("incident", "i/again", "open", 5, reason="back"),
    ]
    store.insert(batch("incidents", *rows))
    (row,) = store.query("open_incidents")
    assert (row["subject"], row["reason"]) == ("i/again", "back")
    assert row["updated_at"] - row["opened_at"] == 5 * MINUTE


def test_a_quarantine_holds_until_it_is_lifted_or_expires(store):
    soon, over = utc_now() + timedelta(hours=1), utc_now() - MINUTE
    rows = [
        said("quarantine", "job/held", "quarantined", expires_at=soon),
        said("quarantine", "job/over", "quarantined", expires_at=over),
        said("quarantine", "job/lifted", "quarantined", expires_at=soon),
        said("quarantine", "job/lifted", "released", 5),
        said("quarantine", "test/endless", "quarantined", expires_at=soon),
        said("quarantine", "test/endless", "quarantined", 5),
    ]
    store.insert(batch("quarantines", *rows))
    found = {row["subject"]: row["expires_at"] for row in store.query("quarantines")}
    assert list(found) == ["job/held", "test/endless"]
    assert found["test/endless"] is None


def test_jobs_and_tests_are_known_by_name(store):
    known = {row["job_key"]: row["group_key"] for row in store.query("known_jobs")}
    assert known["models"] == "group"
    rows = store.query("nearest_tests", nodeid="t.py::break")
    assert [row["nodeid"] for row in rows][:1] == ["t.py::breaks"]
    assert store.query("nearest_tests", nodeid="t.py::holds")[0]["exact"] == 1


def test_a_test_s_runs_by_day(store):
    rows = store.query("test_trend", nodeid="t.py::breaks")
    assert sum(row["failed"] for row in rows) == 4
    assert {row["mean_ms"] for row in rows} == {100.0}


def test_known_series_show_their_newest_night_and_count_the_missing_ones(store):
    rows = {row["series_id"]: row for row in store.query("known_series")}
    s1, s2 = rows["s1"], rows["s2"]
    assert (s1["newest_value"], s1["newest_n"], s1["nights"], s1["unit"]) == (12.0, 1, 3, "ms")
    assert s1["newest_night"] == (NOON + SHIFT).date()
    assert s1["recent_missing"] == s1["recent_nights"] - 3
    assert (s2["newest_night"], s2["newest_value"], s2["recent_missing"]) == (
        None,
        None,
        s2["recent_nights"],
    )
    assert "e" not in rows


def test_the_repetitions_of_a_series_stand_at_the_night_of_their_run(store):
    rows = store.query("series_repetitions", series_id="s1")
    assert [(row["value"], row["config_fp"]) for row in rows] == [(10, "a"), (11, "a"), (12, "b")]
    nights = [row["night"] for row in rows]
    assert nights == [row["night"] for row in store.query("measured_nights", night=nights[-1])]
    assert store.query("series_repetitions", series_id="s2")[0]["value"] is None


def test_latencies_come_as_few_points_of_their_distribution(store):
    def requests(name, status, values):
        key = {"run_id": "lat", "repetition_id": name, "side": "single"}
        repetition = repetition_row(
            **key, status=status, point="c=9", reasons=("refused",) if status != "valid" else ()
        )
        numbers = {"e2e_ms": None, "ttft_ms": 5.0}
        return [
            repetition,
            *(request_row(**key, index=n, tpot_ms=v, **numbers) for n, v in enumerate(values)),
        ]

    many = requests("lat/1", "valid", [float(n) for n in range(1000)])
    store.insert(batch("latencies", *many, *requests("lat/2", "invalid", [1e6])))
    rows = store.query("request_quantiles", run_id="lat")
    tpot = [row for row in rows if row["metric"] == "tpot_ms"]
    assert {row["metric"] for row in rows} == {"tpot_ms", "ttft_ms"}
    assert (len(tpot), tpot[0]["requests"], tpot[0]["point"]) == (200, 1000, "c=9")
    assert (tpot[-1]["share"], tpot[-1]["value"]) == (1.0, 999.0)
    assert [row["value"] for row in tpot if row["share"] == 0.5] == [499.0]
    assert store.query("request_quantiles", repetition_ids="lat/2,lat/1") == rows
    assert store.query("request_quantiles", repetition_ids="lat/2") == []


def test_the_last_word_about_a_quarantine_is_kept_after_it_expired(store):
    now = utc_now()
    over = now - timedelta(days=1)
    rows = [
        said("quarantine", "test/word-a", "quarantined", expires_at=over),
        said("quarantine", "test/word-b", "quarantined"),
        said("quarantine", "job/word-c", "quarantined", expires_at=over),
        said("quarantine", "job/word-c", "released", 5),
    ]
    store.insert(batch("words", *rows))
    told = {row["subject"]: row["expires_at"] for row in store.query("quarantine_words")}
    words = {subject: at for subject, at in told.items() if "word-" in subject}
    assert set(words) == {"test/word-a", "test/word-b"}
    assert words["test/word-b"] is None


def test_attempts_of_hosts_come_with_what_failed_them(store):
    key = {"created_at": utc_now() - timedelta(hours=1), "host": "h1", "queue": "judged",
           "branch": "hosts"}  # fmt: skip
    found = [
        attempt_row("host-a", 1, **key),
        attempt_row("host-a", 2, state="failed", **key),
        attempt_row("host-a", 3, state="timed_out", **key),
        attempt_row("host-b", 4, state="failed", **key),
        attempt_row("host-b", 5, state="failed", soft_failed=True, **key),
        attempt_row("host-b", 6, state="canceled", **key),
        attempt_row("host-b", 7, **key | {"host": ""}),
    ]
    store.insert(batch("judged", *found, failure_row(found[3], "infra_machine")))
    rows = store.query("host_attempts", queue="judged")
    assert [(row["job_key"], row["failure_class"]) for row in rows] == [
        ("host-a", None), ("host-a", "unknown"), ("host-a", "timeout"), ("host-b", "infra_machine")
    ]  # fmt: skip


def test_attempts_of_the_whole_fleet_come_with_their_queue_and_end(store):
    now = utc_now()
    key = {"created_at": now - timedelta(hours=1), "finished_at": now - MINUTE, "branch": "fleet"}
    found = [
        attempt_row("fleet-a", 1, host="f1", queue="fleet-1", **key),
        attempt_row("fleet-a", 2, host="f2", queue="fleet-2", state="failed", **key),
        attempt_row("fleet-a", 3, host="f2", queue="fleet-2", state="running", **key),
    ]
    store.insert(batch("fleet", *found, failure_row(found[1], "infra_machine")))
    rows = [row for row in store.query("fleet_attempts") if row["queue"].startswith("fleet-")]
    assert [(row["host"], row["failure_class"]) for row in rows] == [
        ("f1", None), ("f2", "infra_machine")
    ]  # fmt: skip
    assert rows[0]["ended_at"].utcoffset() == timedelta(0)
    assert store.query("fleet_attempts", ago_s=86_400 * 300) == []


def test_recent_failures_name_their_change_and_how_long_they_took(store):
    now = utc_now()

    def ended(number, hours, **changes):
        end = now - timedelta(hours=hours)
        times = {"created_at": end, "started_at": end - 2 * MINUTE, "finished_at": end}
        return attempt_row("recent", number, state="failed", **times | changes)

    rows = [ended(301, 1), ended(302, 2), ended(303, 9), ended(304, 1, soft_failed=True)]
    pull = build_row(301, pull_request=77, created_at=now - timedelta(hours=1))
    store.insert(batch("recent", *rows, failure_row(rows[0], "dependency"), pull))
    found = [row for row in store.query("recent_failures") if row["job_key"] == "recent"]
    assert [(row["change"], row["failure_class"], row["took_s"]) for row in found] == [
        (f"commit {sha_of(302)}", "", 120.0), ("#77", "dependency", 120.0)
    ]  # fmt: skip


def test_what_waited_is_known_at_any_instant(store):
    now = utc_now()

    def job(number, waits_min, **changes):
        since = now - waits_min * MINUTE
        fields = {"created_at": since, "runnable_at": since, "queue": "waited",
                  "state": "scheduled", "started_at": None, "finished_at": None}  # fmt: skip
        return attempt_row("waited", number, **fields | changes)

    store.insert(
        batch(
            "waited",
            job(1, 60),
            job(2, 30, state="passed", started_at=now - 7 * MINUTE, finished_at=now),
            job(3, 50, state="canceled", finished_at=now - 20 * MINUTE),
            job(4, 50, state="canceled"),
            job(5, 50, runnable_at=None, state="waiting"),
        )
    )
    rows = {r["ago_s"]: r for r in store.query("waiting_at", steps=7) if r["queue"] == "waited"}
    assert [rows[ago]["waiting"] for ago in (0, 300, 600, 1200, 1500)] == [1, 1, 2, 2, 3]
    assert rows[0]["oldest_wait_s"] == pytest.approx(3600, abs=60)
    assert "waited" in {row["queue"] for row in store.query("known_queues")}


def test_usual_durations_are_of_attempts_that_passed(store):
    now = utc_now()
    rows = [
        attempt_row("usual", n, created_at=now, started_at=now - n * MINUTE, finished_at=now,
                    state="failed" if n == 9 else "passed")
        for n in (1, 2, 3, 9)
    ]  # fmt: skip
    store.insert(batch("usual", *rows))
    (found,) = store.query("usual_seconds", job_keys="usual\nnone")
    assert (found["p50_s"], found["passes"]) == (120.0, 3)


def test_the_pulse_of_a_fleet_is_its_newest_job_and_its_longest_silence(store):
    store.insert(batch("pulse", attempt_row("pulse", 1, created_at=utc_now(), finished_at=None)))
    (row,) = store.query("fleet_pulse")
    assert 0 <= row["age_s"] < 600
    assert row["silent_hours"] >= 1
    assert store.query("fleet_pulse", ago_s=86_400 * 300)[0]["newest"] is None


def test_starts_of_nightlies_are_those_of_schedules_and_of_measured_runs(store):
    now = utc_now() - timedelta(days=1)
    store.insert(
        batch(
            "starts",
            build_row(401, source="schedule", pipeline="nightly-ci", created_at=now),
            build_row(402, source="webhook", pipeline="nightly-ci", created_at=now - MINUTE * 60),
            repetition_row("starts", side="single", recipe="nightly-x", started_at=now),
        )
    )
    found = {(row["name"], row["kind"]) for row in store.query("nightly_starts")}
    assert {("nightly-ci main", "pipeline"), ("recipe nightly-x", "recipe")} <= found
    starts = [r for r in store.query("nightly_starts") if r["name"] == "nightly-ci main"]
    assert len(starts) == 1


def test_the_newest_word_about_each_alert_counts(store):
    now = utc_now()
    rows = [
        decision_row("", "alert", "disk/word", outcome=outcome, at=now + n * MINUTE,
                     decision_id=f"disk{n}")
        for n, outcome in enumerate(("open", "closed"))
    ]  # fmt: skip
    rows.append(decision_row("", "alert", "history/word", at=now, decision_id="history-word"))
    store.insert(batch("alert words", *rows))
    found = {row["subject"]: row["outcome"] for row in store.query("alert_states")}
    assert found["disk/word"] == "closed"
    assert not any(subject.startswith("history/") for subject in found)


def test_files_have_the_author_of_most_of_their_commits(store):
    now = utc_now()
    rows = [
        commit_row(n, branch="authors", author=author, committed_at=now, paths=("x.py", f"{n}"))
        for n, author in enumerate(("ann", "bo", "bo"), start=1)
    ]
    store.insert(batch("authors", *rows))
    found = store.query("file_authors", files="x.py\n1\nnone", branch="authors")
    assert [(row["file"], row["author"], row["commits"]) for row in found] == [
        ("1", "ann", 1), ("x.py", "bo", 2)
    ]  # fmt: skip


def test_the_usual_signature_of_what_fails(store):
    found = {
        (row["kind"], row["name"]): (row["signature"], row["failures"])
        for row in store.query("failure_signatures")
    }
    assert found["job", "kernels"] == ("test_regression in kernels", 2)
    assert found["job", "engine"] == ("flaky in engine", 1)
    assert found["test", "t.py::breaks"] == ("test_regression in kernels", 2)
    assert ("test", "t.py::holds") not in found
    assert store.query("failure_signatures", branch="none") == []


def test_proposals_about_flakes_are_told_from_other_annotations(store):
    now = utc_now()
    rows = [
        decision_row("", "annotation", f"test/t.py::{n}", evidence=evidence, at=now - n * MINUTE)
        for n, evidence in enumerate(('{"marker": "<!-- x -->"}', '{"other": 1}', "no JSON"))
    ]
    store.insert(batch("proposals", *rows))
    (row,) = store.query("flake_proposals")
    assert (row["subject"], row["mode"]) == ("test/t.py::0", "act")


def test_every_query_runs_on_an_empty_answer(store):
    given = {
        "run_id": "none", "workload": "none", "job_key": "none", "nodeid": "none", "queue": "none",
        "before": 0, "after": 0, "build": 0, "recipe": "none", "task": "none", "series_id": "none",
        "night": date(2020, 1, 1),
        "job_id": "none", "host": "none", "subject": "none", "repository": "none",
        "build_id": "none", "job_ids": "none", "classifier": "none",
        "kind": "none", "failure_classes": "none", "since": NOON, "until": NOON,
        "recipes": "none", "builds": "none", "commits": "none", "run_ids": "none",
        "files": "none", "sha": "none", "group_key": "none", "job_keys": "none", "item": "none",
    }  # fmt: skip
    for name in query_names():
        query = load_query(name)
        needed = {p.name: given[p.name] for p in query.parameters if p.default is None}
        if name in {
            "compare_images", "eval_disagreements", "eval_pairs", "eval_pair_counts", "eval_item",
        }:  # fmt: skip
            needed |= {"before": "none", "after": "none2"}
        store.query(name, **needed)


def test_full_builds_come_with_all_attempts_of_their_jobs(store):
    rows = {row["number"]: row for row in store.query("full_builds", days=10)}
    assert {rows[n]["position"] for n in range(1, 9)} == set(range(1, 9))
    assert rows[1]["newest_position"] >= 8
    jobs = {
        (row["build_id"], row["job_key"]): row for row in store.query("full_build_jobs", days=10)
    }
    lora = jobs[rows[3]["build_id"], "lora"]
    assert lora["attempts"] == [("failed", False, "infra_machine"), ("passed", False, "")]
    kernels = jobs[rows[6]["build_id"], "kernels"]
    assert kernels["attempts"] == [("failed", False, "test_regression")]
    assert kernels["failed_tests"] == ["t.py::breaks"]
    assert jobs[rows[6]["build_id"], "docs"]["attempts"] == [("failed", True, "")]
    assert store.query("full_builds", branch="none") == []


def test_a_build_off_the_merge_order_has_no_position(store):
    now = utc_now()
    store.insert(batch("off main", build_row(971, branch="offmain", created_at=now)))
    (row,) = store.query("full_builds", branch="offmain")
    assert (row["position"], row["newest_position"] or 0) == (None, 0)


def test_verdicts_stand_by_the_commit_that_was_judged(store):
    now = utc_now()
    times = {"started_at": now, "ended_at": now}
    rows = [
        repetition_row("judge-1", engine_commit="base", **times),
        repetition_row("judge-1", side="candidate", engine_commit="judged", **times),
        decision_row("judge-1", subject="load/x", outcome="worse", at=now - MINUTE),
        decision_row("judge-1", subject="load/x", outcome="same", at=now, decision_id="again"),
        decision_row("judge-1", subject="eval/x", outcome="worse", at=now, blocking=False),
    ]
    store.insert(batch("judged commits", *rows))
    found = [row for row in store.query("commit_verdicts") if row["sha"] in ("base", "judged")]
    assert [(row["sha"], row["subject"], row["outcome"]) for row in found] == [
        ("judged", "load/x", "same")
    ]
