import json

from factories import NOON

from gauntlet.warehouse.row_lines import line_batch
from gauntlet.warehouse.rows.ci import QueueSampleRow

GOOD = b'{"at": "2026-01-01T19:59:00+08:00", "queue": "gpu", "jobs_waiting": 3}\n'


def read(*lines):
    numbered = list(enumerate(lines, start=1))
    return line_batch(numbered, model=QueueSampleRow, origin="f", source="cron", now=NOON)


def test_lines_become_rows_in_utc_and_what_is_absent_stays_absent():
    batch, said = read(GOOD, b"\n")
    assert said == []
    (section,) = batch.sections
    row = json.loads(section.payload)
    assert (row["at"], row["jobs_waiting"], row["agents_idle"]) == ("2026-01-01T11:59:00Z", 3, None)


def test_a_line_that_does_not_fit_is_kept_with_its_reasons():
    bad = b'{"at": "2026-01-01T00:00:00", "queue": "gpu", "jobs_waiting": -1, "agents": 2}\n'
    future = GOOD.replace(b"2026", b"2036")
    batch, said = read(GOOD, bad, future, b"{\n")
    assert batch.table_rows() == {"queue_samples": 1, "rejected_rows": 3}
    assert said[0].startswith("f:2: ")
    for part in ("at: ", "timezone", "jobs_waiting", "agents: Extra"):
        assert part in said[0]
    assert "f:3: at: 2036" in said[1]
    assert "in the future" in said[1]
    assert said[2].startswith("f:4: line: Invalid JSON")


def test_the_same_lines_are_the_same_batch():
    assert read(GOOD)[0].batch_id == read(GOOD)[0].batch_id
    assert read(GOOD)[0].batch_id != read(GOOD, GOOD)[0].batch_id
