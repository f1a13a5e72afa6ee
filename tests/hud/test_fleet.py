"""The page Fleet: accelerators, one host over time, and the queues with their machines."""

from datetime import timedelta

import pandas as pd
import pytest
from factories import batch, gpu_row, price_row, queue_row

from gauntlet.core.clock import utc_now
from gauntlet.hud.fleet import charts, frames
from gauntlet.hud.shell.times import Zone
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)>"
NOW = utc_now().replace(second=0, microsecond=0)
MINUTE = timedelta(minutes=1)


def machine_rows():
    rows = []
    for n in range(60):
        at = NOW - n * MINUTE
        rows += [
            gpu_row(gpu="0", at=at, utilization_pct=80.0 + n % 7),
            gpu_row(gpu="1", at=at, utilization_pct=1.0, power_w=90.0 + n % 5),
            gpu_row("h2", at=at, name=HOSTILE, xid=79 if n == 5 else 0),
            gpu_row("h3", at=at, throttle_bits=4, temperature_c=89.0),
        ]
    rows += [gpu_row("h4", at=NOW - 3 * timedelta(hours=1))]
    bare = dict.fromkeys(("utilization_pct", "memory_used_mib", "power_w", "sm_clock_mhz"))
    rows += [gpu_row("h5", at=NOW, throttle_bits=None, xid=None, temperature_c=None, **bare)]
    rows += [price_row(), price_row("free", usd_per_hour=None, vendor="intel")]
    return [*rows, queue_row("gpu", at=NOW, waiting=3), queue_row("unlisted", at=NOW)]


@pytest.fixture
def filled(location):
    with open_store(location) as store:
        store.insert(batch("machines", *machine_rows()))
    return location


def test_an_empty_warehouse_says_so_and_that_mig_is_not_recorded(show):
    shown = show("fleet")
    assert "No accelerator was sampled yet" in shown.text
    assert "MIG layouts are not recorded yet" in shown.text
    assert "No queue is known yet" in shown.text


def test_accelerators_and_queues_at_one_look(show, filled):
    shown = show("fleet")
    assert "Idle 1 of 6" in shown.text
    assert "With Xid errors 1" in shown.text
    assert "Throttled 1" in shown.text
    gpus, queues = shown.tables
    states = dict(zip(gpus["host"] + "/" + gpus["gpu"], gpus["state"], strict=True))
    assert states == {
        "h2/0": "✕ error",
        "h3/0": "▼ throttled",
        "h1/0": "● busy",
        "h1/1": "○ idle",
        "h4/0": "∅ silent",
        "h5/0": "? unknown",
    }
    assert gpus["errors"].iloc[0] == "Xid 79"
    assert gpus["throttle"].iloc[1] == "0x4"
    by_queue = queues.set_index("queue")
    assert list(by_queue.index) == ["free", "gpu", "unlisted"]
    assert (by_queue.loc["gpu", "usd_per_hour"], by_queue.loc["gpu", "jobs_waiting"]) == (6, 3)
    assert pd.isna(by_queue.loc["unlisted", "vendor"])
    assert pd.isna(by_queue.loc["free", "agents_total"])
    assert "onerror" not in shown.text
    assert dict(shown.asked) == {"gpu_hosts": 1, "fleet_queues": 1}
    one = show("fleet", shown.reader, host="h1")
    assert len(one.test.get("vega_lite_chart")) == 4
    assert dict(one.asked) == {"gpu_hosts": 1, "fleet_queues": 1, "gpu_history": 1}
    assert "Utilisation, mean of a step: not recorded" in show("fleet", one.reader, host="h5").text
    assert "No accelerator of this host" in show("fleet", one.reader, host=HOSTILE).text


def test_a_step_without_samples_is_a_gap_of_that_accelerator():
    steps = pd.to_datetime(["2026-01-01T10:00", "2026-01-01T10:10", "2026-01-01T10:00"], utc=True)
    numbers = ("utilization_pct", "power_w", "most_temperature_c", "least_sm_clock_mhz")
    rows = pd.DataFrame(
        {"step": steps, "gpu": ["0", "0", "1"], "throttled_samples": 0, "most_memory_mib": 1024}
        | dict.fromkeys(numbers, 5.0)
    )
    history = frames.history(rows, 5, Zone())
    assert len(history) == 6
    shown = history.pivot_table(index="gpu", values="utilization_pct", aggfunc="count")
    assert shown["utilization_pct"].to_dict() == {"0": 2, "1": 1}
    drawn = charts.over_time(history, "power_w", title="Power", unit="W").to_dict()
    assert drawn["encoding"]["y"]["title"] == "W"
    assert drawn["encoding"]["color"]["scale"]["domain"] == ["0", "1"]
