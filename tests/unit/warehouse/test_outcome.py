import json

import pytest
from factories import batch, metric_row

from gauntlet.core.errors import ExternalServiceError, InvalidMeasurementError
from gauntlet.warehouse.ingest.outcome import Ingest, Target


def ingest(**changes):
    fields = {"location": "http://127.0.0.1:1/ci", "dry_run": False, "as_json": True}
    return Ingest.to(Target(**{**fields, **changes}))


def test_what_came_in_after_the_store_was_lost_waits_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = ingest()
    made.keep(batch("one", metric_row()))
    made.ship()
    made.keep(batch("two", metric_row(), metric_row(statistic="p9")))
    with pytest.raises(ExternalServiceError, match="no ClickHouse server") as caught:
        made.finish()
    told = json.loads(capsys.readouterr().out)
    assert (told["accepted"], told["spooled"], told["duplicates"]) == (3, 3, 0)
    assert "gauntlet ingest replay" in caught.value.hint


def test_a_dry_run_keeps_nothing(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    made = ingest(dry_run=True)
    made.keep(batch("one", metric_row()))
    made.finish()
    assert json.loads(capsys.readouterr().out)["accepted"] == 1
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_is_counted_told_and_the_exit_code(capsys):
    made = ingest(dry_run=True)
    made.refuse("f.xml: no JUnit XML")
    with pytest.raises(InvalidMeasurementError, match="1 refused"):
        made.finish()
    told = json.loads(capsys.readouterr().out)
    assert (told["rejected"], told["reasons"]) == (1, ["f.xml: no JUnit XML"])
