"""Shipping against a real engine: whatever happens in between, each row is there once."""

import contextlib
import itertools
import random
from datetime import timedelta

import pytest
from factories import (
    NOON,
    attempt_row,
    batch,
    decision_row,
    metric_row,
    repetition_row,
    request_row,
    run_row,
)
from stores import embedded_store

from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.warehouse.batch import Batch, Section, batch_number, join_sections, load_batches
from gauntlet.warehouse.checks import check_store
from gauntlet.warehouse.engine_errors import RefusedRowsError
from gauntlet.warehouse.shipping import ship, ship_all
from gauntlet.warehouse.spool import Spool


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    with embedded_store(tmp_path_factory.mktemp("shipping") / "warehouse") as opened:
        yield opened
        # Whatever the tests did, ledger and rows agree in the end.
        assert [each for each in check_store(opened) if not each.ok] == []


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


def metrics(name, n=5):
    return batch(name, *(metric_row(repetition_id=name, metric=f"m{i}") for i in range(n)))


def stored(store, repetition):
    return store.sql(
        "SELECT count() AS n, uniqExact(metric) AS names FROM metrics"
        " WHERE repetition_id = {name: String}",
        {"name": repetition},
    )[0]


class Killed(BaseException):
    """Nothing catches it, as nothing catches a kill."""


def crash_during(store, monkeypatch, method, *, after=0):
    """Let a method of the store end as if the process had been killed, on its nth call."""
    real, calls = getattr(type(store), method), itertools.count()

    def guarded(self, *args, **kwargs):
        if next(calls) == after:
            raise Killed
        return real(self, *args, **kwargs)

    monkeypatch.setattr(type(store), method, guarded)


def test_what_waits_is_stored_and_forgotten(store, spool):
    spool.add(metrics("a1"), metrics("a2"))
    spool.add(metrics("a3"))
    shipped = ship(spool, store)
    assert (shipped.batches, shipped.rows, shipped.duplicates, shipped.waiting) == (3, 15, 0, 0)
    assert stored(store, "a2") == {"n": 5, "names": 5}


def test_the_same_batch_again_is_a_duplicate(store, spool):
    spool.add(metrics("b1"))
    ship(spool, store)
    spool.add(metrics("b1"), metrics("b2"))
    shipped = ship(spool, store)
    assert (shipped.batches, shipped.rows, shipped.duplicates) == (1, 5, 5)
    assert stored(store, "b1") == {"n": 5, "names": 5}


def test_the_same_batch_twice_in_one_parcel_is_stored_once(store, spool):
    spool.add(metrics("bb"), metrics("bb"))
    shipped = ship(spool, store)
    assert (shipped.rows, shipped.duplicates) == (5, 5)
    assert stored(store, "bb")["n"] == 5


@pytest.mark.parametrize("method", ["insert_block", "note_batches", "known_batches"])
@pytest.mark.parametrize("after", [0, 1, 2])
def test_a_kill_between_any_two_steps_loses_and_doubles_nothing(
    store, spool, monkeypatch, method, after
):
    name = f"kill-{method}-{after}"
    rows = batch(
        name,
        run_row(name),
        repetition_row(name),
        metric_row(name, repetition_id=name),
        *(request_row(name, repetition_id=name, index=i) for i in range(7)),
        decision_row(name, decision_id=name),
    )
    spool.add(rows)
    with monkeypatch.context() as patch:
        crash_during(store, patch, method, after=after)
        with contextlib.suppress(Killed):
            ship(spool, store)
    ship_all(spool, store)
    counts = {
        table: store.batch_counts(table, [rows.number], rows.days).get(rows.number, 0)
        for table in rows.table_rows()
    }
    assert counts == dict(rows.table_rows())
    assert spool.pending() == []


def test_a_connection_that_breaks_after_the_server_took_the_rows(store, spool, monkeypatch):
    """The server has them, the client never hears: the retry finds them by their number."""
    real = type(store).insert_block

    def cut(self, block, **kwargs):
        real(self, block, **kwargs)
        msg = "connection reset by peer"
        raise ExternalServiceError(msg)

    spool.add(metrics("cut"))
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "insert_block", cut)
        shipped = ship(spool, store)
    assert isinstance(shipped.stopped, ExternalServiceError)
    assert shipped.waiting == 1
    assert ship(spool, store).waiting == 0
    assert stored(store, "cut") == {"n": 5, "names": 5}


def test_a_half_that_arrived_is_replaced_by_the_whole(store, spool, monkeypatch):
    whole = metrics("half", 6)
    half = metrics("half", 6)
    line = half.sections[0].payload.splitlines(keepends=True)
    part = Section(
        table="metrics", columns=half.sections[0].columns, format="JSONEachRow", rows=2,
        payload=b"".join(line[:2]),
    )  # fmt: skip
    (block,) = join_sections([Batch.of("half", (), blocks=[part], created_at=NOON)])
    store.insert_block(block)
    spool.add(whole)
    spool.mark_tried(spool.pending()[0])
    ship_all(spool, store)
    assert stored(store, "half") == {"n": 6, "names": 6}


