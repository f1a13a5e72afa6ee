"""Given this history, expect these incidents."""

from dataclasses import dataclass

import pytest
from ci_scenarios import history, reported, runs, sha

from gauntlet.analyzer.incidents.detect import detect


@dataclass(frozen=True)
class Expected:
    jobs: tuple
    first_bad: int
    last_good: int | None
    step: str
    suspects: int
    status: str = "confirmed"
    kind: str = "commits"
    tests: tuple = ()


def told(incident):
    return Expected(
        jobs=incident.jobs,
        first_bad=int(incident.first_bad[:3]),
        last_good=None if incident.last_good is None else int(incident.last_good[:3]),
        step=incident.next_step.step,
        suspects=len(incident.suspects),
        status=incident.status,
        kind=incident.kind,
        tests=incident.tests,
    )


def one(first_bad, last_good, step, suspects, jobs=("a",), **changes):
    return [Expected(jobs, first_bad, last_good, step, suspects, **changes)]


SCENARIOS = {
    # Nothing is wrong.
    "always green": ([runs("a", "PPPPPP")], []),
    "never ran": ([runs("a", "......"), runs("b", "PPPPPP")], []),
    "red once, long ago": ([runs("a", "PPFPPP")], []),
    "recovered by itself when run again": ([runs("a", "PPPPPX")], []),
    "flaky, three times over": ([runs("a", "PXPXPX")], []),
    "red, repaired by the next commit": ([runs("a", "PPPPFFP")], []),
    "only cancelled and lost machines": ([runs("a", "PPPPII")], []),
    "outage in the middle of green": ([runs("a", "PPPIIIPPP")], []),
    "newest commit not run, the one before green": ([runs("a", "PPPFP.")], []),
    # One cause.
    "one commit, plain": ([runs("a", "PPPPPPPPFFF")], one(9, 8, "verify", 1)),
    "red at the last commit, run twice": ([runs("a", "PPPPPPPPPPPPD")], one(13, 12, "verify", 1)),
    "three commits were merged between builds": (
        [runs("a", "PPPPPPPP..FFF")],
        one(11, 8, "bisect", 3),
    ),
    "gap builds: nothing ran for ten commits": (
        [runs("a", "PPPPPP.........FFF")],
        one(16, 6, "bisect", 10),
    ),
    "not run since it broke": ([runs("a", "PPPPPPPPFF....")], one(9, 8, "verify", 1)),
    "gaps inside the streak": ([runs("a", "PPPPPPPPF..F.F")], one(9, 8, "verify", 1)),
    "infra outage in the middle of the streak": (
        [runs("a", "PPPPPPPPFFIIIFF")],
        one(9, 8, "verify", 1),
    ),
    "infra outage at the start of the streak hides the first bad commit": (
        [runs("a", "PPPPPPPPIIFFF")],
        one(11, 8, "bisect", 3),
    ),
    "a lost machine, then a real failure of the same commit": (
        [runs("a", "PPPPPPPPJFF")],
        one(9, 8, "verify", 1),
    ),
    "broke again after a repair: the newest streak counts": (
        [runs("a", "PPPPPFFFPPPPPPFFF")],
        one(15, 14, "verify", 1),
    ),
    # Chance.
    "one failure and one pass": ([runs("a", "PF")], one(2, 1, "restart", 1, status="suspected")),
    "one failure after many passes": (
        [runs("a", "PPPPPPPPPPPPPPPPF")],
        one(17, 16, "restart", 1, status="suspected"),
    ),
    "two failures after two passes": (
        [runs("a", "PPFF")],
        one(3, 2, "restart", 1, status="suspected"),
    ),
    "three failures of a job that always was flaky": (
        [runs("a", "PXFPXPFPXPPFFF")],
        one(12, 11, "restart", 1, status="suspected"),
    ),
    "many failures of a job that always was flaky": (
        [runs("a", "PXPPXPXPPPPFFFFFFFF")],
        one(12, 11, "verify", 1),
    ),
    "a flaky commit ends the streak: it can pass": (
        [runs("a", "PPPPPPPPXFFFF")],
        one(10, 9, "verify", 1),
    ),
    # A break that shows only now and then.
    "it fails three times of four since a change": (
        [runs("a", "PPPPPPPPPPPPPPPPPPPPFFXFFFXFFFFXFFFF")],
        one(22, 17, "bisect", 5),
    ),
    "it fails often, though the newest run passed": (
        [runs("a", "PPPPPPPPPPPPPPPPPPPPFFFFXFFFFXFFFFFFX")],
        one(22, 17, "bisect", 5),
    ),
    # No pass is known.
    "red from the first commit that is known": (
        [runs("a", "FFFFFF")],
        one(1, None, "restart", 0, status="suspected"),
    ),
    "a new job, red from its first run": (
        [runs("a", "....FFF"), runs("b", "PPPPPPP")],
        one(5, None, "restart", 0, status="suspected"),
    ),
    # Several jobs, shards and signatures.
    "one cause in two jobs": (
        [runs("a", "PPPPPPPPFFF"), runs("b", "PPPPPPPPFFF")],
        one(9, 8, "verify", 1, jobs=("a", "b")),
    ),
    "one cause in two jobs, one of which saw it later": (
        [runs("a", "PPPPPPPP..FFF"), runs("b", "PPPPPPPPF....")],
        one(9, 8, "verify", 1, jobs=("a", "b")),
    ),
    "two jobs narrow each other's range": (
        [runs("a", "PPPPPPP...FFF"), runs("b", "PPPPPPPPP....FF")],
        one(11, 9, "bisect", 2, jobs=("a", "b")),
    ),
    "the same signature at two times is two causes": (
        [runs("a", "PPPPPPPPFFFFFFF"), runs("b", "PPPPPPPPPPPPFFF")],
        [
            Expected(("a",), 9, 8, "verify", 1),
            Expected(("b",), 13, 12, "verify", 1),
        ],
    ),
    "two signatures in two jobs since one commit are two incidents": (
        [runs("a", "PPPPPPPPFFF"), runs("b", "PPPPPPPPGGG")],
        [
            Expected(("a",), 9, 8, "verify", 1),
            Expected(("b",), 9, 8, "verify", 1),
        ],
    ),
    "a second culprit hides the first": (
        [runs("a", "PPPPPPPPFFFGGG")],
        [
            Expected(("a",), 9, 8, "verify", 1),
            Expected(("a",), 12, 8, "bisect", 4),
        ],
    ),
    "the repair of one is the culprit of another": (
        [runs("a", "PPPPPPPPFFFGGG"), runs("b", "PPPPPPPPPPPGGG")],
        [
            Expected(("a", "b"), 12, 11, "verify", 1),
            Expected(("a",), 9, 8, "verify", 1),
        ],
    ),
    "shards of one job are one incident": (
        [
            [
                *runs("a", "PPPPPPPPFFF", shard=0),
                *runs("a", "PPPPPPPPFFF", shard=1),
                *runs("a", "PPPPPPPPPPP", shard=2),
            ]
        ],
        one(9, 8, "verify", 1),
    ),
    "another shard's pass does not end a streak": (
        [[*runs("a", "PPPPPPPPFFF", shard=0), *runs("a", "PPPPPPPPPPP", shard=1)]],
        one(9, 8, "verify", 1),
    ),
    "one of two failing shards passing is not a pass": (
        [[*runs("a", "PPPPPPPPFFFF", shard=0), *runs("a", "PPPPPPPPFFPP", shard=1)]],
        one(9, 8, "verify", 1),
    ),
    # Names.
    "a renamed job keeps its past": (
        [runs("old", "PPPPPPPPF"), runs("new", ".........FF")],
        one(9, 8, "verify", 1, jobs=("new",)),
    ),
    "a renamed job that was green is not new": (
        [runs("old", "PPPPPPPP"), runs("new", "........FFF"), runs("b", "PPPPPPPPPPP")],
        one(9, 8, "verify", 1, jobs=("new",)),
    ),
    "two jobs came as one went: none was renamed": (
        [runs("old", "PPPPPPPP"), runs("new", "........FFF"), runs("also", "........PPP")],
        one(9, None, "restart", 0, jobs=("new",), status="suspected"),
    ),
    # The environment.
    "the same commit passed, and failed a day later": (
        [runs("a", "PPPPPPPE")],
        one(8, 7, "restart", 0, status="suspected", kind="environment"),
    ),
    "an old commit fails now as the newest does": (
        [runs("a", "PPPPPPPEFF")],
        one(8, 7, "compare", 0, kind="environment"),
    ),
    "three old commits fail now": (
        [runs("a", "PPPPPEEE")],
        one(6, 5, "compare", 0, kind="environment"),
    ),
    "an old commit failed when run again, and passed at the next": (
        [runs("a", "PPPPPEPP")],
        [],
    ),
    # Tests.
    "a test": (
        [reported("a", {"t1": "PPPPPPPPFFF", "t2": "PPPPPPPPPPP"})],
        one(9, 8, "verify", 1, tests=("t1",)),
    ),
    "tests that fail together are one cause": (
        [reported("a", {"t1": "PPPPPPPPFFF", "t2": "PPPPPPPPFFF"})],
        one(9, 8, "verify", 1, tests=("t1", "t2")),
    ),
    "a test passed while another of its job failed": (
        [reported("a", {"t1": "PPPPPPPPPPFFF", "t2": "PPPPPPPPFFFFF"})],
        [
            Expected(("a",), 9, 8, "verify", 1, tests=("t2",)),
            Expected(("a",), 11, 10, "verify", 1, tests=("t1",)),
        ],
    ),
    "a new test, red from its first run": (
        [reported("a", {"t1": "--------FFF", "t2": "PPPPPPPPPPP"})],
        one(9, None, "verify", 1, tests=("t1",)),
    ),
    "a new test, red once": (
        [reported("a", {"t1": "----------F", "t2": "PPPPPPPPPPP"})],
        one(11, None, "restart", 1, tests=("t1",), status="suspected"),
    ),
    "a new test, added in a gap of builds": (
        [
            reported("a", {"t1": "------", "t2": "PPPPPP"}),
            reported("a", {"t1": "FFF", "t2": "PPP"}, first=9),
        ],
        one(9, None, "bisect", 3, tests=("t1",)),
    ),
    "a test was deleted while it failed": (
        [reported("a", {"t1": "PPPPFF---", "t2": "PPPPPPPPP"})],
        [],
    ),
    "one test on two queues": (
        [
            reported("a", {"t1": "PPPPPPPPFFF"}),
            reported("amd", {"t1": "PPPPPPPPFFF"}, queue="mi325"),
        ],
        one(9, 8, "verify", 1, jobs=("a", "amd"), tests=("t1",)),
    ),
    "a test on one queue alone": (
        [
            reported("a", {"t1": "PPPPPPPPPPP"}),
            reported("amd", {"t1": "PPPPPPPPFFF"}, queue="mi325"),
        ],
        one(9, 8, "verify", 1, jobs=("amd",), tests=("t1",)),
    ),
}


