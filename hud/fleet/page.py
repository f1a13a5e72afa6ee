"""Draws the page Fleet: what do the machines do?"""

from dataclasses import dataclass

import pandas as pd
import streamlit as st

from gauntlet.hud import shell
from gauntlet.hud.fleet import charts, frames
from gauntlet.hud.shell.times import NONE
from gauntlet.hud.shell.view import View

_LATE_S = 900.0


@dataclass(frozen=True, slots=True)
class _Range:
    hours: int
    step_min: int


_RANGES = {
    "6h": _Range(6, 2),
    "1d": _Range(24, 5),
    "7d": _Range(168, 60),
    "30d": _Range(720, 180),
}


def draw(view: View) -> None:
    """Draw accelerators, the host of the address, and the queues with their machines."""
    with shell.section("Accelerators"):
        _accelerators(view)
    host = st.query_params.get("host")
    if host:
        with shell.section("One host"):
            _host(view, host)
    with shell.section("Queues and their machines"):
        _queues(view)


def _accelerators(view: View) -> None:
    rows = view.frame("gpu_hosts")
    if rows.empty:
        shell.nothing(
            "No accelerator was sampled yet.",
            "Rows of `gpu_samples` come in by `gauntlet ingest rows`. MIG layouts are not recorded"
            " yet.",
        )
        return
    gpus = frames.accelerators(rows)
    _tiles(gpus)
    newest = gpus["sampled_at"].max()
    shell.newest_note("accelerator sample", newest, view, late_s=_LATE_S)
    shell.table(
        gpus.assign(link=[view.link("fleet", host=host) for host in gpus["host"]]),
        {
            "state": st.column_config.TextColumn(
                "state", help="idle: used less than 5 % over the hour before the newest sample"
            ),
            "host": "host",
            "gpu": "GPU",
            "link": shell.link_column("", "history"),
            "errors": "errors, last day",
            "name": "kind",
            "utilization_pct": shell.number("used (%)", form="%.0f"),
            "hour_utilization_pct": shell.number("last hour (%)", form="%.0f"),
            "memory_used_gib": shell.number("memory (GiB)", form="%.1f"),
            "power_w": shell.number("power (W)", form="%.0f"),
            "temperature_c": shell.number("temperature (°C)", form="%.0f"),
            "sm_clock_mhz": shell.number("clock (MHz)", form="%.0f"),
            "throttle": st.column_config.TextColumn("throttle bits", help="as the driver says"),
            "throttled_samples": shell.number("throttled, last day"),
            "sampled_at": shell.time_column("newest sample", view.zone),
        },
        looks={"state": frames.STATES},
        name="Accelerators with their newest sample",
    )


def _tiles(gpus: pd.DataFrame) -> None:
    first = gpus.iloc[0]
    failing = int((gpus["xid_errors"] > 0).sum())
    throttled = int((gpus["throttled_samples"] > 0).sum())
    power = gpus["power_w"].dropna()
    shell.tiles(
        [
            (
                "Idle",
                f"{int(first['idle_gpus'])} of {int(first['gpus'])}",
                "used less than 5 % over the last hour",
            ),
            ("With Xid errors", str(failing), "in the last day"),
            ("Throttled", str(throttled), "at any sample of the last day"),
            ("Power", f"{power.sum() / 1000:,.1f} kW" if len(power) else NONE, "newest samples"),
        ]
    )


def _host(view: View, host: str) -> None:
    st.text(host[:80])
    name = shell.choose("Range", list(_RANGES), key="range", default="1d")
    span = _RANGES[name]
    rows = view.frame("gpu_history", host=host, hours=span.hours, step_min=span.step_min)
    if rows.empty:
        shell.nothing("No accelerator of this host was sampled.", "Choose a host of the table.")
        return
    history = frames.history(rows, span.step_min, view.zone)
    left, right = st.columns(2, gap="medium")
    drawn = [
        (left, "utilization_pct", "Utilisation, mean of a step", "%", 100.0),
        (right, "power_w", "Power, mean of a step", "W", None),
        (left, "most_memory_gib", "Memory used, most in a step", "GiB", None),
        (right, "most_temperature_c", "Temperature, highest in a step", "°C", None),
    ]
    for column, measure, title, unit, most in drawn:
        with column:
            if history[measure].notna().any():
                shell.chart(
                    charts.over_time(history, measure, title=title, unit=unit, most=most),
                    name=f"{title} of every GPU of the host",
                )
            else:
                st.caption(f"{title}: not recorded.")


def _queues(view: View) -> None:
    rows = view.frame("fleet_queues")
    if rows.empty:
        shell.nothing(
            "No queue is known yet.",
            "`gauntlet ingest buildkite --queues` samples them; prices are rows of `queue_prices`.",
        )
        return
    unpriced = int(pd.to_numeric(rows["usd_per_hour"]).isna().sum())
    said = (
        f"{len(rows)} queues, {unpriced} without a price." if unpriced else f"{len(rows)} queues."
    )
    st.caption(f"{said} MIG layouts are not recorded yet.")
    shell.table(
        rows.assign(link=[view.link("queues", queue=queue) for queue in rows["queue"]]),
        {
            "queue": "queue",
            "vendor": "vendor",
            "accelerator": "accelerator",
            "usd_per_hour": shell.number("USD an agent-hour", form="%.2f"),
            "agents_busy": shell.number("agents busy"),
            "agents_idle": shell.number("idle"),
            "agents_total": shell.number("all"),
            "jobs_waiting": shell.number("jobs waiting"),
            "sampled_at": shell.time_column("newest sample", view.zone),
            "link": shell.link_column("", "load"),
        },
        name="Queues with their machines and prices",
        rows_shown=15,
    )
