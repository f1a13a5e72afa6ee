"""The demo's organisation: something is broken at any hour, and old ones are cleared away."""

from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from ports import free_port

from gauntlet.core.errors import UsageError
from gauntlet.hud.cli import hud
from gauntlet.hud.made_up import fill
from gauntlet.warehouse.folder_lock import lock_folder


@pytest.mark.parametrize("hours", range(0, 168, 13))
def test_at_any_hour_something_is_broken_but_not_everything(hours):
    now = datetime(2026, 12, 7, 1, 5, tzinfo=UTC) + timedelta(hours=hours)
    request = fill.demo_request(now, "demo", 45)
    shape = request.shape()
    newest = shape.position_at(now)
    broken = [each for each in shape.incidents if each.first < newest <= each.last]
    assert 1 <= len(broken) <= 8
    assert request.ends == now


def test_demos_of_other_hours_go_unless_somebody_uses_them(tmp_path):
    now = datetime(2026, 12, 7, 12, tzinfo=UTC)
    old, used, own = (
        fill.demo_folder(tmp_path, now - timedelta(hours=hours)) for hours in (2, 1, 0)
    )
    for folder in (old, used, own):
        folder.mkdir(parents=True)
    (tmp_path / "not a demo").mkdir()
    held = lock_folder(used, 0)
    fill._remove_others(own.parent)
    held.close()
    assert not old.parent.exists()
    assert used.exists()
    assert own.exists()
    assert (tmp_path / "not a demo").exists()


def test_a_demo_that_was_made_is_not_made_again(tmp_path, monkeypatch):
    now = datetime(2026, 12, 7, 12, tzinfo=UTC)
    folder = fill.demo_folder(tmp_path, now)
    folder.parent.mkdir(parents=True)
    (folder.parent / "made").touch()
    monkeypatch.setattr(fill, "make_history", lambda *_: pytest.fail("made again"))
    assert fill.make_demo(folder, now) is False


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--demo", "--warehouse", "mine"], "made-up rows never go into a warehouse of yours"),
        (["--user-header", "X-User"], "without --allow"),
        (["--allow", "alice"], "without --user-header"),
    ],
    ids=["demo into a warehouse", "header alone", "list alone"],
)
def test_what_does_not_fit_is_refused_before_anything_starts(
    tmp_path, monkeypatch, arguments, said
):
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(hud, ["--no-browser", "--port", str(free_port()), *arguments])
    assert isinstance(result.exception, UsageError)
    assert said in result.exception.message
    assert not list(tmp_path.rglob(".gauntlet"))
