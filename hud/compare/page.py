"""Draws the page Compare: is one build worse than another?"""

import html
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import streamlit as st

from gauntlet.analyzer.verdict import Verdict
from gauntlet.hud import charts, palette, shell
from gauntlet.hud.compare import frames
from gauntlet.hud.compare.data import (
    SIDES,
    ComparePage,
    SideFacts,
    load_comparison,
    load_distributions,
)
from gauntlet.hud.compare.pickers import options_of, pick_side
from gauntlet.hud.frontiers import draw_report
from gauntlet.hud.shell.view import View

# What was compared is in the key: only a new repetition makes another answer.
_TTL_S = 3600.0
_BUILDS, _RUNS = 200, 50
_MOST_EFFECTS = 40
_MOST_DISTRIBUTIONS = 6
_LATENCIES = ("tpot_ms", "ttft_ms", "e2e_ms")


def draw(view: View) -> None:
    """Draw both pickers, and the comparison of what they name."""
    builds = view.rows("known_builds", limit=_BUILDS)
    options = options_of(builds, view.rows("runs", limit=_RUNS), view.zone)
    left, right = st.columns(2)
    with left:
        baseline = pick_side("baseline", options)
    with right:
        candidate = pick_side("candidate", options)
    if not baseline or not candidate:
        _invite(view, list(options))
        return
    _links(view, baseline, candidate)
    key = (baseline, candidate, str(max((row["last_measured"] for row in builds), default="")))
    with st.spinner("Comparing …"):
        page = view.value(
            "comparison", lambda store: load_comparison(store, baseline, candidate), *key,
            ttl_s=_TTL_S,
        )  # fmt: skip
    _headline(page)
    with shell.section("Verdicts"):
        _verdicts(page, baseline, candidate)
    with shell.section("What could not be compared"):
        _refused(page)
    with shell.section("Distributions of the requests"):
        _distributions(view, page, key)
    with shell.section("Frontiers", "throughput against what one user sees"):
        draw_report(page.frontiers)


def _invite(view: View, names: Sequence[str]) -> None:
    if not names:
        shell.nothing(
            f"No load was measured in {view.reader.location} yet.", "`make demo` makes two builds."
        )
        return
    shell.nothing(
        "Choose a baseline and a candidate.",
        "Any selector of `gauntlet analyze compare` may be typed, with filters such as "
        "`;recipe=NAME;point=concurrency=16`.",
    )
    builds = [name for name in names if not name.startswith("run:")]
    if len(builds) > 1:
        address = view.link("compare", baseline=builds[1], candidate=builds[0])
        st.html(f'<a href="{html.escape(address)}">Compare the two newest builds</a>')


def _links(view: View, baseline: str, candidate: str) -> None:
    found = [(view.link("compare", baseline=candidate, candidate=baseline), "Swap the sides")]
    if baseline == candidate and baseline.startswith("run:"):
        run_id = baseline.removeprefix("run:")
        found.append((view.link("run", run=run_id), "This run, judged by its recipe"))
    st.html(" · ".join(f'<a href="{html.escape(to)}">{text}</a>' for to, text in found))


def _headline(page: ComparePage) -> None:
    comparison = page.comparison
    st.header(frames.headline(comparison), anchor=False)
    shell.badge(palette.VERDICTS, comparison.outcome)
    shell.answered()
    st.caption("Counts are of what blocks; all else informs.")
    for side, column in zip(SIDES, st.columns(2), strict=True):
        column.text(_facts(side, page.sides[side]))


def _facts(side: str, facts: SideFacts) -> str:
    refused = f", {facts.refused} refused" if facts.refused else ""
    return (
        f"{side}: {facts.repetitions} repetitions{refused}, {facts.first[:10]} to "
        f"{facts.last[:10]}, on {_few(facts.hosts)}; build {_few(facts.builds)}"
    )


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(name.removeprefix("sha256:")[:20] for name in names[:3])
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"{shown or 'not known'}{more}"


def _verdicts(page: ComparePage, baseline: str, candidate: str) -> None:
    ordered = frames.by_significance(page.comparison.verdicts)
    with st.container(horizontal=True, vertical_alignment="bottom"):
        show = shell.choose("Show", ["blocking", "all"], key="show", default="blocking")
        shell.download("Verdicts (CSV)", frames.csv_of(ordered), file_name="verdicts.csv")
        report = frames.markdown_of(page.comparison, baseline, candidate)
        shell.download("Report (Markdown)", report, file_name="compare.md", mime="text/markdown")
    shown = [v for v in ordered if v.blocking or show == "all"]
    if not shown:
        shell.nothing("Nothing was judged.", "No statistic that blocks is on both sides.")
        return
    table = frames.verdict_table(shown)
    shell.table(
        table,
        frames.COLUMNS,
        name="verdicts, the gravest first",
        rows_shown=16,
        looks={"verdict": palette.VERDICTS},
    )
    _forest(shown)


def _forest(shown: Sequence[Verdict]) -> None:
    effects = frames.effects_frame(shown)
    if effects.empty:
        return
    drawn = effects.head(_MOST_EFFECTS)
    shell.chart(charts.effects(drawn), name="loss of every objective in units of its margin")
    if len(effects) > len(drawn):
        st.caption(f"The first {len(drawn)} of {len(effects)}; the table has all.")


def _refused(page: ComparePage) -> None:
    refusals = frames.refusals_frame(page.comparison.verdicts, page.comparison.unjudged)
    coverage = frames.coverage_frame(page.places)
    if refusals.empty and coverage.empty:
        st.caption("Everything that one side has measured was compared.")
    if len(refusals):
        columns = {"state": "state", "count": "objectives", "reason": "reason"}
        shell.table(refusals, {**columns, "objectives": "which"}, name="what was not compared")
    if len(coverage):
        columns = {"only": "only on the", "recipe": "recipe", "workload": "workload"}
        columns |= {"point": "point", "model": "model", "accelerator": "accelerator"}
        shell.table(coverage, columns, name="points that one side alone has")


def _distributions(view: View, page: ComparePage, key: tuple[str, ...]) -> None:
    rows = view.value(
        "distributions",
        lambda store: load_distributions(store, page.sides),
        *key,
        ttl_s=_TTL_S,
    )
    if rows.empty:
        shell.nothing(
            "No single requests of these repetitions are stored.",
            "Loads that Gauntlet itself measures store them.",
        )
        return
    metric = shell.choose("Latency", list(_LATENCIES), key="latency", default="tpot_ms")
    alone = set(SIDES) - set(rows["side"])
    if alone:
        st.caption(f"No single requests of the {alone.pop()} are stored: the other side is alone.")
    places = rows[["recipe", "workload", "point"]].drop_duplicates().to_dict("records")
    for start in range(0, min(len(places), _MOST_DISTRIBUTIONS), 2):
        for column, place in zip(st.columns(2), places[start : start + 2], strict=False):
            with column:
                _distribution(rows, place, metric)
    if len(places) > _MOST_DISTRIBUTIONS:
        st.caption(f"{len(places) - _MOST_DISTRIBUTIONS} more: add `;point=` to the selectors.")


def _distribution(rows: pd.DataFrame, place: Mapping[Any, Any], metric: str) -> None:
    name = " ".join(str(part) for part in place.values() if part)
    st.text(name)
    of_place = rows[(rows["recipe"] == place["recipe"]) & (rows["point"] == place["point"])]
    drawn = charts.distribution(of_place, place["workload"], metric)
    shell.chart(drawn, name=f"distribution of {metric} at {name}, both sides")
