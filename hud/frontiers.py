"""Frontiers of two builds, for the pages that show them."""

import pandas as pd
import streamlit as st

from gauntlet.analyzer.frontier.report import BandReport, FrontierReport
from gauntlet.hud import charts, palette, shell

_MOST_DRAWN = 8


def draw_report(report: FrontierReport) -> None:
    """Draw every sweep that has two points or more; say how many have not."""
    drawable = [band for band in report.bands if len({point.point for point in band.points}) > 1]
    for band in drawable[:_MOST_DRAWN]:
        st.text(f"{band.workload}, {band.band or 'lengths not known'} (input x output tokens)")
        drawn = charts.frontier(points_frame(band), unit_of(band))
        shell.chart(drawn, name=f"frontiers of {band.workload}, both sides")
        for verdict in band.verdicts:
            sign = palette.signed(palette.VERDICTS, verdict.outcome)
            st.text(f"{sign}  {verdict.subject}: {verdict.reason}")
    if len(drawable) > _MOST_DRAWN:
        st.caption(f"{len(drawable) - _MOST_DRAWN} more sweeps are not drawn.")
    single = len(report.bands) - len(drawable)
    if single and not drawable:
        shell.nothing(
            f"Each of the {single} workloads has one point only: no frontier.",
            "A workload that is measured at two points or more has one.",
        )
    elif single:
        st.caption(f"{single} workloads with one point only are not drawn.")


def points_frame(band: BandReport) -> pd.DataFrame:
    """One row per point and side, with what there is to say about it."""
    rows = [
        {
            "side": point.side,
            "point": point.point or "the only one",
            "interactivity": point.interactivity,
            "throughput_per_gpu": point.throughput_per_gpu,
            "n": point.n,
            "on_frontier": point.on_frontier,
            "remark": _remark(on_frontier=point.on_frontier, beaten=point.dominated_by_other_side),
        }
        for point in band.points
    ]
    return pd.DataFrame(rows)


def unit_of(band: BandReport) -> str:
    """Unit of the throughput: by GPU where the number of GPUs is known."""
    return "tokens/s/GPU" if band.per_gpu else "tokens/s of the whole system"


def _remark(*, on_frontier: bool, beaten: bool) -> str:
    own = "on its side's frontier" if on_frontier else "beaten by its own side"
    return f"{own}, beaten by the other side" if beaten else own
