import multiprocessing
import os

import pytest
from factories import batch, run_row

from gauntlet.core.errors import InfrastructureError
from gauntlet.warehouse.spool import Spool


def test_what_is_added_waits_oldest_first(tmp_path):
    spool = Spool(tmp_path)
    spool.add(batch("two", run_row(), created_at=run_row().started_at.replace(hour=13)))
    spool.add(batch("one", run_row()))
    assert [each.batch_id for parcel in spool.pending() for each in parcel.read()] == ["one", "two"]
    assert spool.rows() == 2


def test_parcels_that_begin_alike_do_not_replace_each_other(tmp_path):
    spool = Spool(tmp_path)
    spool.add(batch("names", run_row()), batch("one", run_row()))
    spool.add(batch("names", run_row()), batch("two", run_row()))
    kept = [each.batch_id for parcel in spool.pending() for each in parcel.read()]
    assert sorted(kept) == ["names", "names", "one", "two"]


def test_an_empty_spool_needs_no_folder(tmp_path):
    spool = Spool(tmp_path / "none")
    assert (spool.pending(), spool.set_asides(), spool.rows()) == ([], [], 0)


def test_names_do_not_leave_the_folder(tmp_path):
    path = Spool(tmp_path).add(batch("../../etc/passwd", run_row()))
    assert path.parent == tmp_path / "pending"


def test_a_try_is_noted_and_survives_reading_again(tmp_path):
    spool = Spool(tmp_path)
    spool.add(batch("one", run_row()))
    (parcel,) = spool.pending()
    assert not parcel.tried
    assert spool.mark_tried(parcel).tried
    assert [each.tried for each in spool.pending()] == [True]


def test_quarantine_keeps_the_reason_and_can_be_released(tmp_path):
    spool = Spool(tmp_path)
    spool.add(batch("one", run_row()))
    spool.set_aside(spool.pending()[0], "no such column")
    assert spool.pending() == []
    assert [reason for _, reason in spool.set_asides()] == ["no such column"]
    assert spool.release() == 1
    assert spool.set_asides() == []
    # It may have reached the store the first time.
    assert [each.tried for each in spool.pending()] == [True]


def test_a_full_disk_is_told(tmp_path):
    spool = Spool(tmp_path / "file" / "spool")
    (tmp_path / "file").write_text("")
    with pytest.raises(InfrastructureError, match="cannot write"):
        spool.add(batch("one", run_row()))


def _hold(folder, taken, release):
    with Spool(folder).shipping():
        taken.set()
        release.wait(30)


def test_one_shipper_at_a_time_and_a_dead_one_lets_go(tmp_path):
    context = multiprocessing.get_context("fork" if os.name == "posix" else "spawn")
    taken, release = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(tmp_path, taken, release))
    other.start()
    try:
        assert taken.wait(30)
        with (
            pytest.raises(InfrastructureError, match="shipped by another process"),
            Spool(tmp_path).shipping(wait_s=0.2),
        ):
            pass
    finally:
        other.kill()
        other.join()
    with Spool(tmp_path).shipping(wait_s=1):
        assert (tmp_path / "shipping.lock").exists()
