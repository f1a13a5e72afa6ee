import pytest

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.named_queries import load_query, query_names, read_query

TEXT = """-- What is it?
-- And more of it.
-- @day: the day
-- @limit: how many = 10
-- @filter: a filter =
SELECT {day: Date}, {limit: UInt32}, {filter: String}, {day: Date}
"""


def test_a_query_says_what_it_answers_and_what_it_takes():
    query = read_query("q", TEXT)
    assert query.question == "What is it? And more of it."
    assert [(p.name, p.type, p.default) for p in query.parameters] == [
        ("day", "Date", None),
        ("limit", "UInt32", "10"),
        ("filter", "String", ""),
    ]


def test_defaults_fill_what_is_not_given():
    query = read_query("q", TEXT)
    assert query.values({"day": "2026-01-01"}) == {"day": "2026-01-01", "limit": "10", "filter": ""}


def test_missing_and_unknown_parameters_are_told():
    query = read_query("q", TEXT)
    with pytest.raises(UsageError, match="query q needs the parameters day"):
        query.values({})
    with pytest.raises(UsageError, match="unknown parameter of query q 'dya'; did you mean 'day'"):
        query.values({"dya": 1})


@pytest.mark.parametrize("name", query_names())
def test_every_query_is_documented(name):
    query = load_query(name)
    assert query.question.endswith(("?", ".")) or "? " in query.question
    assert all(parameter.meaning for parameter in query.parameters), name
    assert " FINAL" not in query.sql


def test_an_unknown_query_names_the_nearest():
    with pytest.raises(UsageError, match="did you mean 'run_metrics'"):
        load_query("run_metric")
