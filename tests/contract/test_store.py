"""The same suite against the embedded engine and against the HTTP protocol of a server."""

import subprocess
import sys
import uuid
from datetime import timedelta, timezone

import pytest
from factories import (
    NOON,
    batch,
    decision_row,
    metric_row,
    repetition_row,
    request_row,
    run_row,
    sample_row,
)
from ports import free_port, wait_listening

from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError
from gauntlet.warehouse.queries import load_query, query_names
from gauntlet.warehouse.records import TABLES
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store


@pytest.fixture(scope="module")
def server(tmp_path_factory, request):
    """A process that speaks ClickHouse's HTTP protocol over an embedded engine."""
    shared = request.getfixturevalue("shared")
    port = free_port()
    folder = tmp_path_factory.mktemp("server")
    script = shared / "bench" / "chdb_http.py"
    process = subprocess.Popen([sys.executable, str(script), str(folder / "db"), str(port)])
    wait_listening(port, process)
    yield f"http://127.0.0.1:{port}"
    process.kill()
    process.wait()


@pytest.fixture(params=["embedded", "server"])
def store(request, tmp_path):
    if request.param == "embedded":
        location = str(tmp_path / "warehouse")
    else:
        location = request.getfixturevalue("server")
    with open_store(location) as opened:
        yield opened


@pytest.fixture
def run_id():
    return f"run-{uuid.uuid4().hex[:8]}"


def count(store, table, run_id):
    query = f"SELECT count() AS n FROM {table} WHERE run_id = {{run_id: String}}"
    return store.sql(query, {"run_id": run_id})[0]["n"]


def test_a_batch_sent_again_is_stored_once(store, run_id):
    rows = batch(
        f"{run_id}/b",
        runs=[run_row(run_id)],
        repetitions=[repetition_row(run_id)],
        metrics=[metric_row(run_id, metric=f"m{n}") for n in range(5)],
        requests=[request_row(run_id, index=n) for n in range(7)],
        eval_samples=[sample_row(run_id)],
        decisions=[decision_row(run_id)],
    )
    for _ in range(3):
        store.insert(rows)
    counts = {table: count(store, table, run_id) for table in TABLES}
    assert counts == {
        "runs": 1,
        "repetitions": 1,
        "metrics": 5,
        "requests": 7,
        "eval_samples": 1,
        "decisions": 1,
    }


def test_the_same_rows_in_another_batch_are_other_rows(store, run_id):
    for name in ("one", "two"):
        store.insert(batch(f"{run_id}/{name}", metrics=[metric_row(run_id)]))
    assert count(store, "metrics", run_id) == 2


def test_missing_values_stay_missing_and_times_keep_their_instant(store, run_id):
    shanghai = NOON.astimezone(timezone(timedelta(hours=8)))
    store.insert(
        batch(
            f"{run_id}/b",
            runs=[run_row(run_id, started_at=shanghai)],
            repetitions=[repetition_row(run_id)],
            metrics=[metric_row(run_id, value=None)],
        )
    )
    assert store.query("run_metrics", run_id=run_id)[0]["value"] is None
    found = [row for row in store.query("runs", limit=10_000) if row["run_id"] == run_id]
    assert found[0]["started_at"] == NOON
    assert found[0]["started_at"].utcoffset() == timedelta(0)


def test_the_newest_version_of_a_run_counts(store, run_id):
    store.insert(batch(f"{run_id}/1", runs=[run_row(run_id, version=1, status="complete")]))
    store.insert(batch(f"{run_id}/0", runs=[run_row(run_id, version=0, status="running")]))
    assert store.query("run", run_id=run_id)[0]["status"] == "complete"


def test_metrics_of_invalid_repetitions_are_left_out(store, run_id):
    store.insert(
        batch(
            f"{run_id}/b",
            repetitions=[
                repetition_row(run_id, pair=0),
                repetition_row(run_id, pair=1, status="invalid", reasons=("8 of 8 failed",)),
            ],
            metrics=[metric_row(run_id, pair=0), metric_row(run_id, pair=1)],
        )
    )
    assert [row["pair"] for row in store.query("run_metrics", run_id=run_id)] == [0]
    repetitions = store.query("run_repetitions", run_id=run_id)
    assert [(row["status"], list(row["reasons"])) for row in repetitions] == [
        ("valid", []),
        ("invalid", ["8 of 8 failed"]),
    ]


