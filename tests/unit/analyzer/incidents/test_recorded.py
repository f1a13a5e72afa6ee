"""Given this history and what was recorded, expect this to go on and that to have ended."""

import pytest
from ci_scenarios import SIGNATURES, START, history, reported, runs, sha

from gauntlet.analyzer.incidents.detect import detect, new_id
from gauntlet.analyzer.incidents.incident import Recorded
from gauntlet.analyzer.incidents.recorded import continue_incidents

BROKEN = "PPPPPPPPFFF"


def recorded(*parts, outcome="open", **changes):
    """What was recorded when the history was this."""
    (incident,) = detect(history(*parts))
    return Recorded(
        incident_id=incident.incident_id,
        outcome=outcome,
        reason="r",
        at=START,
        evidence={**incident.plain(), **changes},
    )


def continued(known, *parts, **options):
    now = history(*parts, **options)
    return continue_incidents(detect(now), [known], now)


def test_what_goes_on_keeps_its_id_while_its_range_narrows():
    known = recorded(runs("a", "PPPPPP..FFF"))
    (going,), ended = continued(known, runs("a", "PPPPPPPFFFFF"))
    assert ended == []
    assert going.incident.incident_id == known.incident_id
    assert going.incident.first_bad == sha(8)
    assert new_id(SIGNATURES["f"], sha(8)) != known.incident_id


def test_a_new_break_of_the_same_thing_is_a_new_incident():
    known = recorded(runs("a", BROKEN))
    (new,), (old,) = continued(known, runs("a", BROKEN + "PPPPPPPPFFF"))
    assert new.recorded is None
    assert new.incident.incident_id != known.incident_id
    assert (old.change, old.recorded.incident_id) == ("fixed", known.incident_id)


def test_an_ignored_incident_stays_ignored_while_it_goes_on():
    known = recorded(runs("a", BROKEN), outcome="ignored")
    (going,), ended = continued(known, runs("a", BROKEN + "F"))
    assert going.recorded.outcome == "ignored"
    assert ended == []


def test_an_ignored_incident_that_is_over_is_not_announced():
    known = recorded(runs("a", BROKEN), outcome="ignored")
    assert continued(known, runs("a", BROKEN + "PP")) == ([], [])


CULPRIT = {"sha": sha(9), "probability": 1.0, "verified": True}


def test_a_culprit_and_its_revert_stay_with_what_goes_on():
    known = recorded(runs("a", BROKEN), culprit=CULPRIT, revert_url="https://example.com/1")
    (going,), _ = continued(known, runs("a", BROKEN + "F"))
    assert going.incident.culprit.commit.sha == sha(9)
    assert going.incident.culprit.verified
    assert going.incident.revert_url == "https://example.com/1"


def test_a_culprit_that_is_no_suspect_any_more_is_forgotten():
    known = recorded(runs("a", "PPPPPPPP..FFF"), culprit=CULPRIT)
    (going,), _ = continued(known, runs("a", "PPPPPPPPPPFFF"))
    assert going.incident.culprit is None


def test_a_revert_of_the_culprit_ends_an_incident():
    known = recorded(runs("a", BROKEN), culprit=CULPRIT)
    changed = {13: {"reverts": sha(9), "title": "Revert change 9"}}
    _, (ended,) = continued(known, runs("a", BROKEN + "..PP"), changed=changed)
    assert (ended.change, ended.by.sha) == ("fixed", sha(13))
    assert ended.reason == f"fixed by {sha(13)[:10]}, which reverts {sha(9)[:10]}"
    assert [commit.sha for commit in ended.fixed_in] == [sha(12), sha(13), sha(14)]


def test_a_revert_of_another_commit_is_not_the_repair():
    known = recorded(runs("a", BROKEN), culprit=CULPRIT)
    changed = {13: {"reverts": sha(2), "title": "Revert change 2"}}
    _, (ended,) = continued(known, runs("a", BROKEN + "..PP"), changed=changed)
    assert ended.by is None
    assert ended.reason == f"passes again since {sha(14)[:10]}, one of 3 commits"


