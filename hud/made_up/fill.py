"""Make the demo's warehouse: its history up to this hour, and candidates with real gates."""

import shutil
from datetime import datetime
from pathlib import Path

from gauntlet.core.errors import InfrastructureError
from gauntlet.hud.made_up.candidates import store_candidates
from gauntlet.warehouse.folder_lock import lock_folder
from gauntlet.warehouse.store import open_store
from gauntlet.warehouse.synth.history import SynthRequest, make_history

_DAYS = 8
_NIGHTS = 45
_MORNING_H = 2
_MADE = "made"
_SEEDS = 100
_BROKEN = (2, 4)
_UNDER_WAY = 6  # commits whose jobs have not ended yet


def demo_folder(root: Path, now: datetime) -> Path:
    """The demo's warehouse of this hour: an older one would show queues that stand still."""
    return root / f"{now:%Y%m%dT%H}" / "warehouse"


def make_demo(folder: Path, now: datetime, *, scale: str = "demo", nights: int = _NIGHTS) -> bool:
    """Fill the warehouse in ``folder``; return False where that was done before.

    Warehouses of other hours beside it are removed, unless a process uses them.
    """
    done = folder.with_name(_MADE)
    if done.exists():
        return False
    _remove_others(folder.parent)
    request = demo_request(now, scale, nights)
    location = str(folder)
    with open_store(location) as store, open_store(location) as second:
        make_history(store, request, lambda _day, _rows: None, second)
        newest = store.query("main_commits", limit=200)
        spaced = [newest[len(newest) * part // 4]["sha"] for part in range(3)]
        store_candidates(store, spaced, now)
    done.touch()
    return True


def demo_request(now: datetime, scale: str, nights: int) -> SynthRequest:
    """What to make: with the first seed whose main has something broken now, but not everything."""
    made = [_request(now, scale, nights, seed) for seed in range(1, _SEEDS)]
    return next((each for each in made if _is_telling(each, now)), made[0])


def _request(now: datetime, scale: str, nights: int, seed: int) -> SynthRequest:
    return SynthRequest(
        days=_DAYS,
        nights=nights,
        # In the morning, today alone has too few results for a page about tests.
        test_days=1 if now.hour >= _MORNING_H else 2,
        until=now.date(),
        now=now,
        scale=scale,
        seed=seed,
    )


def _is_telling(request: SynthRequest, now: datetime) -> bool:
    shape = request.shape()
    newest = shape.position_at(now)
    ended = newest - _UNDER_WAY
    broken = [each for each in shape.incidents if each.first <= ended and each.last >= newest]
    return _BROKEN[0] <= len(broken) <= _BROKEN[1]


def _remove_others(own: Path) -> None:
    if not own.parent.is_dir():
        return
    for other in own.parent.iterdir():
        if other == own or not (other / "warehouse").is_dir():
            continue
        try:
            lock = lock_folder(other / "warehouse", 0.0)
        except InfrastructureError:
            continue  # a demo of another hour is open
        shutil.rmtree(other, ignore_errors=True)
        lock.close()
