"""Shapes as findings: words, direction, commits, identity, one error budget."""

import pytest
from histories import THROUGHPUT, alarm, change, commit_of, described, line, night_of, shape, values
from hypothesis import given
from hypothesis import strategies as st

from gauntlet.analyzer.history.adjust import benjamini_hochberg
from gauntlet.analyzer.history.commits import CommitRange, Place, joined, range_of
from gauntlet.analyzer.history.identity import recognise, subject_of
from gauntlet.analyzer.history.layout import history_lines
from gauntlet.analyzer.history.report import Described, Rule, judge_history
from gauntlet.analyzer.history.series import series_of_place

ORDER = {commit_of(n): Place("engine", 100 + 3 * n) for n in range(30)}


def judged(*some, margin=1.0, order=ORDER, known=()):
    return judge_history(some, Rule(margin_percent=margin), order=order, known=known)


def only(report):
    (finding,) = report.findings
    return finding


def test_a_rise_of_what_should_be_low_is_a_regression_with_its_commits():
    finding = only(judged(described(shape(change(20, 5.0, first=19, last=21), level_from=20))))
    assert (finding.kind, finding.blocking, finding.open, finding.loss) == (
        "regression", True, True, 5.0,
    )  # fmt: skip
    assert str(finding.commits) == "0000012..0000015, 9 commits"
    assert (
        "TPOT p50 rose by 5.0 % (4.5 to 5.5), from 10 to 10.5 ms, on 2026-01-21" in finding.reason
    )


def test_the_same_rise_of_throughput_is_an_improvement():
    one = described(shape(change(20, 5.0)), statistic=THROUGHPUT, direction="higher")
    finding = only(judged(one))
    assert (finding.kind, finding.blocking, finding.loss) == ("improvement", False, -5.0)


def test_commits_that_the_order_does_not_know_are_counted_in_nights():
    finding = only(judged(described(shape(change(20, 5.0, first=19, last=21))), order={}))
    assert str(finding.commits) == "0000012..0000015, 3 nights"


@pytest.mark.parametrize(
    ("found", "said"),
    [
        pytest.param(change(20, 0.6), "below the margin of 1 %", id="margin"),
        pytest.param(change(20, 5.0, p_value=0.2), "by chance", id="chance"),
        pytest.param(change(20, 1.5, lower_percent=-0.1), "size is not certain", id="interval"),
    ],
)
def test_what_is_small_or_chance_only_informs(found, said):
    report = judged(described(shape(found)))
    finding = only(report)
    assert (finding.kind, finding.blocking, finding.minor) == ("regression", False, True)
    assert said in finding.reason
    assert report.states[0].verdict == "same"


def test_many_quiet_series_raise_the_bar():
    loud = described(shape(change(20, 5.0, p_value=0.004)))
    assert only(judged(loud)).blocking
    assert not only(
        judged(loud, *[described(shape(), series_id=f"q{n}") for n in range(40)])
    ).blocking


def test_a_loss_that_was_undone_is_closed_and_its_recovery_named():
    steps = (change(10, 5.0), change(20, -4.8, kind="recovery"))
    first, second = sorted(judged(described(shape(*steps))).findings, key=lambda f: f.night)
    assert (first.kind, first.open) == ("regression", False)
    assert "undone on 2026-01-21" in first.reason
    assert (second.kind, second.open) == ("recovery", True)


def test_a_gain_that_is_lost_again_is_a_regression():
    steps = (change(10, -5.0), change(20, 5.2, kind="recovery"))
    second = max(judged(described(shape(*steps))).findings, key=lambda f: f.night)
    assert (second.kind, second.blocking) == ("regression", True)
    assert "undoes an earlier gain" in second.reason


def test_a_drift_blames_nobody():
    drift = change(5, 5.0, kind="drift", last=25, end=25)
    finding = only(judged(described(shape(drift))))
    assert (finding.kind, finding.blocking, finding.commits) == ("drift", False, None)
    assert "no culprit: TPOT p50 drifted +5.0 % (worse) over 20 nights" in finding.reason


@pytest.mark.parametrize("kind", ["outlier", "variance"])
def test_what_leaves_the_level_alone_never_blocks(kind):
    finding = only(judged(described(shape(change(20, 50.0, kind=kind, end=21)))))
    assert (finding.kind, finding.blocking) == (kind, False)


def test_an_alarm_is_provisional_and_the_state_open():
    report = judged(described(shape(alarm=alarm(29, 6.0))))
    finding = only(report)
    assert (finding.kind, finding.blocking, finding.loss) == ("provisional", False, 6.0)
    assert (finding.commits.after, finding.commits.until) == (commit_of(28), commit_of(29))
    assert "6.0 % worse in TPOT p50 (6.0 deviations)" in finding.reason
    assert report.states[0].verdict == "inconclusive"


