"""A made-up history: the same again, cut short and gone on with, and broken off in the middle."""

from dataclasses import replace
from datetime import UTC, datetime, time, timedelta

import pytest
from stores import embedded_store, served_folder

from gauntlet.core.clock import utc_now
from gauntlet.warehouse.checks import check_store
from gauntlet.warehouse.store import open_store
from gauntlet.warehouse.synth.history import SynthRequest, make_history, plan_history
from gauntlet.warehouse.synth.shape import SCALES
from gauntlet.warehouse.tables import TABLES

# Young rows: a store drops what is older than its retention.
LAST = utc_now().date() - timedelta(days=1)
REQUEST = SynthRequest(days=3, until=LAST, scale="small", seed=4, test_days=1, nights=5)
NOON = datetime.combine(LAST, time(12), tzinfo=UTC)
# So many builds that some are always under way, and incidents begin every day.
BUSY = replace(SCALES["small"], commits_per_day=96, other_builds_per_day=32, cases_per_job=5)


class CutError(Exception):
    pass


def quiet(_day, _rows):
    pass


def counted(store):
    return {table: store.count(table) for table in TABLES if table != "batches"}


def all_well(store):
    return [each.detail for each in check_store(store) if not each.ok] == []


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    with embedded_store(tmp_path_factory.mktemp("synth") / "warehouse") as store:
        made = make_history(store, REQUEST, quiet)
        yield store, made


def test_what_is_made_is_in_the_ledger_and_in_the_roll_ups(whole):
    store, made = whole
    rows = counted(store)
    assert {name: rows[name] for name in made.rows} == made.rows
    for table in (
        "test_results",
        "job_attempts",
        "metrics",
        "requests",
        "gpu_samples",
        "decisions",
    ):
        assert rows[table] > 0, table
    assert all_well(store)


def test_made_again_nothing_is_added(whole):
    store, made = whole
    before = counted(store)
    again = make_history(store, REQUEST, quiet)
    assert again.rows == {}
    assert again.skipped == len(list(plan_history(REQUEST)))
    assert counted(store) == before
    assert made.skipped == 0


@pytest.mark.parametrize("after", [1, 2], ids=["in the first part", "in a later part"])
def test_a_history_that_was_cut_goes_on_without_a_row_twice(tmp_path, monkeypatch, whole, after):
    store_type = type(whole[0])
    ledger = store_type.note_statements
    calls = []

    def cut(self, *given, **named):
        calls.append(given)
        if len(calls) == after:
            raise CutError
        return ledger(self, *given, **named)

    with open_store(str(tmp_path / "warehouse")) as store:
        monkeypatch.setattr(store_type, "note_statements", cut)
        with pytest.raises(CutError):
            make_history(store, REQUEST, quiet)
        monkeypatch.undo()
        make_history(store, REQUEST, quiet)
        assert counted(store) == counted(whole[0])
        assert all_well(store)


@pytest.fixture(scope="module")
def broken_off(tmp_path_factory):
    request = SynthRequest(days=7, until=LAST, scale="busy", seed=4, test_days=1, now=NOON)
    with (
        served_folder(tmp_path_factory.mktemp("cut") / "warehouse") as folder,
        open_store(folder) as store,
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setitem(SCALES, "busy", BUSY)
            make_history(store, request, quiet)
        yield store


def test_a_history_broken_off_at_noon_has_jobs_under_way_and_nothing_later(broken_off):
    (row,) = broken_off.sql(
        "SELECT countIf(state = 'running') AS running, countIf(state = 'passed') AS passed,"
        " countIf(state = 'running' AND finished_at IS NOT NULL) AS ended,"
        " max(finished_at) AS last, max(started_at) AS begun, max(created_at) AS made"
        " FROM job_attempts"
    )
    assert row["running"] > 0
    assert row["passed"] > 0
    assert row["ended"] == 0
    assert max(row["last"], row["begun"], row["made"]) < NOON
    (builds,) = broken_off.sql(
        "SELECT countIf(finished_at IS NULL) AS open, countIf(state IN ('running', 'failing')) AS"
        " under_way FROM builds"
    )
    assert builds["open"] == builds["under_way"] > 0


def test_nothing_was_measured_in_a_night_that_did_not_come(broken_off):
    (row,) = broken_off.sql("SELECT max(started_at) AS last FROM repetitions")
    assert row["last"] < NOON - timedelta(hours=10)


def test_tests_of_jobs_under_way_have_no_results(broken_off):
    (row,) = broken_off.sql(
        "SELECT count() AS n FROM test_results WHERE job_id IN"
        " (SELECT job_id FROM job_attempts WHERE state IN ('running', 'scheduled'))"
    )
    assert row["n"] == 0


def test_incidents_name_commits_of_the_branch(broken_off):
    rows = broken_off.sql(
        "SELECT JSONExtractString(evidence, 'first_bad') AS bad,"
        " JSONExtractString(evidence, 'last_good') AS good"
        " FROM decisions WHERE kind = 'incident'"
    )
    shas = {row["sha"] for row in broken_off.query("main_commits", limit=1000)}
    assert rows
    assert {row["bad"] for row in rows} <= shas
    assert {row["good"] for row in rows} <= shas
