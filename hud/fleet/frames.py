"""Shapes what the warehouse says about machines into what is drawn."""

from dataclasses import replace

import pandas as pd

from gauntlet.hud import palette
from gauntlet.hud.shell.times import Zone

STATES = {
    "error": palette.JOB_STATES["failed"],
    "throttled": replace(palette.JOB_STATES["flaky"], sign="▼"),
    "busy": replace(palette.JOB_STATES["running"], sign="●"),
    "idle": replace(palette.JOB_STATES["passed"], sign="○"),
    "silent": replace(palette.JOB_STATES["blocked"], sign="∅"),
    "unknown": replace(palette.JOB_STATES["not run"], sign="?"),
}
NUMBERS = (
    "utilization_pct",
    "hour_utilization_pct",
    "memory_used_mib",
    "power_w",
    "temperature_c",
    "sm_clock_mhz",
)
_SILENT = pd.Timedelta(minutes=15)


def accelerators(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of ``gpu_hosts`` with ``state`` and memory in GiB; worst first.

    An accelerator is silent where its newest sample is older than the newest of all by 15 minutes.
    """
    newest = rows["sampled_at"].max()
    known = rows.assign(**{name: pd.to_numeric(rows[name]) for name in NUMBERS})
    states = [
        "silent" if newest - row["sampled_at"] > _SILENT else _state(row)
        for row in known.to_dict("records")
    ]
    known = known.assign(
        state=states,
        memory_used_gib=known["memory_used_mib"] / 1024,
        errors=[", ".join(f"Xid {xid}" for xid in xids) for xids in known["xids"]],
        throttle=[
            "" if pd.isna(bits) or bits == 0 else f"0x{int(bits):x}"
            for bits in known["throttle_bits"]
        ],
    )
    rank = known["state"].map({state: n for n, state in enumerate(STATES)})
    ordered = known.assign(rank=rank).sort_values(["rank", "host", "gpu"], kind="stable")
    return ordered.drop(columns="rank")


def _state(row: dict[object, object]) -> str:
    if row["xid_errors"]:
        return "error"
    bits = row["throttle_bits"]
    if not pd.isna(bits) and bits:  # type: ignore[call-overload]
        return "throttled"
    if pd.isna(row["idle"]):  # type: ignore[call-overload]
        return "unknown"
    return "idle" if row["idle"] else "busy"


def history(rows: pd.DataFrame, step_min: int, zone: Zone) -> pd.DataFrame:
    """Rows of ``gpu_history`` with an empty row for each step without samples, GPU by GPU."""
    whole = pd.MultiIndex.from_product(
        [
            pd.date_range(
                rows["step"].min(), rows["step"].max(), freq=pd.Timedelta(minutes=step_min)
            ),
            sorted(rows["gpu"].unique()),
        ],
        names=["step", "gpu"],
    )
    filled = rows.set_index(["step", "gpu"]).reindex(whole).reset_index()
    numbers = {
        name: pd.to_numeric(filled[name])
        for name in (
            "utilization_pct",
            "power_w",
            "most_temperature_c",
            "most_memory_mib",
            "least_sm_clock_mhz",
        )
    }
    filled = filled.assign(**numbers)
    words = [f"{zone.text(step)} {zone.name}" for step in filled["step"]]
    return filled.assign(
        most_memory_gib=filled["most_memory_mib"] / 1024,
        at=zone.wall(filled["step"]),
        when=words,
    )
