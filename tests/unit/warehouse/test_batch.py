import pytest
from factories import NOON, batch, decision_row, metric_row, repetition_row, request_row, run_row
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.warehouse.batch import (
    Batch,
    Section,
    batch_number,
    content_id,
    decision_batch,
    join_sections,
    load_batches,
)
from gauntlet.warehouse.tables import TABLES


def test_a_batch_comes_back_as_it_was():
    first = batch("a/b", run_row(), metric_row(value=None))
    second = batch("c", request_row())
    assert load_batches(first.dump() + second.dump()) == [first, second]


@given(st.binary(max_size=200), st.text(max_size=20))
def test_any_bytes_come_back(payload, name):
    section = Section(
        table="test_results", columns=("a",), format="RowBinary", rows=1, payload=payload
    )
    made = Batch.of(name, (), blocks=[section], created_at=NOON)
    assert load_batches(made.dump()) == [made]


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda data: data[:-3], "do not have the digest"),
        (lambda data: data[:40], "header line is cut"),
        (lambda data: b"{}\n" + data, "header: batch_id: Field required"),
        (lambda data: data.replace(b'"table":"runs"', b'"table":"nuns"'), "is none of"),
        (lambda data: data.replace(b"smoke", b"smoky"), "do not have the digest"),
    ],
    ids=["cut body", "cut header", "foreign header", "foreign table", "changed row"],
)
def test_damage_is_found_and_told(damage, said):
    with pytest.raises(ValueError, match=said):
        load_batches(damage(batch("b", run_row()).dump()))


def test_what_others_refer_to_comes_last():
    made = batch("b", repetition_row(), run_row(), metric_row(), request_row(), decision_row())
    order = [section.table for section in made.sections]
    assert order == sorted(order, key=TABLES.index)
    assert order.index("metrics") < order.index("repetitions") < order.index("runs")


def test_a_batch_knows_the_days_of_its_rows():
    assert [str(day) for day in batch("b", run_row(), metric_row()).days] == ["2026-01-01"]
    assert batch("b", metric_row()).days == ()


def test_content_names_a_batch():
    assert content_id("s", b"ab", b"c") == content_id("s", b"ab", b"c")
    assert content_id("s", b"ab", b"c") != content_id("s", b"a", b"bc")
    assert content_id("s", b"x") != content_id("t", b"x")


def test_rows_carry_the_number_of_their_batch():
    made = batch("b", run_row())
    assert made.number == batch_number("b") < 2**64
    assert f'"batch":{made.number}}}\n'.encode() in made.sections[0].payload


def test_sections_of_many_batches_are_joined_by_table():
    blocks = join_sections(
        [batch("a", metric_row(), metric_row(statistic="p9")), batch("b", metric_row())]
    )
    assert [(block.table, block.rows, len(block.parts)) for block in blocks] == [("metrics", 3, 2)]
    rest = blocks[0].without({batch_number("a")})
    assert (rest.rows, rest.batches) == (1, {batch_number("b")})
    assert rest.token != blocks[0].token


def test_decisions_of_two_moments_are_two_batches():
    one = decision_batch("r", "verdicts", [decision_row()], NOON)
    two = decision_batch("r", "verdicts", [decision_row()], NOON.replace(microsecond=1))
    assert one.batch_id != two.batch_id
