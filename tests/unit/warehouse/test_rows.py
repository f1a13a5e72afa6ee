import math
from datetime import UTC, datetime, timedelta, timezone

import pytest
from factories import NOON, decision_row, metric_row, repetition_row, request_row, run_row
from pydantic import ValidationError

from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.migrations import load_migrations
from gauntlet.warehouse.rows.base import implausible_instant
from gauntlet.warehouse.rows.measurement import series_of
from gauntlet.warehouse.tables import BLOCK_TABLES, ROW_MODELS, TABLES


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


def test_times_of_any_zone_become_utc():
    shanghai = NOON.astimezone(timezone(timedelta(hours=8)))
    row = run_row(started_at=shanghai)
    assert row.started_at == NOON
    assert row.started_at.tzinfo is UTC


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (datetime(1970, 1, 1, tzinfo=UTC), "before 2015"),
        (NOON + timedelta(hours=2), "in the future"),
        (datetime(2026, 1, 1), "no time zone"),  # noqa: DTZ001
    ],
    ids=["epoch", "future", "naive"],
)
def test_implausible_times_are_told(value, said):
    assert said in implausible_instant(value, NOON)


def test_a_clock_that_is_a_little_ahead_is_let_through():
    assert implausible_instant(NOON + timedelta(minutes=59), NOON) is None


def test_what_is_not_valid_needs_a_reason():
    with pytest.raises(ValidationError, match="needs a reason"):
        repetition_row(status="failed")


def test_the_series_depends_on_what_is_drawn_as_one_line():
    base = {"recipe": "r", "workload": "w", "model": "m", "accelerator": "H200"}
    names = {series_of(**base)} | {series_of(**{**base, key: "x"}) for key in base}
    assert len(names) == 5
    assert series_of(**{**base, "accelerator": None}) == series_of(**{**base, "accelerator": "cpu"})


def test_decisions_of_one_instant_about_one_subject_are_one():
    assert decision_row().decision_id == decision_row(outcome="worse").decision_id


def _columns(table):
    sql = " ".join(s for m in load_migrations() for s in m.statements)
    body = sql.split(f"CREATE TABLE {table}\n(")[1].split("\n)\nENGINE")[0]
    lines = [line.split() for line in body.strip().splitlines()]
    return [words[0].strip("`") for words in lines if words[0] != "INDEX"]


@pytest.mark.parametrize("table", ROW_MODELS)
def test_columns_and_fields_agree(table):
    assert set(_columns(table)) == {*ROW_MODELS[table].model_fields, "batch"}


@pytest.mark.parametrize("table", ROW_MODELS)
def test_identity_order_and_day_are_columns(table):
    model = ROW_MODELS[table]
    named = {*model.identity, *filter(None, (model.order, model.day))}
    assert named <= set(model.model_fields)


def test_every_table_of_rows_has_its_batch():
    assert all("batch" in _columns(table) for table in TABLES)
    assert set(BLOCK_TABLES) <= set(TABLES)


def test_every_warehouse_has_a_spool_of_its_own():
    assert str(spool_folder("/data/warehouse")) == "/data/warehouse-spool"
    one, two = spool_folder("http://host:8123/a"), spool_folder("http://host:8123/b")
    assert one != two
    assert "secret" not in str(spool_folder("https://me:secret@host:8443/ci"))
