"""The part of the page on a recipe's sweep: two builds' frontiers, and what that means."""

import streamlit as st

from gauntlet.analyzer.history.from_store import Judged
from gauntlet.hud import shell
from gauntlet.hud.frontiers import draw_report
from gauntlet.hud.performance.data import builds_of, load_frontier
from gauntlet.hud.shell.view import View

_TTL_S = 600.0
_MOST_BUILDS = 60


def draw(view: View, recipe: str, judged: Judged, newest: str) -> None:
    """Draw the newest build's frontier over that of an earlier build."""
    builds = dict(builds_of(judged)[:_MOST_BUILDS])
    names = list(builds)
    if len(names) < 2:
        shell.nothing(
            "There is one build of this recipe only, or none that says which it is.",
            "A second build makes a frontier comparable.",
        )
        return
    candidate = names[0]
    baseline = shell.choose_of_many("Against", names[1:], key="against", default=names[1])
    st.text(f"candidate: {candidate}, {builds[candidate]}; baseline: {builds[baseline]}")
    report = view.value(
        "frontier of a recipe",
        lambda store: load_frontier(store, recipe, baseline, candidate),
        recipe,
        baseline,
        candidate,
        newest,
        ttl_s=_TTL_S,
    )
    draw_report(report)