def test_a_change_of_configuration_is_named_and_nothing_is_compared():
    lines = [
        line(range(15), fp="a", configuration={"env.OMP_NUM_THREADS": "8"}),
        line(range(15, 30), fp="b", configuration={"env.OMP_NUM_THREADS": "16"}),
    ]
    one = series_of_place(
        lines, [values([10.0] * 15), values([14.0] * 30)], [night_of(n) for n in range(30)]
    )
    report = judged(Described(series=one, shapes=(shape(n=15), shape(n=15, level=14.0))))
    finding = only(report)
    assert finding.kind == "config-changed"
    assert finding.reason == (
        "config changed on 2026-01-16: env.OMP_NUM_THREADS 8 -> 16; not compared with the nights"
        " before"
    )
    assert report.states[0].verdict == "same"


def test_holes_are_findings_once_a_place():
    numbers = [10.0] * 30
    numbers[7] = None
    one = described(shape(), numbers=numbers)
    other = described(shape(), numbers=numbers, statistic=THROUGHPUT, direction="higher")
    finding = only(judged(one, other))
    assert (finding.kind, finding.open) == ("invalid", False)
    assert finding.reason.startswith("1 of 30 nights have no number: 1 measured, but without")


def test_what_holds_is_read_first_and_the_quiet_rest_is_counted():
    report = judged(
        described(shape(change(20, 5.0))),
        *[described(shape(), series_id=f"q{n}") for n in range(3)],
    )
    lines = history_lines(report)
    assert lines[0].startswith("REGRESSION      nightly  since 2026-01-21, 0000013..0000014, 3")
    assert lines[-1] == "4 series: 1 worse, 3 same"
    assert max(map(len, lines)) <= 100


# Commits


def test_a_range_goes_back_over_nights_without_a_number():
    numbers = [10.0] * 30
    numbers[19] = None
    nights = described(shape(), numbers=numbers).series.segments[0].nights
    found = range_of(nights, 20, 20, ORDER)
    assert (found.after, found.until, found.commits) == (commit_of(18), commit_of(20), 6)
    assert range_of(nights, 0, 0, ORDER) is None


def range_between(first, last, after="a", until="b"):
    return CommitRange(
        after=after, until=until, nights=last - first, after_night=night_of(first),
        until_night=night_of(last),
    )  # fmt: skip


def test_a_build_on_both_sides_is_said():
    assert "the build did not change" in str(range_between(1, 2, "abcdef123", "abcdef123"))


def test_ranges_of_one_cause_are_cut_where_they_agree_and_joined_where_not():
    cut = joined([range_between(1, 5, "a", "e"), range_between(3, 9, "c", "i")])
    assert (cut.after, cut.until) == ("c", "e")
    hull = joined([range_between(1, 2, "a", "b"), range_between(3, 4, "c", "d")])
    assert (hull.after, hull.until) == ("a", "d")


# Identity


@pytest.mark.parametrize("moved", [-2, -1, 0, 1, 2])
def test_a_step_that_moves_by_two_nights_keeps_its_name(moved):
    one = described(shape()).series
    nights = one.segments[0].nights
    name = subject_of(one, nights, 15, rose=True)
    assert recognise(one, nights, 15 + moved, rose=True, known=[name]) == name


@pytest.mark.parametrize(
    ("index", "rose"), [pytest.param(18, True, id="place"), pytest.param(15, False, id="way")]
)
def test_another_step_has_another_name(index, rose):
    one = described(shape()).series
    nights = one.segments[0].nights
    name = subject_of(one, nights, 15, rose=True)
    assert recognise(one, nights, index, rose=rose, known=[name]) != name


def test_an_alarm_and_the_step_that_it_becomes_have_one_name():
    first = only(judged(described(shape(alarm=alarm(29, 5.0)))))
    later = only(judged(described(shape(change(28, 5.0))), known=[first.subject]))
    assert later.subject == first.subject


# Error budget


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.integers(0, 50))
def test_adjusted_values_are_no_smaller_keep_the_order_and_stay_shares(p_values, more):
    adjusted = benjamini_hochberg(p_values, len(p_values) + more)
    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    pairs = sorted(zip(p_values, adjusted, strict=True))
    assert [a for _, a in pairs] == sorted(a for _, a in pairs)


def test_adjusting_by_hand():
    assert benjamini_hochberg([0.01, 0.04], 4) == pytest.approx([0.04, 0.08])
    with pytest.raises(ValueError, match="2 p-values of 1 tests"):
        benjamini_hochberg([0.1, 0.2], 1)
