"""Public reports of bots that were wrong, and what is right."""

from datetime import timedelta

from ci_scenarios import START, history, run, runs, sha

from gauntlet.analyzer.incidents.detect import detect
from gauntlet.analyzer.incidents.environment import Environment, differences
from gauntlet.analyzer.incidents.pull_request import judge_pull_request


def test_one_failure_and_one_pass_ask_for_a_restart_and_accuse_nobody():
    """pytorch/test-infra#7209."""
    (found,) = detect(history(runs("a", "PF")))
    assert (found.status, found.next_step.step) == ("suspected", "restart")
    assert found.next_step.at == (sha(1), sha(2))
    assert found.culprit is None


def test_two_of_each_do_not_accuse_where_the_job_was_flaky():
    (found,) = detect(history(runs("a", "PXPXPPFF")))
    assert found.next_step.step == "restart"


def test_a_change_that_broke_the_branch_before_is_not_excused_by_that():
    """pytorch/test-infra#4799: it landed, broke builds of others, was reverted, and came back."""
    changed = {
        4: {"pull_request": 77},
        8: {"pull_request": 80, "reverts": sha(4)},
    }
    branch = history(runs("a", "PPPFFFFPPPP"), changed=changed)
    failure = run("a", 99, "f")
    found = judge_pull_request(failure, 77, branch)
    assert (found.whose, found.landing.sha) == ("its-own", sha(4))
    assert judge_pull_request(failure, 78, branch).whose == "flaky"


def test_what_the_branch_fails_with_now_is_the_branchs():
    branch = history(runs("a", "PPPFFFF"))
    assert judge_pull_request(run("a", 99, "f"), 5, branch).whose == "of-the-branch"
    assert judge_pull_request(run("a", 99, "g"), 5, branch).whose == "its-own"
    assert judge_pull_request(run("b", 99, "f"), 5, branch).whose == "its-own"


def test_neighbours_that_both_touch_the_code_are_both_suspects():
    """vllm-project/vllm#45008: the build between them decides, not the overlap of files."""
    changed = {
        9: {"pull_request": 41183, "paths": ("engine/moe/layer.py",)},
        10: {"pull_request": 41184, "paths": ("engine/moe/loader.py",)},
    }
    (found,) = detect(history(runs("a", "PPPPPPPP.FFF"), changed=changed))
    assert [commit.pull_request for commit in found.suspects] == [41183, 41184]
    assert (found.next_step.step, found.next_step.at) == ("bisect", (sha(9),))
    assert found.culprit is None


def test_two_shards_and_two_suspects_are_one_incident():
    """vllm-project/vllm#46150 and #46151."""
    shards = [runs("a", "PPPPPPPP.FFF", shard=shard) for shard in (0, 1)]
    (found,) = detect(history(*shards))
    assert len(found.suspects) == 2
    assert found.jobs == ("a",)


DAY_1, DAY_3 = START + timedelta(days=1), START + timedelta(days=3)


def environment(job_id, at, released=(), **packages):
    return Environment(
        job_id=job_id,
        at=at,
        things={("package", name): version for name, version in packages.items()},
        released_at={("package", name): when for name, when in dict(released).items()},
    )


def test_a_commit_that_was_green_and_is_red_is_compared_and_not_bisected():
    """datachain-ai/datachain#1265: four packages came out in between."""
    made = history(runs("a", "PPPPPPPPE"))
    good, bad = sorted((r for r in made.runs if r.sha == sha(9)), key=lambda r: r.at)
    before = environment(good.job_id, good.at, numpy="2.3", fsspec="1", aiohttp="3.1", attrs="1")
    released = {
        "numpy": good.at + timedelta(hours=9),
        "fsspec": good.at + timedelta(hours=2),
        "aiohttp": good.at - timedelta(days=30),
    }
    after = environment(
        bad.job_id, bad.at, released, numpy="2.4", fsspec="2", aiohttp="3.2", attrs="1"
    )
    (found,) = detect(made, {each.job_id: each for each in (before, after)})
    assert (found.kind, found.failure_class) == ("environment", "dependency")
    assert found.suspects == ()
    assert found.next_step.step == "compare"
    assert [each.name for each in found.differences] == ["numpy", "fsspec", "aiohttp"]


def test_a_commit_that_failed_once_after_it_passed_is_run_again_first():
    """Nothing is known to have changed: it is a flake before it is anything else."""
    (found,) = detect(history(runs("a", "PPPPPPPPE")))
    assert (found.next_step.step, found.next_step.at) == ("restart", (sha(9),))
    assert found.failure_class == "test_regression"
    (sure,) = detect(history(runs("a", "PPPPPPPEE")))
    assert (sure.next_step.step, sure.failure_class) == ("compare", "dependency")


def test_what_came_and_went_is_a_difference_too():
    before = environment("1", DAY_1, numpy="2.3", gone="1")
    after = environment("2", DAY_3, numpy="2.3", new="1")
    told = [(each.name, each.before, each.after) for each in differences(before, after)]
    assert told == [("gone", "1", None), ("new", None, "1")]


def test_a_new_driver_is_no_dependency():
    made = history(runs("a", "PPPPPPPPE"))
    good, bad = sorted((r for r in made.runs if r.sha == sha(9)), key=lambda r: r.at)
    driver = [
        Environment(job_id=run.job_id, at=run.at, things={("driver", "nvidia"): version})
        for run, version in ((good, "570"), (bad, "580"))
    ]
    (found,) = detect(made, {each.job_id: each for each in driver})
    assert found.failure_class == "test_regression"
    assert [each.after for each in found.differences] == ["580"]
