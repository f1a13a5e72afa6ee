"""The page Health: what comes in, what does not, and what the bot and this HUD did."""

from collections import Counter
from datetime import timedelta
from pathlib import Path

import pandas as pd
import pytest
from factories import batch, decision_row, queue_row

from gauntlet.core.clock import utc_now
from gauntlet.hud.health import frames
from gauntlet.hud.health.data import is_local, load_waiting
from gauntlet.hud.shell.times import NONE
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.rows.ingest import RejectedRow
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)>"
NOW = utc_now().replace(microsecond=0)


def book_rows():
    refused = RejectedRow(
        source="junit", origin="f.xml", position="testcase 1", target="test_results",
        reasons=("time: -1", HOSTILE), raw=HOSTILE, at=NOW,
    )  # fmt: skip
    reverts = [
        decision_row(
            "", "revert", f"commit/{n}", outcome=outcome, decision_id=f"{n}{outcome}", at=at
        )
        for n, outcome, at in [
            (1, "proposed", NOW - timedelta(hours=2)),
            (1, "merged", NOW),
            (2, "closed", NOW),
            (3, "merged", NOW),
            (4, "shadow", NOW),
        ]
    ]
    escape = decision_row("", "selection", "job/kernels", outcome="escaped", reason=HOSTILE, at=NOW)
    alerts = [
        decision_row("", "alert", f"history/{n}", decision_id=f"a{n}", at=NOW - timedelta(hours=n))
        for n in range(3)
    ]
    return [refused, *reverts, escape, *alerts, queue_row(at=NOW)]


@pytest.fixture
def filled(location):
    with open_store(location) as store:
        store.insert(batch("books", *book_rows()))
    return location


def test_an_empty_warehouse_says_what_records_what(show):
    shown = show("health")
    assert "Nothing was shipped" in shown.text
    assert "No revert is recorded" in shown.text
    assert "no proof that there was none" in shown.text
    assert "No alert was recorded" in shown.text


def test_all_books_at_one_look(show, filled, location):
    spool = Spool(spool_folder(location))
    spool.add(batch("waits", queue_row("later", at=NOW)))
    shown = show("health")
    assert "Sources late 0 of 1" in shown.text
    assert "Parcels waiting 1" in shown.text
    assert "Of the reverts that people decided upon: 2 of 3 right (67%, 95 % interval" in shown.text
    sources, refused, bot, escapes, alerts, asked = shown.tables
    assert list(sources["state"]) == ["? no rhythm"]
    assert list(refused["reasons"]) == [f"time: -1; {HOSTILE}"]
    record = dict(zip(bot["outcome"], bot["reverts"], strict=True))
    assert record == {"merged": 2, "closed": 1, "shadow": 1}
    assert list(escapes["subject"]) == ["job/kernels"]
    assert list(alerts["subject"]) == ["history/0", "history/1", "history/2"]
    assert set(asked["name"]) == set(shown.asked)
    assert "onerror" not in shown.text
    questions = ("source_rhythm", "spool", "refused", "bot_record", "selection_escapes", "alerts")
    assert dict(shown.asked) == dict.fromkeys(questions, 1)
    assert sum(show("health", shown.reader).asked.values()) == 6


def test_what_was_set_aside_is_told_with_its_reason(tmp_path):
    location = str(tmp_path / "warehouse")
    spool = Spool(spool_folder(location))
    assert load_waiting(location).parcels == 0
    spool.add(batch("bad", queue_row()))
    spool.set_aside(spool.pending()[0], "no such column")
    waiting = load_waiting(location)
    assert (waiting.parcels, waiting.rows) == (0, 0)
    assert [reason for _, reason in waiting.set_aside] == ["no such column"]
    assert Path(waiting.folder) == spool.folder


def test_only_a_folder_has_its_spool_here():
    assert is_local("/srv/warehouse")
    assert not is_local("https://ch.example:8443/gauntlet")


def test_a_source_without_a_rhythm_is_neither_late_nor_in_time():
    rows = pd.DataFrame(
        {"late": [True, False, None], "age_s": [7200, 5, 5], "usual_gap_s": [60, 60, None],
         "longest_gap_s": [600, 600, None]}
    )  # fmt: skip
    shown = frames.sources(rows)
    assert list(shown["state"]) == ["late", "in time", "no rhythm"]
    assert list(shown["longest"]) == ["10 min", "10 min", NONE]


def test_reverts_that_nobody_decided_upon_say_nothing_of_precision():
    record = pd.DataFrame({"outcome": ["shadow"], "reverts": [3]})
    assert "nothing says how good it is" in frames.precision(record)


def test_questions_are_listed_by_how_often_they_were_asked():
    asked = frames.asked(Counter({"rare": 1, "often": 9}))
    assert list(asked["name"]) == ["often", "rare"]
    assert frames.asked(Counter()).empty
