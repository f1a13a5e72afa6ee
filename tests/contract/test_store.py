"""The same suite against the embedded engine and against the HTTP protocol of a server."""

import uuid
from datetime import timedelta, timezone

import pytest
from factories import (
    NOON,
    attempt_row,
    batch,
    build_row,
    commit_row,
    decision_row,
    metric_row,
    repetition_row,
    request_row,
    run_row,
    sample_row,
)
from stores import embedded_store, served_folder

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.warehouse.named_queries import load_query, query_names
from gauntlet.warehouse.rows.ci import SpanRow, TestDetailRow
from gauntlet.warehouse.server.launch import find_or_start
from gauntlet.warehouse.shipping import ship
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store


@pytest.fixture(scope="module", params=["embedded", "folder", "url"])
def store(request, tmp_path_factory):
    """The same store in this process, as a folder that is served on demand, and as a URL."""
    folder = tmp_path_factory.mktemp("store") / "warehouse"
    if request.param == "embedded":
        with embedded_store(folder) as opened:
            yield opened
        return
    with served_folder(folder) as location:
        served = find_or_start(folder)
        url = f"http://default:{served.token}@127.0.0.1:{served.port}/default"
        with open_store(location if request.param == "folder" else url) as opened:
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
        run_row(run_id),
        repetition_row(run_id),
        *(metric_row(run_id, metric=f"m{n}") for n in range(5)),
        *(request_row(run_id, index=n) for n in range(7)),
        sample_row(run_id),
        decision_row(run_id),
    )
    for _ in range(3):
        store.insert(rows)
    counts = {table: count(store, table, run_id) for table in rows.table_rows()}
    assert counts == {
        "runs": 1,
        "repetitions": 1,
        "metrics": 5,
        "requests": 7,
        "eval_samples": 1,
        "decisions": 1,
    }


def test_a_row_that_slips_in_again_under_another_batch_is_one_row(store, run_id):
    rows = [repetition_row(run_id), metric_row(run_id), decision_row(run_id)]
    for name in ("one", "two"):
        store.insert(batch(f"{run_id}/{name}", *rows))
    assert len(store.query("run_metrics", run_id=run_id)) == 1
    assert len(store.query("run_repetitions", run_id=run_id)) == 1
    assert len(store.query("run_decisions", run_id=run_id)) == 1


def test_missing_values_stay_missing_and_times_keep_their_instant(store, run_id):
    shanghai = NOON.astimezone(timezone(timedelta(hours=8)))
    store.insert(
        batch(
            f"{run_id}/b",
            run_row(run_id, started_at=shanghai),
            repetition_row(run_id),
            metric_row(run_id, value=None),
        )
    )
    assert store.query("run_metrics", run_id=run_id)[0]["value"] is None
    found = [row for row in store.query("runs", limit=10_000) if row["run_id"] == run_id]
    assert found[0]["started_at"] == NOON
    assert found[0]["started_at"].utcoffset() == timedelta(0)


def test_the_newest_version_of_a_run_counts(store, run_id):
    store.insert(batch(f"{run_id}/1", run_row(run_id, version=1, status="complete")))
    store.insert(batch(f"{run_id}/0", run_row(run_id, version=0, status="running")))
    assert store.query("run", run_id=run_id)[0]["status"] == "complete"


def test_metrics_of_invalid_repetitions_are_left_out(store, run_id):
    store.insert(
        batch(
            f"{run_id}/b",
            repetition_row(run_id, pair=0),
            repetition_row(run_id, pair=1, status="invalid", reasons=("8 of 8 failed",)),
            metric_row(run_id, pair=0),
            metric_row(run_id, pair=1),
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
            *(repetition_row(run_id, "gsm8k", side=side, kind="eval") for side in sides),
            sample_row(run_id, item="q1"),
            sample_row(run_id, item="q1", side="candidate", score=0.0, answer="17"),
            sample_row(run_id, item="q2"),
        )
    )
    first, second = store.query("run_eval_pairs", run_id=run_id)
    assert (first["baseline_score"], first["candidate_score"]) == (1.0, 0.0)
    assert (first["baseline_answer"], first["candidate_answer"]) == ("18", "17")
    assert (second["baseline_score"], second["candidate_score"]) == (1.0, None)


