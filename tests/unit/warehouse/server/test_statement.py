import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.warehouse.server.protocol import RefusedError
from gauntlet.warehouse.server.statement import Kind, parse_statement


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        pytest.param(b"SELECT 1", Kind.SELECT, id="select"),
        pytest.param(b"  -- why\n/* ; */ with 1 AS x SELECT x", Kind.SELECT, id="after comments"),
        pytest.param(b"(SELECT 1) UNION ALL (SELECT 2)", Kind.SELECT, id="in brackets"),
        pytest.param(b"FROM numbers(3) SELECT number", Kind.SELECT, id="from first"),
        pytest.param(b"DESCRIBE TABLE t FORMAT Native", Kind.LISTING, id="describe"),
        pytest.param(b"show tables", Kind.LISTING, id="show"),
        pytest.param(b"CREATE TABLE t (a Int8) ENGINE = Memory", Kind.COMMAND, id="create"),
        pytest.param(b"INSERT INTO t SELECT 1", Kind.COMMAND, id="insert select"),
        pytest.param(b"INSERT INTO t (a) (SELECT 1)", Kind.COMMAND, id="insert in brackets"),
        pytest.param(b"INSERT INTO t WITH 1 AS x SELECT x", Kind.COMMAND, id="insert with"),
        pytest.param(b"WITH 1 AS x INSERT INTO t SELECT x", Kind.COMMAND, id="with insert"),
        pytest.param(b"INSERT INTO t FROM INFILE 'f' FORMAT CSV", Kind.COMMAND, id="insert infile"),
        pytest.param(b"INSERT INTO t (a, b) FORMAT Native", Kind.INSERT, id="insert"),
    ],
)
def test_a_statement_is_known_by_what_it_gives_and_takes(text, kind):
    assert parse_statement(text).kind is kind


@pytest.mark.parametrize(
    ("text", "sql", "format_name", "data"),
    [
        pytest.param(
            b"INSERT INTO t (`a`) FORMAT Native\n\x00\n;'", b"INSERT INTO t (`a`) ", "Native",
            b"\x00\n;'", id="the client's own",
        ),
        pytest.param(
            b"insert into t format CSV \t\r\n\n1", b"insert into t ", "CSV", b"\n1",
            id="one line end belongs to the statement",
        ),
        pytest.param(
            b'INSERT INTO t FORMAT JSONEachRow {"a": 1}', b"INSERT INTO t ", "JSONEachRow",
            b'{"a": 1}', id="on the same line",
        ),
        pytest.param(
            b"INSERT INTO t (a) VALUES (1), (2)", b"INSERT INTO t (a) ", "Values", b" (1), (2)",
            id="values",
        ),
        pytest.param(
            b"INSERT INTO t SETTINGS x = 'VALUES' FORMAT TSV\n1",
            b"INSERT INTO t SETTINGS x = 'VALUES' ", "TSV", b"1", id="after settings",
        ),
        pytest.param(
            b"INSERT INTO TABLE values.format (`values`, format) VALUES (1)",
            b"INSERT INTO TABLE values.format (`values`, format) ", "Values", b" (1)",
            id="names that look like clauses",
        ),
        pytest.param(
            b"INSERT INTO FUNCTION file('f', CSV) FORMAT CSV\n1",
            b"INSERT INTO FUNCTION file('f', CSV) ", "CSV", b"1", id="into a function",
        ),
    ],
)  # fmt: skip
def test_data_begins_where_its_statement_ends(text, sql, format_name, data):
    statement = parse_statement(text)
    assert statement.kind is Kind.INSERT
    assert (statement.sql, statement.format) == (sql, format_name)
    assert text[statement.data_at :] == data


@pytest.mark.parametrize(
    ("text", "format_name", "before"),
    [
        pytest.param(b"SELECT 1 FORMAT CSV", "CSV", b"SELECT 1 ", id="at the end"),
        pytest.param(b"SELECT 1\nformat Arrow ; ", "Arrow", b"SELECT 1\n", id="before a semicolon"),
        pytest.param(
            b"SELECT 1 FORMAT CSV SETTINGS max_threads = 1", "CSV", b"SELECT 1 ", id="then settings"
        ),
        pytest.param(b"SELECT 1 FORMAT CSV -- why", "CSV", b"SELECT 1 ", id="then a comment"),
        pytest.param(b"SELECT format FROM t", None, None, id="a column"),
        pytest.param(b"SELECT 'x FORMAT CSV'", None, None, id="a text"),
        pytest.param(b"SELECT * FROM (SELECT 1 FORMAT CSV)", None, None, id="inside"),
    ],
)
def test_a_format_clause_is_found_where_it_is_one(text, format_name, before):
    statement = parse_statement(text)
    assert statement.format == format_name
    found = None if statement.format_at is None else statement.sql[: statement.format_at]
    assert found == before


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param(b" -- nothing\n", "Empty query", id="nothing"),
        pytest.param(b" ; ", "Empty query", id="only an end"),
        pytest.param(b"SELECT 1; SELECT 2", "Multi-statements", id="two"),
    ],
)
def test_what_is_not_one_statement_is_refused(text, reason):
    with pytest.raises(RefusedError, match=reason) as caught:
        parse_statement(text)
    assert (caught.value.code, caught.value.status) == (62, 400)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(b"SET max_threads = 1", True, id="set"),
        pytest.param(b"USE other", True, id="use"),
        pytest.param(b"CREATE TEMPORARY TABLE t (a Int8)", True, id="temporary table"),
        pytest.param(b"CREATE TABLE t (a Int8)", False, id="table"),
    ],
)
def test_what_ends_with_its_session_is_known(text, expected):
    assert parse_statement(text).for_session is expected


@given(name=st.text(min_size=1), data=st.binary())
def test_any_name_and_any_data_are_told_apart(name, data):
    escaped = name.replace("\\", "\\\\").replace("`", "\\`").encode()
    head = b"INSERT INTO `%s` (`%s`) FORMAT RowBinary\n" % (escaped, escaped)
    statement = parse_statement(head + data)
    assert statement.format == "RowBinary"
    assert (head + data)[statement.data_at :] == data


@given(st.binary(max_size=200))
def test_no_text_breaks_the_reader(text):
    with contextlib.suppress(RefusedError):
        assert text.startswith(parse_statement(text).sql)
