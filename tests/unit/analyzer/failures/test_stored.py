"""Failed attempts of the warehouse: judged once, persons' words kept, breadth counted."""

import gzip
from datetime import timedelta

import pytest
from factories import NOON, attempt_row, batch, build_row, failure_row
from stores import embedded_store, served_folder

from gauntlet.analyzer.failures.rules import load_rules
from gauntlet.analyzer.failures.stored import StoredRequest, classifier_name, classify_stored
from gauntlet.core.clock import utc_now
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.ci import JobLogRow
from gauntlet.warehouse.store import open_store

RULES = load_rules()
SHIFT = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=12) - NOON


def young(row):
    times = ("created_at", "runnable_at", "started_at", "finished_at")
    return row.model_copy(
        update={name: getattr(row, name) + SHIFT for name in times if getattr(row, name, None)}
    )


def failed(key, number=1, **changes):
    fields = {"state": "failed", "exit_status": 1, **changes}
    return young(attempt_row(key, number, **fields))


def log_row(job, **changes):
    fields = {"job_id": job.job_id, "bytes": 10, "lines": 40, "sha256": "s", "version": 1}
    return JobLogRow(**{**fields, **changes})


@pytest.fixture
def warehouse(tmp_path):
    with served_folder(tmp_path / "warehouse") as location:
        yield location


def test_attempts_are_judged_once_and_persons_are_believed(warehouse, tmp_path):
    whole = tmp_path / "job.log.gz"
    whole.write_bytes(gzip.compress(b"a\nFAILED t/a.py::test_b - KeyError\n"))
    jobs = {
        "whole": failed("whole"),
        "tail": failed("tail"),
        "lost": failed("lost", signal_reason="agent_lost", exit_status=-1),
        "person": failed("person"),
        "older": failed("older"),
        "passed": young(attempt_row("passed", 1)),
    }
    deliver(
        warehouse,
        [
            batch(
                "b",
                *jobs.values(),
                log_row(jobs["whole"], location=str(whole)),
                log_row(jobs["tail"], location="/gone/x.log.gz", tail="z\nbye",
                        error_lines=("E: Unable to locate package libfoo",),
                        error_line_numbers=(17,)),
                failure_row(jobs["person"], "flaky", classifier="ann"),
                failure_row(jobs["older"], "policy", classifier="gauntlet-rules/0", version=4),
            )
        ],
    )  # fmt: skip
    request = StoredRequest(location=warehouse, days=7)
    planned = classify_stored(StoredRequest(location=warehouse, days=7, dry_run=True), RULES)
    found = {each.job_id: each.told for each in classify_stored(request, RULES)}
    assert len(planned) == len(found) == 4
    assert found[jobs["whole"].job_id].line == 2
    assert (found[jobs["tail"].job_id].failure_class, found[jobs["tail"].job_id].line) == (
        "dependency", 17,
    )  # fmt: skip
    assert found[jobs["lost"].job_id].failure_class == "infra_agent"
    assert classify_stored(request, RULES) == []
    with open_store(warehouse) as store:
        rows = store.sql(
            "SELECT toString(job_id) AS id, argMax(failure_class, version) AS class,"
            " argMax(classifier, version) AS by FROM job_failures GROUP BY id"
        )
    kept = {row["id"]: (row["class"], row["by"]) for row in rows}
    assert kept[str(jobs["person"].job_id)] == ("flaky", "ann")
    assert kept[str(jobs["older"].job_id)] == ("unknown", classifier_name(RULES))


def test_one_signature_on_many_changes_is_said_to_be_none_of_them(tmp_path):
    with served_folder(tmp_path / "w") as location:
        jobs = [failed(f"job{n}", 1, branch=f"pull-{n}") for n in range(3)]
        logs = [log_row(job, tail="Error: valve shut") for job in jobs]
        deliver(location, [batch("b", *jobs, *logs)])
        found = classify_stored(StoredRequest(location=location, days=7), RULES)
    assert {each.told.source for each in found} == {"breadth"}


def test_wrong_exit_codes_and_classes_are_listed(tmp_path):
    with embedded_store(tmp_path / "warehouse") as store:
        jobs = [failed("a"), failed("b")]
        rows = [failure_row(jobs[0], wrong_exit_code=True), failure_row(jobs[1], "infra_network")]
        store.insert(batch("b", young(build_row(1)), *jobs, *rows))
        wrong = store.query("wrong_exit_codes")
        classes = store.query("failure_classes")
    assert [row["job_key"] for row in wrong] == ["a"]
    assert {
        row["failure_class"]: (row["attempts"], row["wrong_exit_codes"]) for row in classes
    } == {
        "test_regression": (1, 1),
        "infra_network": (1, 0),
    }