def test_the_latest_decision_on_a_subject_counts(store, run_id):
    later = NOON + timedelta(minutes=1)
    store.insert(batch(f"{run_id}/1", decision_row(run_id, outcome="worse", at=later)))
    store.insert(batch(f"{run_id}/0", decision_row(run_id, outcome="same")))
    rows = store.query("run_decisions", run_id=run_id)
    assert [(row["outcome"], row["decided_at"]) for row in rows] == [("worse", later)]


def test_every_named_query_runs(store):
    """The engine knows every table, column and function; what they answer is tested elsewhere."""
    for name in query_names():
        query = load_query(name)
        kinds = {
            "String": "none",
            "Date": "2020-01-01",
            "DateTime64(3, 'UTC')": "2020-01-01 00:00:00",
        }
        store.query(
            name,
            **{p.name: kinds.get(p.type, 0) for p in query.parameters if p.default is None},
        )


def test_every_table_takes_its_rows_and_gives_them_back(store, run_id):
    """All types there and back: UUIDs, maps, arrays, NULLs, 64-bit numbers, text of any kind."""
    text = "tab\t, line\n, quote' \\ and \u96ea\U0001f600"
    # Young: the engine drops what is older than the retention rules allow.
    at = utc_now().replace(microsecond=7_000)
    span = SpanRow(
        job_id=uuid.uuid4(), span_id=run_id, kind="step", name=text, started_at=at,
        attributes={"a": text},
    )  # fmt: skip
    detail = TestDetailRow(
        test_id=2**64 - 1, job_id=span.job_id, occurrence=0, outcome="failed", message=text,
        started_at=at,
    )  # fmt: skip
    store.insert(batch(run_id, span, detail, attempt_row(run_id, 1), build_row(7), commit_row(3)))
    (found,) = store.sql("SELECT * FROM spans WHERE span_id = {id: String}", {"id": run_id})
    for name, value in span.model_dump().items():
        assert found[name] == value, name
    (found,) = store.sql(
        "SELECT * FROM test_details WHERE job_id = {id: UUID}", {"id": str(span.job_id)}
    )
    assert (found["test_id"], found["message"], found["line"]) == (2**64 - 1, text, None)


def test_what_was_handed_in_is_left_as_it_was(store, run_id):
    rows = [metric_row(run_id), decision_row(run_id)]
    before = [row.model_copy(deep=True) for row in rows]
    made = batch(f"{run_id}/b", *rows)
    dumped = made.dump()
    store.insert(made)
    assert rows == before
    assert made.dump() == dumped


def test_statements_that_change_something_are_refused(store):
    assert store.read_only("SELECT 1 AS one") == [{"one": 1}]
    for text in ("DROP TABLE runs", "INSERT INTO runs SELECT * FROM runs", "-- x\nTRUNCATE runs"):
        with pytest.raises(UsageError, match="only statements that read"):
            store.read_only(text)


def test_wrong_statements_are_usage_errors_with_the_engine_s_reason(store):
    with pytest.raises(UsageError, match="no_such_column"):
        store.sql("SELECT no_such_column FROM runs")
    with pytest.raises(UsageError, match="needs the parameters run_id"):
        store.query("run")
    with pytest.raises(UsageError, match="did you mean 'run_metrics'"):
        store.query("run_metric")


def test_the_spool_ships_once_whatever_happens_in_between(store, run_id, tmp_path):
    spool = Spool(tmp_path / "spool")
    first = spool.add(batch(f"{run_id}/1", metric_row(run_id)))
    copy = first.read_bytes()
    assert ship(spool, store).rows == 1
    first.write_bytes(copy)  # as if we had been killed between insert and unlink
    spool.add(batch(f"{run_id}/2", metric_row(run_id, metric="other")))
    shipped = ship(spool, store)
    assert (shipped.batches, shipped.duplicates, spool.pending()) == (1, 1, [])
    assert count(store, "metrics", run_id) == 2


def test_a_server_that_is_not_there():
    with pytest.raises(ExternalServiceError, match="no ClickHouse server at http://127.0.0.1:1: "):
        open_store("http://me:secret@127.0.0.1:1")


def test_a_password_is_not_told():
    with pytest.raises(ExternalServiceError) as caught:
        open_store("http://me:s3cret@127.0.0.1:1/db")
    assert "s3cret" not in caught.value.message
