"""The page Compare: two builds of a store, their verdicts, and what could not be compared."""

import csv
import io
from dataclasses import replace

import pytest
from factories import sha_of
from sweeps import fill, nightly

from gauntlet.analyzer.comparison.compare import Comparison
from gauntlet.analyzer.comparison.objectives import Unjudged
from gauntlet.analyzer.measured import Place
from gauntlet.analyzer.verdict import Verdict
from gauntlet.hud.compare import frames
from gauntlet.hud.reading import Reader

BEFORE, AFTER = f"commit:{sha_of(9)}", f"commit:{sha_of(10)}"
WORSE = Verdict(
    subject="load/random/tpot_ms/p50",
    outcome="worse",
    blocking=True,
    reason="a loss | beyond the margin",
    margin=5.0,
    unit="%",
    effect=8.04,
    lower=7.0,
    upper=9.0,
    adjusted_p=0.001,
    detectable=2.0,
    n=12,
    method="Welch",
    baseline=10.0,
    candidate=10.8,
    value_unit="ms",
)


@pytest.fixture(scope="module")
def stepped(tmp_path_factory):
    """A store whose last build is slower; its sweep has one point more than the one before."""
    location = str(tmp_path_factory.mktemp("stepped") / "warehouse")
    rows = nightly(nights=10, step_at=9)
    fill(location, *(row for row in rows if not row.repetition_id.startswith("sweep-n8/c16")))
    return location


def test_an_empty_warehouse_says_what_fills_it(show):
    assert "make demo" in show("compare").text


def test_without_sides_the_newest_two_builds_are_offered(show, stepped):
    shown = show("compare", Reader(stepped))
    assert "Choose a baseline and a candidate" in shown.text
    assert f"candidate=commit%3A{sha_of(10)}" in shown.text
    assert shown.asked == {"known_builds": 1, "runs": 1}


def test_a_slower_build_is_worse_in_words_numbers_and_counts(show, stepped):
    shown = show("compare", Reader(stepped), baseline=BEFORE, candidate=AFTER)
    assert ">▼ worse<" in shown.text
    table = next(table for table in shown.tables if "detectable" in table)
    assert table["verdict"][0] == "▼ worse"
    assert set(table["blocks"]) == {"yes"}
    tpot = table[table["objective"].str.contains("concurrency=4 TPOT")].iloc[0]
    assert tpot["effect"].endswith("% slower")
    assert tpot["candidate"].endswith(" ms")
    coverage = next(table for table in shown.tables if "only" in table)
    assert list(coverage["only"]) == ["candidate"]
    assert list(coverage["point"]) == ["concurrency=16"]
    assert f"baseline=commit%3A{sha_of(10)}" in shown.text
    said = "\n".join(each.value for each in shown.test.get("text"))
    assert "frontier/random/128x64/hypervolume" in said


def test_a_comparison_is_made_once_for_all_viewers(show, stepped):
    reader = Reader(stepped)
    first = show("compare", reader, baseline=BEFORE, candidate=AFTER).asked.copy()
    assert first == {"known_builds": 1, "runs": 1, "comparison": 1, "distributions": 1}
    assert show("compare", reader, baseline=BEFORE, candidate=AFTER).asked == first


@pytest.mark.parametrize(
    ("baseline", "said"),
    [
        ("commit:ffffffff", "no load was measured on this commit"),
        ("kommit:ffffffff", "kind of selector"),
        ("/etc/passwd", "names no measurements of the warehouse"),
        ("run:none", "no run 'none'"),
        (f"{AFTER};point=nope", "point in"),
        (AFTER, "both name"),
        ("x" * 5000, "a selector of 5000 characters"),
    ],
    ids=["unknown", "kind", "files", "run", "filter", "itself", "long"],
)
def test_a_selector_that_names_nothing_is_an_error_with_its_hint(show, stepped, baseline, said):
    shown = show("compare", Reader(stepped), baseline=baseline, candidate=AFTER)
    assert said in shown.text