@pytest.mark.parametrize("tried", [False, True])
def test_rows_that_were_stored_and_lost_since_are_stored_again(store, spool, tried):
    """The server still remembers the token of rows that are gone."""
    name = f"token-{tried}"
    spool.add(metrics(name))
    ship_all(spool, store)
    number = batch_number(name)
    store.command("DELETE FROM metrics WHERE batch = {b: UInt64}", {"b": number})
    store.command("DELETE FROM batches WHERE batch = {b: UInt64}", {"b": number})
    spool.add(metrics(name))
    if tried:
        spool.mark_tried(spool.pending()[0])
    ship_all(spool, store)
    assert stored(store, name)["n"] == 5


def bad_batch(name):
    """Rows that the store refuses: a number that is none."""
    good = metrics(name)
    (section,) = good.sections
    bad = Section(
        table=section.table, columns=section.columns, format=section.format, rows=section.rows,
        payload=section.payload.replace(b'"n":40', b'"n":"many"'),
    )  # fmt: skip
    return Batch.of(name, (), blocks=[bad], created_at=NOON)


def test_what_the_store_refuses_is_set_aside_and_the_rest_goes_on(store, spool):
    spool.add(metrics("c1"), bad_batch("c2"), metrics("c3"))
    spool.add(metrics("c4"))
    shipped = ship(spool, store)
    assert (shipped.batches, shipped.rows, len(shipped.quarantined)) == (3, 15, 1)
    (path, reason) = spool.set_asides()[0]
    assert "table metrics: Code: " in reason
    assert [each.batch_id for each in load_batches(path.read_bytes())] == ["c2"]
    assert stored(store, "c2")["n"] == 0
    assert stored(store, "c3")["n"] == 5


def test_a_refused_batch_leaves_none_of_its_tables_behind(store, spool):
    made = batch("d1", *(request_row("d1", repetition_id="d1", index=i) for i in range(3)))
    bad = bad_batch("d1")
    spool.add(Batch.of("d1", (), blocks=[*made.sections, *bad.sections], created_at=NOON))
    assert len(ship(spool, store).quarantined) == 1
    assert store.batch_counts("requests", [batch_number("d1")], ()) == {}


def test_a_damaged_parcel_is_set_aside(store, spool):
    spool.add(metrics("e1"))
    path = spool.pending()[0].path
    path.write_bytes(path.read_bytes()[:-9])
    spool.add(metrics("e2"))
    shipped = ship(spool, store)
    assert (shipped.batches, len(shipped.quarantined)) == (1, 1)
    assert "do not have the digest" in spool.set_asides()[0][1]


def test_a_store_that_is_full_ends_the_round_and_nothing_is_lost(store, spool, monkeypatch):
    def full(self, block, **kwargs):
        msg = "No space left on device"
        raise InfrastructureError(msg)

    spool.add(metrics("f1"))
    spool.add(metrics("f2"))
    with monkeypatch.context() as patch:
        patch.setattr(type(store), "insert_block", full)
        shipped = ship(spool, store)
        with pytest.raises(InfrastructureError, match="No space"):
            ship_all(spool, store)
    assert (shipped.batches, shipped.waiting) == (0, 2)
    assert ship(spool, store).rows == 10


def test_a_clock_that_jumps_back_changes_the_order_only(store, spool):
    spool.add(metrics("g1"))
    spool.add(batch("g2", metric_row(repetition_id="g2"), created_at=NOON - timedelta(days=400)))
    assert ship(spool, store).rows == 6


def test_only_newer_versions_of_a_row_are_stored(store, spool):
    running = attempt_row(
        "v-job", 1, state="running", finished_at=None, exit_status=None, version=5
    )
    done = attempt_row("v-job", 1, version=9)
    spool.add(batch("v1", running, created_at=NOON - timedelta(minutes=1)))
    spool.add(batch("v2", done), batch("v3", attempt_row("v-job", 1, version=7, state="broken")))
    shipped = ship(spool, store)
    assert (shipped.stored["job_attempts"], shipped.duplicates) == (2, 1)
    rows = store.sql(
        "SELECT argMax(state, version) AS state, count() AS n FROM job_attempts"
        " WHERE job_key = 'v-job' GROUP BY job_id"
    )
    assert rows[0]["state"] == "passed"
    spool.add(batch("v4", running, done))
    assert (ship(spool, store).duplicates, spool.pending()) == (2, [])


def test_any_order_of_sends_kills_and_repeats_ends_the_same(store, tmp_path, monkeypatch):
    """Two hundred steps of a seeded mess: every batch that was ever added is there once."""
    dice = random.Random(7)
    spool, added = Spool(tmp_path / "mess"), {}
    for _ in range(200):
        name = f"mess-{dice.randrange(60)}"
        made = metrics(name, 1 + batch_number(name) % 4)
        if dice.random() < 0.6:
            spool.add(made)
            added[name] = made.rows
            continue
        method = dice.choice(["insert_block", "note_batches", "known_batches", "batch_counts"])
        with monkeypatch.context() as patch:
            crash_during(store, patch, method, after=dice.randrange(4))
            with contextlib.suppress(Killed):
                ship(spool, store)
    ship_all(spool, store)
    found = store.sql(
        "SELECT repetition_id, count() AS n FROM metrics WHERE repetition_id LIKE 'mess-%'"
        " GROUP BY repetition_id"
    )
    assert {row["repetition_id"]: row["n"] for row in found} == added


def test_refusals_are_usage_errors_with_the_engine_s_reason(store):
    with pytest.raises(RefusedRowsError, match="Cannot parse|CANNOT_PARSE"):
        store.insert(bad_batch("h"))
    assert stored(store, "h")["n"] == 0
