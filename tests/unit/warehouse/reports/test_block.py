"""Reports to batches: what is in them, and that ClickHouse reads every column back."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from math import isnan
from operator import itemgetter
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.warehouse.reports.documents import NOW, case, document, read

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.batch import batch_number, load_batches
from gauntlet.warehouse.migrations import load_migrations
from gauntlet.warehouse.reports import block
from gauntlet.warehouse.reports.block import JobContext, report_batch
from gauntlet.warehouse.reports.native import RESULT_COLUMNS
from gauntlet.warehouse.reports.nodes import NAME_COLUMNS, test_id
from gauntlet.warehouse.reports.report import CaseDetail, Rejection, Report, occurrences_of

STARTED = datetime(2026, 7, 1, 9, 30, 0, 123_456, tzinfo=UTC)
WORDS = ["", "passed", "failed", "error", "skipped", "xfailed", "xpassed"]


def job(number=1, **changes):
    fields = {
        "job_id": UUID(int=(0x0123456789ABCDEF << 64) + number),
        "repository": "vllm-project/vllm",
        "sha": "a" * 40,
        "branch": "main",
        "job_key": "kernels-attention",
        "queue": "h200",
        "started_at": STARTED,
    }
    return JobContext(**{**fields, **changes})


def report(nodeids, outcomes=None, durations=None, **changes):
    outcomes = outcomes or [1] * len(nodeids)
    fields = {
        "origin": "report.xml",
        "nodeids": nodeids,
        "outcomes": np.array(outcomes, np.int8),
        "durations_ms": np.array(durations or [1.5] * len(nodeids), np.float32),
        "occurrences": occurrences_of(nodeids).astype(np.uint16),
        "details": [
            CaseDetail(i, f"message {i}", "text", "a.py", 7)
            for i, outcome in enumerate(outcomes)
            if outcome != 1
        ],
    }
    return Report(**{**fields, **changes})


def batches(*pairs, now=NOW):
    return report_batch(pairs, source="junit", now=now)


def section(batch, table):
    (found,) = [section for section in batch.sections if section.table == table]
    return found


def rows(batch, table):
    payload = section(batch, table).payload
    return [json.loads(line) for line in payload.splitlines()]


def test_columns_are_those_of_the_tables():
    sql = " ".join(s for migration in load_migrations() for s in migration.statements)
    for table, columns in (("tests", NAME_COLUMNS), ("test_results", RESULT_COLUMNS)):
        body = sql.split(f"CREATE TABLE {table}\n(")[1].split("\n)\nENGINE")[0]
        assert tuple(line.split()[0] for line in body.strip().splitlines()) == columns


def test_a_batch_holds_names_results_details_and_what_was_refused():
    problem = Rejection("testcase 3 (line 9)", ("time: '-1' is negative",), "<testcase/>")
    found = report(["a.py::t", "a.py::u", "a.py::t"], [1, 2, 4], problems=[problem])
    (batch,) = batches((job(), found))
    assert [s.table for s in batch.sections] == [
        "rejected_rows", "test_details", "tests", "test_results",
    ]  # fmt: skip
    assert batch.table_rows() == {
        "rejected_rows": 1, "test_details": 2, "tests": 2, "test_results": 3,
    }  # fmt: skip
    assert batch.days == (date(2026, 7, 1),)
    first, second = rows(batch, "test_details")
    assert first["test_id"] == test_id("vllm-project/vllm", "a.py::u")
    assert (first["outcome"], first["occurrence"]) == ("failed", 0)
    assert (second["outcome"], second["occurrence"]) == ("skipped", 1)
    assert first["batch"] == batch.number
    (refused,) = rows(batch, "rejected_rows")
    assert refused["origin"] == f"{job().job_id}/report.xml"
    assert (refused["source"], refused["target"]) == ("junit", "test_results")
    assert refused["reasons"] == ["time: '-1' is negative"]


def test_the_same_reports_are_the_same_batch_whenever_they_are_sent():
    undated = job(started_at=None)
    found = report(["a", "b"], [1, 2])
    one, other = (batches((undated, found), now=NOW + timedelta(n))[0] for n in (0, 3))
    assert one.batch_id == other.batch_id
    assert one.batch_id.startswith("junit/")


@pytest.mark.parametrize(
    ("context", "changes"),
    [
        ({"sha": "b" * 40}, {}),
        ({"started_at": STARTED + timedelta(1)}, {}),
        ({}, {"nodeids": ["a", "c"]}),
        ({}, {"durations_ms": np.float32([1.5, np.nan])}),
        ({}, {"outcomes": np.int8([1, 3])}),
        ({}, {"details": [CaseDetail(1, "other", "text", "a.py", 7)]}),
        ({}, {"problems": [Rejection("p", ("r",), "x")]}),
    ],
)
def test_anything_that_differs_makes_another_batch(context, changes):
    found = report(["a", "b"], [1, 2])
    (one,) = batches((job(), found))
    (other,) = batches((job(**context), replace(found, **changes)))
    assert one.batch_id != other.batch_id


def test_reports_of_a_job_number_the_occurrences_together():
    found = batches(
        (job(), report(["a", "b"], [1, 2], origin="1.xml")),
        (job(2), report(["a"], [4])),
        (job(), report(["b", "b"], [3, 1], origin="2.xml")),
    )
    details = [(row["job_id"], row["outcome"], row["occurrence"]) for row in
               rows(found[0], "test_details")]  # fmt: skip
    assert details == [
        (str(job().job_id), "failed", 0),
        (str(job().job_id), "error", 1),
        (str(job(2).job_id), "skipped", 0),
    ]
    assert section(found[0], "test_results").rows == 5


def test_a_report_that_comes_under_two_names_counts_once():
    own = report(["a", "b"], started_at=STARTED)
    copy = replace(own, origin="copy.xml")
    (batch,) = batches((job(), own), (job(), copy))
    assert section(batch, "test_results").rows == 2
    # Without a time of its own, an equal report can be another run.
    own, copy = replace(own, started_at=None), replace(copy, started_at=None)
    (batch,) = batches((job(), own), (job(), copy))
    assert section(batch, "test_results").rows == 4


def test_the_start_of_a_job_is_what_its_context_says_else_its_reports_else_now():
    dated = report(["a"], started_at=STARTED - timedelta(days=1))
    undated = report(["b"], [2])
    context = job(started_at=None)
    assert batches((job(), dated))[0].days == (date(2026, 7, 1),)
    (batch,) = batches((context, dated), (context, undated))
    assert batch.days == (date(2026, 6, 30),)
    assert rows(batch, "test_details")[0]["started_at"] == "2026-06-30T09:30:00.123000Z"
    assert batches((context, undated))[0].days == (NOW.date(),)


def test_a_time_without_a_zone_refuses_nothing():
    found = report(["a"], started_at=STARTED, zone_assumed=True)
    for started in (STARTED, None):
        (batch,) = batches((job(started_at=started), found))
        assert "rejected_rows" not in batch.table_rows()


def test_a_start_in_another_zone_is_stored_in_utc():
    east = STARTED.astimezone(timezone(timedelta(hours=14)))
    assert batches((job(started_at=east), report(["a"])))[0].days == (date(2026, 7, 1),)


@pytest.mark.parametrize(
    ("contexts", "message"),
    [
        ([job(), job(sha="b")], "comes with two contexts"),
        ([job(started_at=datetime(2026, 7, 1))], "2026-07-01T00:00:00 has no time zone"),  # noqa: DTZ001
    ],
)
def test_contexts_that_cannot_be_are_refused(contexts, message):
    with pytest.raises(UsageError, match=message):
        batches(*((context, report(["a"])) for context in contexts))


def test_batches_are_filled_job_by_job_and_only_a_larger_job_is_cut(monkeypatch):
    monkeypatch.setattr(block, "MOST_ROWS", 10)
    sizes = [4, 5, 3, 25, 9, 0]
    names = [[f"t{n}" for n in range(size)] for size in sizes]
    found = batches(*((job(n), report(mine, [2] * len(mine))) for n, mine in enumerate(names)))
    assert [batch.table_rows()["test_results"] for batch in found] == [9, 3, 10, 10, 5, 9]
    assert [batch.table_rows()["test_details"] for batch in found] == [9, 3, 10, 10, 5, 9]
    cut = [row["test_id"] for batch in found[2:5] for row in rows(batch, "test_details")]
    assert cut == [test_id("vllm-project/vllm", name) for name in names[3]]
    assert len({batch.batch_id for batch in found}) == len(found)


def test_a_report_of_nothing_but_problems_is_kept_and_an_empty_one_is_no_batch():
    (batch,) = batches((job(), report([], problems=[Rejection("suite", ("r",), "")])))
    assert dict(batch.table_rows()) == {"rejected_rows": 1}
    assert batches((job(), report([]))) == []
    assert batches() == []


names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)


@settings(max_examples=80, deadline=None)
@given(
    found=st.lists(
        st.tuples(
            st.lists(names, max_size=6),
            st.integers(1, 3),
        ),
        max_size=5,
    )
)
def test_batches_come_back_from_their_bytes_as_they_were(found):
    pairs = [(job(n), report(mine, [1 + len(name) % 6 for name in mine])) for mine, n in found]
    for batch in report_batch(pairs, source="junit", now=NOW):
        (loaded,) = load_batches(batch.dump())
        assert (loaded, loaded.number) == (batch, batch_number(batch.batch_id))


READ_BACK = """
import json, sys
import clickhouse_connect
from pathlib import Path
from gauntlet.warehouse.batch import load_batches
from gauntlet.warehouse.migrations import load_migrations

