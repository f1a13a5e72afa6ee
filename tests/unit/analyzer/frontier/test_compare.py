"""Two sides' sweeps: what is compared, what is refused, and how it is said."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import settings as limits
from hypothesis import strategies as st

from gauntlet.analyzer.frontier.compare import compare_frontiers
from gauntlet.analyzer.frontier.judge import Rule
from gauntlet.analyzer.measured import Measured, Place, Statistic
from gauntlet.analyzer.selection import load_sides

TPOT, TOKENS = Statistic("tpot_ms", "p50"), Statistic("output_tokens_per_s", "total")
SWEEP = {"c=1": (4.0, 250.0), "c=16": (5.0, 3000.0), "c=64": (10.0, 6000.0)}
RULE = Rule(draws=2000)


def repetition(side, point, pair, *, slower=1.0, wobble=0.0, session="run", **changes):
    tpot, throughput = SWEEP[point]
    factor = slower * (1 + wobble)
    fields = {
        "repetition_id": f"{session}/{point}/{pair}/{side}",
        "place": Place("nightly", "random", point, "m", "H200"),
        "side": side,
        "session": session,
        "pair": pair,
        "position": 0,
        "status": "valid",
        "config_fp": point,
        "settings": {"gpus": "8", "input_tokens": "1024", "output_tokens": "128"},
        "values": {TPOT: tpot * factor, TOKENS: throughput / factor},
    }
    return Measured(**{**fields, **changes})


def sweep(*, slower=1.0, pairs=8, points=SWEEP, **changes):
    """Both sides of ``pairs`` pairs that wobble a little, each in its own way."""
    found = []
    for pair in range(pairs):
        for index, point in enumerate(points):
            wobble = 0.001 * ((3 * pair + index) % 5 - 2)
            found.append(repetition("baseline", point, pair, wobble=-wobble, **changes))
            found.append(
                repetition("candidate", point, pair, slower=slower, wobble=wobble, **changes)
            )
    return found


def verdicts(measured, rule=RULE, **options):
    report = compare_frontiers(measured, rule, **options)
    return {verdict.subject: verdict for verdict in report.verdicts}


AREA = "frontier/random/1024x128/hypervolume"


@pytest.mark.parametrize("pairs", [pytest.param(4, id="few"), pytest.param(8, id="many")])
@pytest.mark.parametrize(
    ("slower", "outcome"),
    [
        pytest.param(1.0, "same", id="unchanged"),
        pytest.param(1.002, "same", id="a-little-slower"),
        pytest.param(1.05, "worse", id="slower"),
        pytest.param(0.95, "better", id="faster"),
    ],
)
def test_outcomes(slower, outcome, pairs):
    found = verdicts(sweep(slower=slower, pairs=pairs))
    area = found[AREA]
    assert area.outcome == outcome
    assert area.blocking
    assert area.n == pairs
    # Slower tokens cost a user as much as the throughput: the area loses both.
    assert area.effect == pytest.approx((slower**-2 - 1) * 100, abs=0.5)
    assert area.lower <= area.effect <= area.upper
    assert area.reason
    assert area.method
    informing = [verdict for verdict in found.values() if not verdict.blocking]
    assert len(informing) == 3
    assert all(v.subject.startswith("frontier/random/1024x128/throughput@") for v in informing)
    assert ("fewer than 6 pairs" in area.reason) == (pairs < 6)


def test_noise_that_hides_a_loss_of_the_margin_asks_for_more():
    measured = sweep(pairs=3)
    measured[5] = replace(measured[5], values={TPOT: 11.0, TOKENS: 5500.0})
    area = verdicts(measured)[AREA]
    assert area.outcome == "inconclusive"
    assert "neither shown nor excluded" in area.reason
    assert area.detectable > 3


def test_throughput_is_per_gpu():
    measured = [
        replace(each, settings={**each.settings, "gpus": "4"}) if each.side == "candidate" else each
        for each in sweep(slower=1.0)
    ]
    assert verdicts(measured)[AREA].effect == pytest.approx(100, abs=1)


def without(measured, side, *names):
    return [
        replace(
            each,
            settings={key: text for key, text in each.settings.items() if key not in names},
        )
        if each.side == side
        else each
        for each in measured
    ]


def test_gpus_that_neither_side_knows_are_taken_as_the_same():
    measured = without(without(sweep(), "baseline", "gpus"), "candidate", "gpus")
    report = compare_frontiers(measured, RULE)
    assert not report.bands[0].per_gpu
    assert report.verdicts[0].outcome == "same"
    assert "GPUs not known" in report.verdicts[0].reason


def refused(side, measured, point=None):
    return [
        replace(each, status="invalid", reasons=("warm-cache: 67 %",))
        if each.side == side and point in (None, each.place.point)
        else each
        for each in measured
    ]


@pytest.mark.parametrize(
    ("measured", "outcome", "said"),
    [
        pytest.param(
            without(sweep(), "candidate", "gpus"), "missing", "GPUs of the candidate", id="gpus"
        ),
        pytest.param(
            [each for each in sweep() if each.side == "baseline"],
            "missing",
            "the candidate has not measured anything",
            id="one-side-only",
        ),
        pytest.param(
            [replace(each, values={TPOT: 5.0}) for each in sweep()],
            "missing",
            "has not measured median TPOT and throughput",
            id="no-throughput",
        ),
        pytest.param(
            refused("candidate", sweep()),
            "invalid",
            "24 of 24 repetitions of the candidate unusable: warm-cache: 67 %",
            id="all-refused",
        ),
        pytest.param(
            [
                replace(each, config_fp="other")
                if (each.side, each.place.point) == ("candidate", "c=16")
                else each
                for each in sweep()
            ],
            "config-changed",
            "at 1 of 3 points, such as c=16",
            id="other-configuration",
        ),
        pytest.param(
            [each for each in sweep() if (each.side == "baseline") == (each.place.point == "c=1")],
            "missing",
            "no point in common",
            id="no-common-point",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_and_carries_no_number(measured, outcome, said):
    (verdict,) = verdicts(measured).values()
    assert verdict.outcome == outcome
    assert said in verdict.reason
    assert verdict.effect is None


def test_points_of_one_side_only_are_left_out_and_named():
    measured = [each for each in sweep() if (each.side, each.place.point) != ("candidate", "c=64")]
    area = verdicts(measured)[AREA]
    assert area.outcome == "same"
    assert "only the baseline has c=64, left out" in area.reason


def test_one_point_is_a_rectangle_and_has_no_other_interactivity():
    found = verdicts(sweep(points=["c=16"], slower=1.1))
    assert found[AREA].outcome == "worse"
    other = found["frontier/random/1024x128/throughput"]
    assert (other.outcome, other.blocking) == ("missing", False)
    assert "no range of interactivity that both reach" in other.reason


def test_a_refused_turn_takes_its_pair_with_it_and_no_other():
    measured = sweep(pairs=8)
    measured = [*refused("candidate", measured[:6]), *measured[6:]]
    area = verdicts(measured)[AREA]
    assert (area.outcome, area.n) == ("same", 7)
    assert "1 of 8 pairs have one side only" in area.reason


def test_sides_that_were_not_interleaved_carry_the_noise_between_sessions():
    measured = [replace(each, session="") for each in sweep()]
    assumed = verdicts(measured)[AREA]
    assert "not interleaved, 1 % between sessions assumed" in assumed.reason
    quiet = verdicts(measured, replace(RULE, noise_percent=0.0))[AREA]
    assert assumed.lower < quiet.lower
    assert quiet.outcome == "same"


def test_bands_are_judged_apart_and_share_the_error_budget():
    longer = [
        replace(
            each,
            repetition_id=f"long/{each.repetition_id}",
            place=each.place._replace(point=f"isl=8192,{each.place.point}"),
            settings={**each.settings, "input_tokens": "8192"},
        )
        for each in sweep(slower=1.1)
    ]
    found = verdicts([*sweep(), *longer])
    assert found[AREA].outcome == "same"
    assert found["frontier/random/8192x128/hypervolume"].outcome == "worse"


def test_lengths_come_from_the_rates_where_settings_do_not_say():
    more = {
        Statistic("requests_per_s", "total"): 10.0,
        Statistic("input_tokens_per_s", "total"): 1e4,
    }
    measured = [
        replace(each, settings={"gpus": "8"}, values={**each.values, **more}) for each in sweep()
    ]
    found = verdicts(measured)
    assert "frontier/random/1000x300/hypervolume" in found


def test_different_configurations_may_be_compared_on_purpose():
    other = [
        replace(
            each,
            place=each.place._replace(recipe="tp8", point=f"tp=8,{each.place.point}"),
            config_fp="tp8",
        )
        if each.side == "candidate"
        else each
        for each in sweep(slower=1.1)
    ]
    area = verdicts(other, across=True)[AREA]
    assert area.outcome == "worse"
    assert "not interleaved" in area.reason
    assert {verdict.outcome for verdict in verdicts(other).values()} == {"missing"}


def test_the_report_has_the_points_of_a_chart():
    report = compare_frontiers(sweep(slower=1.5, pairs=2), RULE)
    (band,) = json.loads(json.dumps(report.plain()))
    first = band["points"][0]
    assert (first["side"], first["point"], first["n"]) == ("baseline", "c=64", 2)
    assert first["interactivity"] == pytest.approx(100, rel=0.01)
    assert first["throughput_per_gpu"] == pytest.approx(750, rel=0.01)
    assert all(point["on_frontier"] for point in band["points"])
    beaten = {p["side"] for p in band["points"] if p["dominated_by_other_side"]}
    assert beaten == {"candidate"}
    assert len(band["repetitions"]) == 12
    table = "\n".join(report.lines())
    assert "random, 1024x128 (input x output tokens)" in table
    assert "on the frontier, dominated by the other side" in table
    assert f"worse           {AREA}" in table


@limits(deadline=None, max_examples=15)
@given(st.randoms(), st.floats(0.01, 100))
def test_neither_order_nor_a_common_factor_changes_a_verdict(random, factor):
    measured = sweep(slower=1.02, pairs=4)
    plain = verdicts(measured)[AREA]
    scaled = [
        replace(each, values={**each.values, TOKENS: each.values[TOKENS] * factor})
        for each in measured
    ]
    random.shuffle(scaled)
    found = verdicts(scaled)[AREA]
    assert found.outcome == plain.outcome
    assert found.effect == pytest.approx(plain.effect)
    assert (found.lower, found.upper) == pytest.approx((plain.lower, plain.upper))


def test_nothing_measured_is_an_empty_report():
    assert compare_frontiers([]).verdicts == ()
    assert compare_frontiers([]).lines() == []


def test_eager_mode_on_an_h200_is_worse(shared):
    folder = shared / "data" / "h200" / "ab"
    measured = load_sides(
        f"{folder}/*A-c*.json.gz;gpus=1",
        f"{folder}/*B-c*.json.gz;gpus=1",
        location="unused",
        telemetry=folder / "telemetry.jsonl.gz",
    )
    report = compare_frontiers(measured)
    area, other = report.verdicts
    assert (area.outcome, area.n) == ("worse", 4)
    assert area.lower < -90 < area.upper < -80
    assert other.outcome == "missing"
    assert all(p.dominated_by_other_side == (p.side == "candidate") for p in report.bands[0].points)


def test_repetitions_of_one_server_are_not_called_worse(shared):
    folder = shared / "data" / "h200"
    measured = load_sides(
        f"{folder}/*r1-c*.json", f"{folder}/*r2-c*.json,{folder}/*r3-c*.json", location="unused"
    )
    for verdict in compare_frontiers(measured).verdicts:
        assert verdict.outcome == "inconclusive"
        assert verdict.lower < verdict.effect < verdict.upper