def test_the_same_question_stands_side_by_side(store, run_id):
    sides = ("baseline", "candidate")
    store.insert(
        batch(
            f"{run_id}/b",
            repetitions=[repetition_row(run_id, "gsm8k", side=s, kind="eval") for s in sides],
            eval_samples=[
                sample_row(run_id, item="q1"),
                sample_row(run_id, item="q1", side="candidate", score=0.0, answer="17"),
                sample_row(run_id, item="q2"),
            ],
        )
    )
    first, second = store.query("run_eval_pairs", run_id=run_id)
    assert (first["baseline_score"], first["candidate_score"]) == (1.0, 0.0)
    assert (first["baseline_answer"], first["candidate_answer"]) == ("18", "17")
    assert (second["baseline_score"], second["candidate_score"]) == (1.0, None)


def test_the_latest_decision_on_a_subject_counts(store, run_id):
    later = NOON + timedelta(minutes=1)
    store.insert(batch(f"{run_id}/1", decisions=[decision_row(run_id, outcome="worse", at=later)]))
    store.insert(batch(f"{run_id}/0", decisions=[decision_row(run_id, outcome="same")]))
    rows = store.query("run_decisions", run_id=run_id)
    assert [(row["outcome"], row["decided_at"]) for row in rows] == [("worse", later)]


def test_every_named_query_runs_and_says_what_it_answers(store):
    values = {"run_id": "none", "limit": 1, "workload": "none"}
    for name in query_names():
        query = load_query(name)
        assert query.question.endswith(("?", ".")), name
        store.query(name, **{key: values[key] for key in query.parameters})


def test_wrong_statements_are_usage_errors_with_the_engine_s_reason(store):
    with pytest.raises(UsageError, match="no_such_column"):
        store.sql("SELECT no_such_column FROM runs")
    with pytest.raises(UsageError, match="needs the parameters run_id"):
        store.query("run")
    with pytest.raises(UsageError, match="did you mean 'run_metrics'"):
        store.query("run_metric")


def test_the_spool_ships_once_whatever_happens_in_between(store, run_id, tmp_path):
    spool = Spool(tmp_path / "spool")
    first = spool.add(batch(f"{run_id}/1", metrics=[metric_row(run_id)]))
    copy = first.read_bytes()
    assert spool.ship(store).rows == 1
    first.write_bytes(copy)  # as if we had been killed between insert and unlink
    spool.add(
        batch(f"{run_id}/2", metrics=[metric_row(run_id), metric_row(run_id, side="candidate")])
    )
    shipped = spool.ship(store)
    assert (shipped.batches, spool.pending()) == (2, [])
    assert count(store, "metrics", run_id) == 3


def test_a_newer_schema_is_refused(tmp_path):
    location = str(tmp_path / "warehouse")
    with open_store(location) as opened:
        opened.sql("SELECT 1")
        opened._client.insert(
            "schema_migrations",
            [[9999, "future", NOON]],
            column_names=["number", "name", "applied_at"],
        )
    with pytest.raises(UsageError, match="has migration 9999"):
        open_store(location)


def test_a_migration_that_was_cut_short_is_finished(tmp_path):
    location = str(tmp_path / "warehouse")
    with open_store(location) as opened:
        opened._command("TRUNCATE TABLE schema_migrations")
        opened._command("DROP TABLE decisions")
    with open_store(location) as opened:
        assert opened.applied() == [1]
        assert opened.sql("SELECT count() AS n FROM decisions") == [{"n": 0}]


def test_a_store_in_use_by_another_process_is_said_so(tmp_path):
    folder = tmp_path / "warehouse"
    code = (
        "import sys, time; from gauntlet.warehouse.store import open_store\n"
        f"s = open_store({str(folder)!r}); print('open', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    with other:
        try:
            assert other.stdout.readline() == "open\n"
            with pytest.raises(InfrastructureError, match="in use by another process"):
                open_store(str(folder), wait_s=0.5)
        finally:
            other.kill()
    with open_store(str(folder)) as opened:
        assert opened.applied() == [1]


def test_a_server_that_is_not_there():
    with pytest.raises(ExternalServiceError, match="no ClickHouse server at"):
        open_store("http://127.0.0.1:1")
