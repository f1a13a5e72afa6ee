import pytest

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.migrations import (
    Applied,
    check_target,
    load_migrations,
    on_cluster,
    pending,
    read_migration,
    split_statements,
)
from gauntlet.warehouse.retention import Rule, load_retention, ttl_statements
from gauntlet.warehouse.tables import TABLES


def have(*numbers, reads_from=1):
    return [Applied(number, "x", reads_from) for number in numbers]


def test_statements_split_at_line_ends_and_lose_comments():
    sql = "-- one; not here\nSELECT 1;\nSELECT ';' AS x\n;\n\n"
    assert split_statements(sql) == ("SELECT 1", "SELECT ';' AS x")


def test_what_is_missing_is_applied_in_order():
    known = load_migrations()
    assert pending(known, []) == known
    assert pending(known, have(1)) == known[1:]
    assert pending(known, have(*(m.number for m in known))) == ()


def test_a_program_of_the_version_before_goes_on_working():
    known = load_migrations()
    newest = known[-1].number
    assert pending(known, have(*range(1, newest + 2), reads_from=newest)) == ()


def test_a_store_that_this_program_cannot_read_is_refused():
    known = load_migrations()
    newest = known[-1].number
    with pytest.raises(UsageError, match=rf"has migration {newest + 1} \(x\), for programs"):
        pending(known, [*have(*range(1, newest + 1)), *have(newest + 1, reads_from=newest + 1)])


def test_going_back_is_refused():
    check_target(2, have(1, 2))
    with pytest.raises(UsageError, match="at migration 2; going back to 1"):
        check_target(1, have(1, 2))


def test_a_migration_says_which_programs_it_suits():
    assert read_migration(3, "x", "-- reads-from: 2\nSELECT 1;\n").reads_from == 2
    with pytest.raises(UsageError, match="0003_x: the first line"):
        read_migration(3, "x", "SELECT 1;\n")


def test_numbers_have_no_gap_and_every_table_is_made_once():
    known = load_migrations()
    assert [m.number for m in known] == list(range(1, len(known) + 1))
    made = [s.split()[2] for m in known for s in m.statements if s.startswith("CREATE TABLE ")]
    assert len(made) == len(set(made))
    assert set(TABLES) <= set(made)


def test_the_same_tables_are_replicated_on_a_cluster():
    for migration in load_migrations():
        for statement in migration.statements:
            assert on_cluster(statement, None) == statement
            if not statement.startswith("CREATE TABLE"):
                continue
            made = on_cluster(statement, "ci")
            assert " ON CLUSTER 'ci'" in made
            assert "ENGINE = Replicated" in made
            assert "non_replicated" not in made
    versioned = on_cluster("CREATE TABLE t\n(a Int8)\nENGINE = ReplacingMergeTree(version)", "ci")
    assert (
        "ReplicatedReplacingMergeTree('/clickhouse/tables/{shard}/{database}/{table}'" in versioned
    )
    assert versioned.endswith("'{replica}', version)")


def test_retention_names_tables_that_are_there():
    retention = load_retention()
    made = {s.split()[2] for m in load_migrations() for s in m.statements if "CREATE TABLE" in s}
    assert {rule.table for rule in retention.rules} <= made
    assert len(ttl_statements(retention)) == len({rule.table for rule in retention.rules})


def test_raw_results_stay_whole_as_long_as_their_days_are_rolled_up():
    kept = {}
    for rule in load_retention().rules:
        kept[rule.table] = min(rule.days, kept.get(rule.table, rule.days))
    views = {s.split()[2]: s for m in load_migrations() for s in m.statements if "VIEW" in s}
    assert f"today() - {kept['test_results']}\n" in views["stale_test_days"]
    assert f"today() - {kept['job_attempts']}\n" in views["stale_job_days"]
    assert kept["batches"] > kept["job_attempts"]


def test_another_rule_is_another_edition():
    retention = load_retention()
    more = retention.model_copy(
        update={"rules": (*retention.rules, Rule(table="runs", column="started_at", days=9))}
    )
    assert more.name != retention.name
