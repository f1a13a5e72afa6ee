"""The schema over time: migrations cut short, programs of two versions, stores from the future."""

import pytest
from factories import batch, metric_row
from stores import embedded_store

from gauntlet.core.errors import UsageError
from gauntlet.warehouse import store as store_module
from gauntlet.warehouse.migrations import load_migrations, read_migration
from gauntlet.warehouse.store import open_embedded

NEWEST = load_migrations()[-1].number
ADDITIVE = f"-- reads-from: {NEWEST}\nALTER TABLE metrics ADD COLUMN IF NOT EXISTS note String;\n"
BREAKING = f"-- reads-from: {NEWEST + 1}\nALTER TABLE metrics RENAME COLUMN n TO many;\n"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "warehouse"


def of_the_next_version(monkeypatch, sql):
    """Let the program know one migration more."""
    more = (*load_migrations(), read_migration(NEWEST + 1, "next", sql))
    monkeypatch.setattr(store_module, "load_migrations", lambda: more)


def test_a_migration_that_was_cut_short_is_finished(folder):
    with embedded_store(folder) as opened:
        opened.command("TRUNCATE TABLE schema_migrations")
        opened.command("DROP TABLE decisions")
        opened.command("DROP VIEW test_days")
    with embedded_store(folder) as opened:
        assert [each.number for each in opened.applied()] == list(range(1, NEWEST + 1))
        assert opened.sql("SELECT count() AS n FROM decisions") == [{"n": 0}]
        assert opened.sql("SELECT count() AS n FROM test_days") == [{"n": 0}]


def test_opening_again_changes_nothing(folder):
    with embedded_store(folder) as opened:
        before = opened.sql("SELECT count() AS n FROM schema_migrations")
    with embedded_store(folder) as opened:
        assert opened.migrate() == []
        assert opened.sql("SELECT count() AS n FROM schema_migrations") == before


def test_one_step_at_a_time_and_never_back(folder):
    with embedded_store(folder) as opened:
        assert opened.migrate(target=NEWEST) == []
        with pytest.raises(UsageError, match=f"at migration {NEWEST}; going back to 1"):
            opened.migrate(target=1)


def test_writers_of_two_versions_are_both_accepted(folder, monkeypatch):
    """A colleague migrates; programs of the version before go on reading and writing."""
    with embedded_store(folder) as opened:
        opened.insert(batch("before", metric_row(metric="a")))
    with monkeypatch.context() as patch:
        of_the_next_version(patch, ADDITIVE)
        with open_embedded(folder) as newer:
            newer.insert(batch("newer", metric_row(metric="b")))
    with open_embedded(folder) as older:
        older.insert(batch("older", metric_row(metric="c")))
        assert [each.number for each in older.applied()][-1] == NEWEST + 1
        rows = older.sql("SELECT metric, note FROM metrics ORDER BY metric")
    assert rows == [{"metric": name, "note": ""} for name in "abc"]


def test_a_store_that_is_too_new_is_refused_before_anything_is_written(folder, monkeypatch):
    with embedded_store(folder):
        pass
    with monkeypatch.context() as patch:
        of_the_next_version(patch, BREAKING)
        with open_embedded(folder):
            pass
    with pytest.raises(UsageError, match=rf"has migration {NEWEST + 1} \(next\)") as caught:
        open_embedded(folder)
    assert caught.value.hint == "upgrade gauntlet, or open another warehouse"


def test_rows_of_the_schema_before_fill_in_when_they_are_shipped_late(folder, monkeypatch):
    """What was spooled by an older program is shipped into a newer schema."""
    old = batch("old", metric_row(metric="late"))
    of_the_next_version(monkeypatch, ADDITIVE)
    with embedded_store(folder) as opened:
        opened.insert(old)
        assert opened.sql("SELECT note FROM metrics") == [{"note": ""}]


def test_retention_is_applied_once_and_again_when_it_changes(folder, monkeypatch):
    def editions(opened):
        return opened.sql("SELECT count() AS n FROM schema_migrations WHERE number = 0")[0]["n"]

    def ttl(opened):
        return opened.sql("SHOW CREATE TABLE spans")[0]["statement"]

    with embedded_store(folder) as opened:
        assert editions(opened) == 1
        assert "toIntervalDay(45)" in ttl(opened)
    shorter = store_module.load_retention()
    rules = tuple(
        rule.model_copy(update={"days": 9}) if rule.table == "spans" else rule
        for rule in shorter.rules
    )
    changed = shorter.model_copy(update={"rules": rules})
    monkeypatch.setattr(store_module, "load_retention", lambda: changed)
    with embedded_store(folder) as opened:
        assert editions(opened) == 2
        assert "toIntervalDay(9)" in ttl(opened)
