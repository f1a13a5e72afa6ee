from datetime import timedelta

import pytest
from gate_factory import CI, HOUR, IMAGE, NOW, OTHER_IMAGE, evaluate, job

from gauntlet.release.gates.rules import Lane


def gate(*jobs, rule=CI, **facts):
    return evaluate(rule, jobs=jobs, **facts)[0]["full-ci"]


def keys(result):
    return {problem.key: problem.state for problem in result.problems}


def test_a_green_build_passes():
    assert gate(job("a"), job("b")).state == "PASS"


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ("failed", "FAIL"),
        ("timed_out", "FAIL"),
        ("expired", "FAIL"),
        ("blocked", "MISSING"),
        ("waiting_failed", "MISSING"),
        ("skipped", "MISSING"),
        ("canceled", "MISSING"),
        ("broken", "MISSING"),
        ("running", "MISSING"),
        ("a state of tomorrow", "MISSING"),
    ],
)
def test_what_is_not_green_does_not_pass(state, expected):
    result = gate(job("a"), job("b", state))
    assert result.state == expected
    assert keys(result) == {"job/b": expected}


def test_a_gate_that_was_skipped_is_missing_and_not_passed():
    """C51: the lock check's step was guarded by a condition that is never true."""
    rule = CI.model_copy(update={"lanes": (Lane(name="locks", jobs=("lock-*",)),)})
    absent = gate(job("a"), rule=rule)
    assert keys(absent) == {"lane/locks": "MISSING"}
    skipped = gate(job("a"), job("lock-check", "skipped"), rule=rule)
    assert keys(skipped) == {"lane/locks": "MISSING", "job/lock-check": "MISSING"}


def test_no_build_at_all_is_missing():
    assert gate().state == "MISSING"


@pytest.mark.parametrize(
    ("lane", "ended"),
    [
        (Lane(name="l", queues=("h200*",), at_least=2), 1),
        (Lane(name="l", groups=("kernels",), at_least=2), 0),
        (Lane(name="l", jobs=("a*",), at_least=3), 2),
    ],
)
def test_a_lane_needs_as_many_jobs_as_the_policy_says(lane, ended):
    rule = CI.model_copy(update={"lanes": (lane,)})
    result = gate(job("a1", queue="b200"), job("a2"), rule=rule)
    assert f"{ended} of at least {lane.at_least}" in result.problems[0].message


def test_the_newest_attempt_counts_and_a_retry_is_shown():
    result = gate(job("a", "failed", at=NOW - 2 * HOUR), job("a"), job("b"))
    assert result.state == "PASS"
    assert dict(result.numbers)["retried"] == 1
    assert "green only after a retry: a" in result.notes


def test_a_job_that_fails_when_run_again_failed():
    assert gate(job("a", at=NOW - 2 * HOUR), job("a", "failed")).state == "FAIL"


def test_one_bad_shard_is_a_bad_job():
    result = gate(job("a", shard=0), job("a", "failed", shard=1), job("a", shard=2))
    assert keys(result) == {"job/a": "FAIL"}


@pytest.mark.parametrize(
    ("limits", "expected"),
    [
        ({"retried_at_most": None}, set()),
        ({"retried_at_most": 1}, set()),
        ({"retried_at_most": 0}, {"limit/retried"}),
        ({"soft_failed_at_most": 0}, {"limit/soft-failed"}),
        ({"quarantined_at_most": 1}, {"limit/quarantined"}),
        ({"quarantined_at_most": 2}, set()),
    ],
)
def test_what_is_not_plainly_green_is_counted_by_policy(limits, expected):
    rule = CI.model_copy(update={"soft_failed_at_most": None, **limits})
    result = gate(
        job("retried", "failed", at=NOW - 2 * HOUR),
        job("retried"),
        job("soft", "failed", soft_failed=True),
        job("sick", "failed"),
        rule=rule,
        quarantines=frozenset({"job/sick", "test/tests/a.py::b"}),
    )
    assert set(keys(result)) == expected
    assert dict(result.numbers) == {
        "jobs": 3, "passed": 0, "retried": 1, "soft-failed": 1, "quarantined": 1, "failed": 0,
        "not run": 0,
    }  # fmt: skip


def test_a_job_of_the_last_release_that_is_gone_is_missing_unless_dropped_on_purpose():
    before = frozenset({"a", "old-lane", "older"})
    rule = CI.model_copy(update={"dropped": ("older",)})
    result = gate(job("a"), rule=rule, previous_jobs=before)
    assert keys(result) == {"job/old-lane": "MISSING"}
    loose = rule.model_copy(update={"as_before": False})
    assert gate(job("a"), rule=loose, previous_jobs=before).state == "PASS"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"image": OTHER_IMAGE}, "an image that is not the candidate's"),
        ({"at": NOW - timedelta(days=15)}, "more than 14 days ago"),
        ({"at": NOW + HOUR}, "a clock is wrong"),
    ],
)
def test_what_is_not_of_this_candidate_does_not_count(changes, why):
    result = gate(job("a", **changes))
    assert keys(result) == {"lane/any": "MISSING"}
    assert any(why in note for note in result.notes)


def test_jobs_may_have_to_run_in_one_named_image():
    rule = CI.model_copy(update={"image": "cuda-x86"})
    assert gate(job("a", image=IMAGE), rule=rule).state == "PASS"
    assert gate(job("a", image=OTHER_IMAGE), rule=rule).state == "MISSING"
    assert "1 of 1 attempts did not record their image" in gate(job("a"), rule=rule).notes


def test_tests_may_run_in_images_of_their_own():
    rule = CI.model_copy(update={"image": "*"})
    assert gate(job("a", image=OTHER_IMAGE), rule=rule).state == "PASS"


def test_an_unknown_last_build_is_said():
    assert any("no build of v1.1.0 is known" in note for note in gate(job("a")).notes)
    assert not any("is known" in n for n in gate(job("a"), previous_jobs=frozenset({"a"})).notes)


def test_a_build_that_waits_for_somebody_is_said():
    assert "a person is waited for in #12" in gate(job("a"), blocked_builds=(12,)).notes


def test_the_evidence_names_the_builds():
    assert gate(job("a", build=3), job("b", build=11)).evidence == ("ci#3", "ci#11")