folder = Path(sys.argv[1])
client = clickhouse_connect.get_client(interface="chdb", path=str(folder / "db"))
for migration in load_migrations():
    for statement in migration.statements:
        client.command(statement)
tables = set()
for path in sorted(folder.glob("*.batch")):
    for section in load_batches(path.read_bytes())[0].sections:
        tables.add(section.table)
        client.raw_insert(
            section.table,
            column_names=section.columns,
            insert_block=section.payload,
            fmt=section.format,
        )
for table in sorted(tables):
    for line in client.raw_query(f"SELECT * FROM {table} FINAL", fmt="JSONEachRow").splitlines():
        print(json.dumps({"table": table} | json.loads(line)))
client.close()
"""


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Rows of every table as ClickHouse read them; in a process of its own, which a store needs."""
    folder = tmp_path_factory.mktemp("stored")
    long = "tests/é/test_" + "x" * 3000 + ".py::t"
    pairs = [
        (
            job(1),
            report(
                ["a.py::t", "a.py::t", long, "c.D::e"],
                [1, 2, 3, 4],
                [0.5, float("nan"), 86_400_000.0, 0.0],
            ),
        ),
        (
            job(2, sha="s" * 300, branch="é" * 100, job_key="", queue="q"),
            report(["a.py::t"], [5], problems=[Rejection("testcase 2", ("name: '' é",), "<t/>")]),
        ),
        (job(3, repository="other/one", started_at=None), report(["a.py::t"], [6], [float("nan")])),
    ]
    for number, batch in enumerate(report_batch(pairs, source="junit", now=NOW)):
        (folder / f"{number}.batch").write_bytes(batch.dump())
    argv = [sys.executable, "-c", READ_BACK, str(folder)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    found = {}
    for line in done.stdout.splitlines():
        row = json.loads(line)
        found.setdefault(row.pop("table"), []).append(row)
    (batch,) = report_batch(pairs, source="junit", now=NOW)
    return pairs, batch, found


def test_clickhouse_reads_every_result_back(stored):
    pairs, batch, found = stored
    expected = []
    for context, mine in pairs:
        started = context.started_at or NOW
        for place, nodeid in enumerate(mine.nodeids):
            duration = float(mine.durations_ms[place])
            expected.append(
                {
                    "test_id": test_id(context.repository, nodeid),
                    "job_id": str(context.job_id),
                    "occurrence": int(mine.occurrences[place]),
                    "outcome": WORDS[mine.outcomes[place]],
                    "duration_ms": None if isnan(duration) else duration,
                    "sha": context.sha,
                    "branch": context.branch,
                    "job_key": context.job_key,
                    "queue": context.queue,
                    "started_at": f"{started:%Y-%m-%d %H:%M:%S}.{started.microsecond // 1000:03}",
                    "batch": batch.number,
                }
            )
    key = itemgetter("test_id", "job_id", "occurrence")
    assert sorted(found["test_results"], key=key) == sorted(expected, key=key)


def test_clickhouse_reads_every_name_back(stored):
    pairs, batch, found = stored
    expected = {(context.repository, nodeid) for context, mine in pairs for nodeid in mine.nodeids}
    assert {(row["repository"], row["nodeid"]) for row in found["tests"]} == expected
    assert len(found["tests"]) == len(expected)
    for row in found["tests"]:
        assert row["test_id"] == test_id(row["repository"], row["nodeid"])
        assert row["file"] == (row["nodeid"].partition("::")[0] if ".py" in row["nodeid"] else "")
        assert row["batch"] == batch.number


def test_clickhouse_reads_what_was_refused_back(stored):
    _, batch, found = stored
    assert found["rejected_rows"] == [
        {
            "source": "junit",
            "origin": f"{job(2).job_id}/report.xml",
            "position": "testcase 2",
            "target": "test_results",
            "reasons": ["name: '' é"],
            "raw": "<t/>",
            "at": "2026-07-01 12:00:00.000",
            "batch": batch.number,
        }
    ]


def test_clickhouse_finds_the_detail_of_every_result_that_did_not_pass(stored):
    _, _, found = stored
    key = ("test_id", "job_id", "occurrence", "outcome", "started_at", "batch")
    results = [[row[name] for name in key] for row in found["test_results"]]
    details = [[row[name] for name in key] for row in found["test_details"]]
    assert sorted(details) == sorted(row for row in results if row[3] != "passed")


def test_a_document_goes_all_the_way():
    text = document(case(), case("<failure message='no'/>", name="y"), case(time="-1"))
    (batch,) = batches((job(), read(text)))
    assert batch.table_rows() == {
        "rejected_rows": 1, "test_details": 1, "tests": 2, "test_results": 2,
    }  # fmt: skip