def test_a_revert_of_a_revert_breaks_again_with_itself_as_the_suspect():
    known = recorded(runs("a", BROKEN), culprit=CULPRIT)
    changed = {
        12: {"reverts": sha(9), "title": "Revert change 9"},
        20: {"reverts": sha(12), "title": "Land change 9 again"},
    }
    (new,), (ended,) = continued(known, runs("a", BROKEN + "PPPPPPPPFFF"), changed=changed)
    assert ended.by.sha == sha(12)
    assert [commit.sha for commit in new.incident.suspects] == [sha(20)]
    assert new.incident.suspects[0].reverts == sha(12)


def test_a_single_commit_between_red_and_green_fixed_it():
    known = recorded(runs("a", BROKEN))
    _, (ended,) = continued(known, runs("a", BROKEN + "P"))
    assert ended.reason == f"fixed by {sha(12)[:10]}: Change 12"


def test_a_run_again_that_passes_ends_it_without_a_repair():
    known = recorded(runs("a", "PPPPPPPPPF"))
    _, (ended,) = continued(known, runs("a", "PPPPPPPPPX"))
    assert (ended.change, ended.by) == ("fixed", None)
    assert ended.reason == f"recovered by itself: {sha(10)[:10]} failed, and passes now"


def test_while_nothing_ran_nothing_has_ended():
    known = recorded(runs("a", BROKEN))
    (going,), ended = continued(known, runs("a", BROKEN + "....."), runs("b", "PPPPPPPPPPPPPPPP"))
    assert ended == []
    assert going.incident.incident_id == known.incident_id


def test_an_outage_does_not_end_an_incident():
    known = recorded(runs("a", BROKEN))
    (going,), ended = continued(known, runs("a", BROKEN + "III"))
    assert ended == []
    assert going.incident.failures == 3


def test_one_of_its_jobs_passing_does_not_end_an_incident():
    known = recorded(runs("a", BROKEN), runs("b", BROKEN))
    (going,), ended = continued(known, runs("a", BROKEN + "F"), runs("b", BROKEN + "P"))
    assert ended == []
    assert going.incident.jobs == ("a",)


def test_an_incident_of_jobs_that_are_no_more_is_closed_as_gone():
    known = recorded(runs("a", "PPPPPPPPFFF"))
    left = history(runs("b", "P" * 38), commits=38)
    found, (ended,) = continue_incidents(detect(left), [known], left)
    assert (found, ended.change) == ([], "gone")
    assert ended.reason == "its jobs did not run at the last 38 built commits"


def test_an_incident_follows_a_renamed_job_to_its_end():
    known = recorded(runs("old", BROKEN))
    _, (ended,) = continued(known, runs("old", BROKEN), runs("new", "...........PP"))
    assert ended.change == "fixed"


def test_a_test_that_passes_ends_its_incident_though_its_job_is_red():
    known = recorded(reported("a", {"t1": BROKEN, "t2": "PPPPPPPPPPP"}))
    (new,), (ended,) = continued(known, reported("a", {"t1": BROKEN + "PP", "t2": "PPPPPPPPPPPFF"}))
    assert new.incident.tests == ("t2",)
    assert (ended.recorded.incident_id, ended.by.sha) == (known.incident_id, sha(12))


def test_an_incident_of_a_test_that_was_deleted_is_closed_as_gone():
    known = recorded(reported("a", {"t1": BROKEN, "t2": "PPPPPPPPPPP"}))
    _, (ended,) = continued(known, reported("a", {"t1": BROKEN + "--", "t2": "PPPPPPPPPPPPP"}))
    assert (ended.change, ended.reason) == ("gone", "what failed does not exist any more")


@pytest.mark.parametrize("outcome", ["fixed"])
def test_what_was_closed_is_not_closed_again(outcome):
    known = recorded(runs("a", BROKEN), outcome=outcome)
    assert continued(known, runs("a", BROKEN + "PP")) == ([], [])