def test_both_sides_of_the_distributions_are_drawn_of_few_points(stepped):
    from gauntlet.hud.compare.data import load_comparison, load_distributions
    from gauntlet.warehouse.store import open_store

    with open_store(stepped) as store:
        page = load_comparison(store, BEFORE, AFTER)
        rows = load_distributions(store, page.sides)
    tpot = rows[(rows["metric"] == "tpot_ms") & (rows["point"] == "concurrency=4")]
    by_side = dict(list(tpot.groupby("side")))
    assert {side: len(some) for side, some in by_side.items()} == {
        "baseline": 200,
        "candidate": 200,
    }
    assert set(tpot["requests"]) == {500}
    assert by_side["candidate"]["value"].max() > by_side["baseline"]["value"].max()
    assert by_side["candidate"]["share"].max() == 1.0


def test_the_gravest_come_first_then_what_chance_explains_least():
    same = replace(WORSE, outcome="same", subject="a")
    sure = replace(WORSE, adjusted_p=1e-9, subject="b")
    missing = replace(WORSE, outcome="missing", effect=None, adjusted_p=None, subject="c")
    ordered = frames.by_significance([same, missing, WORSE, sure])
    assert [v.subject for v in ordered] == ["b", WORSE.subject, "c", "a"]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, "8.0 % slower"),
        ({"effect": -3.14}, "3.1 % faster"),
        ({"effect": 0.01}, "no change (0.0 %)"),
        ({"effect": None}, "–"),  # noqa: RUF001
        ({"subject": "load/r/output_tokens_per_s/total", "effect": -2.0}, "2.0 % lower"),
        ({"subject": "requests/r/failed", "unit": "points", "effect": 1.2}, "1.2 pp more failures"),
    ],
    ids=["slower", "faster", "no change", "nothing", "rate", "failures"],
)
def test_effects_are_told_in_words_that_know_the_direction(changes, words):
    assert frames.effect_words(replace(WORSE, **changes)) == words


def test_refusals_are_listed_once_by_reason():
    refused = [
        replace(WORSE, outcome="config-changed", reason="the sides differ", subject=f"load/{n}")
        for n in "ab"
    ]
    table = frames.refusals_frame([WORSE, *refused], [Unjudged(subject="load/c", reason="tail")])
    assert list(table["state"]) == ["≠ config-changed", "not judged"]
    assert list(table["count"]) == [2, 1]
    assert table["objectives"][0] == "a, b"


def test_coverage_names_what_one_side_alone_has():
    places = [Place("r", "w", f"c={n}", "m", "H200") for n in range(3)]
    table = frames.coverage_frame(
        {"baseline": frozenset(places[:2]), "candidate": frozenset(places[1:])}
    )
    assert list(zip(table["only"], table["point"], strict=True)) == [
        ("baseline", "c=0"),
        ("candidate", "c=2"),
    ]


def test_downloads_hold_every_verdict_and_no_markup_of_others():
    hostile = replace(WORSE, subject="load/<b>|[x](y)/tpot_ms/p50", blocking=True)
    comparison = Comparison.of([WORSE, hostile, replace(WORSE, blocking=False)])
    rows = list(csv.DictReader(io.StringIO(frames.csv_of(comparison.verdicts))))
    assert len(rows) == 3
    assert (rows[0]["effect"], rows[0]["lower"], rows[0]["verdict"]) == ("8.04", "7.0", "worse")
    report = frames.markdown_of(comparison, "commit:a", "commit:b")
    assert "# worse: 2 worse" in report
    lines = report.strip().splitlines()
    assert len(lines) == 8
    assert "\\<b\\>\\|\\[x\\]" in report
    assert "a loss \\| beyond the margin" in report


def test_nothing_that_blocks_is_said():
    assert "nothing that blocks" in frames.headline(Comparison.of([]))
