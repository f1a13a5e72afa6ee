import math
from datetime import datetime

import pytest
from factories import batch, metric_row, repetition_row, request_row, run_row
from pydantic import ValidationError

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.migrations import load_migrations, pending, split_statements
from gauntlet.warehouse.records import TABLES
from gauntlet.warehouse.spool import Spool


@pytest.mark.parametrize("value", [-1715507074412.0, -0.1, 1.7e12, math.nan, math.inf])
@pytest.mark.parametrize("field", ["ttft_ms", "tpot_ms", "e2e_ms", "sent_ms"])
def test_impossible_latencies_are_refused_by_name(field, value):
    with pytest.raises(ValidationError) as caught:
        request_row(**{field: value})
    assert caught.value.errors()[0]["loc"] == (field,)


def test_a_metric_may_be_missing_but_not_nan():
    assert metric_row(value=None).value is None
    with pytest.raises(ValidationError):
        metric_row(value=math.nan)


def test_naive_times_are_refused():
    with pytest.raises(ValidationError, match="timezone"):
        run_row(started_at=datetime(2026, 1, 1))  # noqa: DTZ001


def test_what_is_not_valid_needs_a_reason():
    with pytest.raises(ValidationError, match="needs a reason"):
        repetition_row(status="failed")


def test_columns_and_fields_agree():
    sql = " ".join(s for m in load_migrations() for s in m.statements)
    for table, model in TABLES.items():
        body = sql.split(f"CREATE TABLE {table}\n(")[1].split("\n)\nENGINE")[0]
        columns = [line.split()[0] for line in body.strip().splitlines()]
        assert columns == list(model.model_fields), table


def test_statements_split_at_line_ends_and_lose_comments():
    sql = "-- one; not here\nSELECT 1;\nSELECT ';' AS x\n;\n\n"
    assert split_statements(sql) == ("SELECT 1", "SELECT ';' AS x")


def test_a_downgrade_is_refused():
    known = load_migrations()
    assert pending(known, []) == known
    assert pending(known, [m.number for m in known]) == ()
    with pytest.raises(UsageError, match="migration 77"):
        pending(known, [1, 77])


def test_batches_come_back_from_the_spool_as_they_were(tmp_path):
    rows = batch("a/b", runs=[run_row()], metrics=[metric_row(value=None)])
    path = Spool(tmp_path).add(rows)
    assert "/" not in path.name
    assert type(rows).model_validate_json(path.read_bytes()) == rows
    assert list(rows.by_table()) == ["runs", "metrics"]


class FakeStore:
    def __init__(self, fail_on=()):
        self.inserted = []
        self.fail_on = fail_on

    def insert(self, found):
        if found.batch_id in self.fail_on:
            msg = "no"
            raise ConnectionError(msg)
        self.inserted.append(found.batch_id)


def test_what_the_store_refuses_stays_in_the_spool(tmp_path):
    spool = Spool(tmp_path)
    for name in ("one", "two"):
        spool.add(batch(name, runs=[run_row()]))
    with pytest.raises(ConnectionError):
        spool.ship(FakeStore(fail_on=("two",)))
    assert len(spool.pending()) == 1
    store = FakeStore()
    assert spool.ship(store).batches == 1
    assert store.inserted == ["two"]


def test_a_batch_that_cannot_be_read_goes_to_quarantine_with_its_reason(tmp_path):
    spool = Spool(tmp_path)
    good = spool.add(batch("good", runs=[run_row()]))
    bad = good.with_name("0-bad.json")
    bad.write_text(good.read_text().replace('"version":0', '"version":-1'))
    shipped = spool.ship(FakeStore())
    assert (shipped.batches, shipped.quarantined) == (1, ("0-bad.json",))
    assert "version" in (tmp_path / "quarantine" / "0-bad.reason.txt").read_text()
    assert (tmp_path / "quarantine" / "0-bad.json").exists()


def test_every_warehouse_has_a_local_spool():
    assert str(spool_folder("/data/warehouse")) == "/data/warehouse-spool"
    assert not str(spool_folder("http://host:8123")).startswith("http")
