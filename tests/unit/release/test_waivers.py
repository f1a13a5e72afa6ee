from datetime import timedelta

import pytest
from gate_factory import CI, HOUR, NOW, evaluate, job, waiver

from gauntlet.core.errors import UsageError
from gauntlet.release.gates.rules import WaiverRules
from gauntlet.release.gates.waivers import ensure_allowed, problems_to_waive

BAD = (job("a", "failed"), job("b", "failed"))


def gate(*waivers, rules=None):
    return evaluate(CI, jobs=BAD, waivers=waivers, rules=rules)[0]["full-ci"]


def test_a_waived_gate_qualifies_and_says_who_let_it_pass():
    gates, result = evaluate(CI, jobs=BAD, waivers=[waiver("full-ci", "job/a", "job/b")])
    assert gates["full-ci"].state == "WAIVED"
    assert result.qualified
    assert gates["full-ci"].plain()["waivers"][0]["by"] == "Ann"


def test_a_waiver_covers_what_it_names_and_nothing_else():
    result = gate(waiver("full-ci", "job/a"))
    assert result.state == "FAIL"
    assert [problem.key for problem in result.standing] == ["job/b"]


def test_more_than_the_policy_allows_do_not_count_whoever_gave_them():
    rules = WaiverRules(at_most=1)
    later = waiver("full-ci", "job/b", at=NOW - timedelta(minutes=5), by="Ben")
    result = gate(later, waiver("full-ci", "job/a"), rules=rules)
    assert (result.state, result.waived) == ("FAIL", {"job/a"})
    assert "the waiver of Ben does not count: 1 problems at most may be waived" in result.notes


def test_two_waivers_cover_together():
    assert gate(waiver("full-ci", "job/a"), waiver("full-ci", "job/b")).state == "WAIVED"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"until": NOW}, "it expired at 2026-11-30 12:00 UTC"),
        ({"until": None}, "it has no end"),
        ({"commit": "d" * 40}, "it was given for dddddddddd"),
        ({"at": NOW + HOUR}, "a clock is wrong"),
        ({"until": NOW + timedelta(days=15)}, "given for more than 14 days"),
    ],
)
def test_a_waiver_that_is_over_or_was_never_good_does_not_count(changes, why):
    result = gate(waiver("full-ci", "job/a", "job/b", **changes))
    assert result.state == "FAIL"
    assert any(why in note for note in result.notes)


def test_what_nobody_may_waive_stays():
    rules = WaiverRules(never=("full-ci",))
    assert gate(waiver("full-ci", "job/a", "job/b"), rules=rules).state == "FAIL"
    with pytest.raises(UsageError, match="lets nobody waive full-ci"):
        ensure_allowed([gate()], "full-ci", 1, 1, rules)


def test_a_gate_without_problems_passes_with_a_waiver_as_well():
    gates, _ = evaluate(CI, jobs=[job()], waivers=[waiver("full-ci", "job/a")])
    assert gates["full-ci"].state == "PASS"


@pytest.mark.parametrize(
    ("name", "keys", "message"),
    [
        ("full-cl", (), "did you mean 'full-ci'"),
        ("full-ci", ("job/aa",), "did you mean 'job/a'"),
        ("full-ci", (), "which problems of full-ci"),
    ],
)
def test_what_cannot_be_waived_is_refused(name, keys, message):
    with pytest.raises(UsageError, match=message):
        problems_to_waive([gate()], name, keys, everything=False)


def test_a_waiver_for_all_covers_what_stands_now():
    chosen = problems_to_waive([gate(waiver("full-ci", "job/a"))], "full-ci", (), everything=True)
    assert [each.key for each in chosen] == ["job/b"]


@pytest.mark.parametrize(("more", "days", "message"), [(3, 1, "at most 3"), (1, 30, "allows 14")])
def test_the_policy_limits_waivers(more, days, message):
    with pytest.raises(UsageError, match=message):
        ensure_allowed([gate(waiver("full-ci", "job/a"))], "full-ci", more, days, WaiverRules())
