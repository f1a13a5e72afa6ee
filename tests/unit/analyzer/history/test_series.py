"""Rows of a warehouse as series: nights, holes, segments."""

import math
from datetime import date

import pytest
from histories import FIRST, PLACE, line, night_of, series, values

from gauntlet.analyzer.history.load import join
from gauntlet.analyzer.history.series import NO_VALUE, NOT_MEASURED, Difference, series_of_place

CALENDAR = [night_of(index) for index in range(10)]


def nights_row(fp="fp", driver="580", settings=None, nights=range(3), series_id="s1", **changes):
    points = [
        (n, night_of(n), 1_767_225_600_000 + n * 86_400_000, f"c{n}", "", 0, [], ["h"], [f"r{n}"])
        for n in nights
    ]
    row = {
        "series_id": series_id, "config_fp": fp, "driver": driver, "settings": settings or {},
        "client": "gauntlet-load", "client_version": "1", "dataset_digest": "d",
        "engine_kind": "vllm", "points": points, **PLACE._asdict(),
    }  # fmt: skip
    return {**row, **changes}


def values_row(fp="fp", driver="580", nights=range(3), series_id="s1", **changes):
    row = {
        "series_id": series_id, "config_fp": fp, "driver": driver, "metric": "tpot_ms",
        "statistic": "p50", "unit": "ms", "direction": "lower",
        "points": [(n, 10.0 + n, 3) for n in nights],
    }  # fmt: skip
    return {**row, **changes}


def test_a_night_that_is_absent_is_a_hole_with_its_reason():
    one = series_of_place([line([0, 1, 4])], [values([1.0, 2.0, None, None, 5.0])], CALENDAR)
    (segment,) = one.segments
    assert [night.night for night in segment.nights] == CALENDAR
    assert math.isnan(segment.values[2])
    assert segment.nights[2].reasons == (NOT_MEASURED,)
    assert segment.values[4] == 5.0


def test_a_night_whose_repetitions_were_all_refused_says_why():
    refused = line([0, 1], refused=3, reasons=("warm-cache: 96 %",))
    one = series_of_place([refused], [values([1.0])], CALENDAR[:2])
    night = one.segments[0].nights[1]
    assert not night.measured
    assert (night.refused, night.reasons) == (3, ("warm-cache: 96 %",))


def test_a_night_without_this_number_is_told_from_one_without_any():
    one = series_of_place([line([0, 1])], [values([1.0])], CALENDAR[:2])
    assert one.segments[0].nights[1].reasons == (NO_VALUE,)


def test_c21_another_omp_num_threads_starts_a_segment_and_is_shown():
    """Case C21 (vllm#42096): a dip made by the tester's environment is no regression."""
    before = nights_row("a", settings={"env.OMP_NUM_THREADS": "8"}, nights=range(5))
    after = nights_row("b", settings={"env.OMP_NUM_THREADS": "16"}, nights=range(5, 10))
    (one,) = join(
        [before, after], [values_row("a", nights=range(5)), values_row("b", nights=range(5, 10))]
    )
    first, second = one.segments
    assert [len(first.nights), len(second.nights)] == [5, 5]
    assert [str(each) for each in second.differences] == ["env.OMP_NUM_THREADS 8 -> 16"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param({"driver": "590"}, "driver 580 -> 590", id="driver"),
        pytest.param({"fp": "b", "client_version": "2"}, "client_version 1 -> 2", id="client"),
    ],
)
def test_what_is_no_setting_is_told_too(changed, said):
    rows = [nights_row(), nights_row(nights=range(3, 6), **changed)]
    key = {name: changed[name] for name in ("fp", "driver") if name in changed}
    (one,) = join(rows, [values_row(), values_row(nights=range(3, 6), **key)])
    assert [str(each) for each in one.segments[1].differences] == [said]


def test_another_accelerator_is_another_series():
    rows = [nights_row(), nights_row(series_id="s2", accelerator="B200")]
    found = join(rows, [values_row(), values_row(series_id="s2")])
    assert [each.place.accelerator for each in found] == ["B200", "H200"]


def test_a_fingerprint_that_comes_back_goes_on():
    lines = [line([0, 1, 4, 5], fp="a"), line([2, 3], fp="b")]
    one = series_of_place(lines, [values([1.0] * 6), values([2.0] * 4)], CALENDAR[:6])
    first, second = one.segments
    assert (first.config_fp, second.config_fp) == ("a", "b")
    # The nights of the other one are no holes of this one.
    assert [night.night.day for night in first.nights] == [1, 2, 5, 6]
    assert [night.night.day for night in second.nights] == [3, 4, 5, 6][:2]


def test_a_configuration_that_was_left_is_not_live():
    lines = [line(range(5), fp="a"), line(range(5, 20), fp="b")]
    calendar = [night_of(index) for index in range(20)]
    one = series_of_place(lines, [values([1.0] * 5), values([2.0] * 20)], calendar)
    assert [segment.live for segment in one.segments] == [False, True]


def test_settings_that_change_each_time_are_no_configuration():
    rows = [
        nights_row("a", settings={"plan_digest": "1"}),
        nights_row("b", settings={"plan_digest": "2"}, nights=range(3, 6)),
    ]
    (one,) = join(rows, [values_row("a"), values_row("b", nights=range(3, 6))])
    assert one.segments[1].differences == ()


def test_a_setting_that_one_side_lacks_is_unset():
    assert str(Difference(setting="env.X", before=None, after="1")) == "env.X unset -> 1"


def test_a_series_knows_its_first_night():
    assert series([1.0, 2.0]).segments[0].nights[0].night == FIRST == date(2026, 1, 1)