@pytest.mark.parametrize(("parts", "expected"), SCENARIOS.values(), ids=SCENARIOS)
def test_given_this_history_expect_these_incidents(parts, expected):
    def order(each):
        return (each.jobs, each.first_bad, each.tests)

    assert sorted(map(told, detect(history(*parts))), key=order) == sorted(expected, key=order)


def test_a_forced_push_takes_commits_and_their_failures_away():
    rewritten = history(runs("a", "PPPPPPPPFFF"), commits=8)
    assert detect(rewritten) == []


def test_what_ran_at_rewritten_commits_does_not_hide_what_is_left():
    found = detect(history(runs("a", "PPPPPPFFF"), runs("a", "PPP", first=20), commits=9))
    assert [told(each) for each in found] == one(7, 6, "verify", 1)


def test_a_thousand_tests_that_fail_together_are_one_incident():
    names = {f"t{number}": "PPPPPPPPFFF" for number in range(1000)}
    (found,) = detect(history(reported("a", names)))
    assert len(found.tests) == 1000
    assert found.summary == "t0 and 999 more tests in a"


def test_a_message_that_is_worded_anew_each_time_is_one_incident():
    worded = [
        run
        for number, word in ((9, "alpha"), (10, "alphb"), (11, "alphc"))
        for run in runs("a", "F", first=number, signature=f"KeyError in load_weights: {word}")
    ]
    (found,) = detect(history(runs("a", "PPPPPPPP"), worded))
    assert (found.first_bad, found.last_good, found.failures) == (sha(9), sha(8), 1)
