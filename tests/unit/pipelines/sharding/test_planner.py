from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.pipelines.factories import job
from unit.pipelines.sharding.factories import BARE, CALLS, PAST, inventory, timings

from gauntlet.pipelines.sharding.inventory import keys_sha256
from gauntlet.pipelines.sharding.plan_file import prove
from gauntlet.pipelines.sharding.planner import (
    ShardPolicy,
    decide_inventory,
    decide_sharding,
    job_doubt,
)

JOB = job("long", commands=("export A=1", "pytest -v a", "B=1 pytest b -m 'not slow'"))
IDS = (["a.py::t1", "a.py::t2", "b.py::t"], ["c.py::t[1]", "c.py::t[2]"])
LONG = timings({name: 300 for ids in IDS for name in ids})
POLICY = ShardPolicy(target_s=700, overhead_s=60, split_cost_s=0)


def words_of(decision):
    assert decision.plan is None
    return decision.reason


def test_a_long_job_gets_the_fewest_shards():
    decision = decide_sharding(JOB, inventory(*IDS, job=JOB), LONG, POLICY)
    plan = decision.plan
    assert [shard.expected_s for shard in plan.shards] == [660, 660, 360]
    assert (plan.lower_bound, plan.provably_fewest) == (3, True)
    assert (plan.measured_tests, plan.measured_share, plan.proof.tests) == (5, 1, 5)
    assert "3 shards" in decision.reason
    # Whole files, since that costs no shard.
    assert sorted(len(shard.tests()) for shard in plan.shards) == [1, 2, 2]


def test_what_the_plan_says_about_itself_names_its_job():
    plan = decide_sharding(JOB, inventory(*IDS, job=JOB), LONG, POLICY).plan
    assert plan.job == "long"
    assert [command.argv for command in plan.commands] == [("-v", "a"), ("b", "-m", "not slow")]


def with_commands(*commands):
    return replace(JOB, commands=commands)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        pytest.param(with_commands("bash run.sh"), "no pytest call", id="script"),
        pytest.param(with_commands("pytest a && pytest b"), "more than one", id="two in one"),
        pytest.param(replace(JOB, parallelism=2), "2 shards of its own", id="parallelism"),
        pytest.param(replace(JOB, num_nodes=2), "2 nodes", id="nodes"),
        pytest.param(replace(JOB, concurrency=1, concurrency_group="g"), "limited", id="one only"),
        pytest.param(replace(JOB, env={"A": "$B"}), "uses a variable", id="environment"),
        pytest.param(
            replace(JOB, env={"BUILDKITE_PARALLEL_JOB": "0"}), "number of a shard", id="own number"
        ),
    ],
)
def test_a_doubtful_job_stays_as_it_is(changed, words):
    decision = decide_sharding(changed, inventory(*IDS, job=JOB), LONG, POLICY)
    assert words in words_of(decision)


def test_one_shard_of_its_own_is_none():
    assert job_doubt(replace(JOB, parallelism=1)) is None


@pytest.mark.parametrize(
    ("collected", "words"),
    [
        pytest.param(None, "no inventory", id="absent"),
        pytest.param(inventory(*IDS, job=replace(JOB, key="b")), "not of 'long'", id="other job"),
        pytest.param(
            inventory(*IDS, job=replace(JOB, env={"A": "2"})), "other commands", id="environment"
        ),
        pytest.param(inventory(IDS[0], job=JOB), "2 pytest calls", id="call left out"),
        pytest.param(
            inventory(*IDS, job=JOB).model_copy(update={"commands": inventory(*IDS).commands}),
            "other arguments",
            id="arguments",
        ),
        pytest.param(inventory(IDS[0], [], job=JOB), "call 2 collects no test", id="empty call"),
        pytest.param(
            inventory(IDS[0], ["c.py::t"] * 2, job=JOB), "'c.py::t' 2 times", id="id twice"
        ),
        pytest.param(
            inventory(IDS[0], ["c.py::t[<f at 0x7f12ab34cd>]"], job=JOB), "an address", id="address"
        ),
    ],
)
def test_a_doubtful_inventory_leaves_the_job_as_it_is(collected, words):
    assert words in words_of(decide_sharding(JOB, collected, LONG, POLICY))


@pytest.mark.parametrize(
    ("policy", "past", "words"),
    [
        pytest.param(POLICY, timings({"a.py::t1": 1}), "ever measured", id="mostly unknown"),
        pytest.param(
            replace(POLICY, target_s=300), LONG, "a.py::t1 takes 6.0 min by itself", id="too long"
        ),
        pytest.param(replace(POLICY, max_shards=2), LONG, "more than 2 shards", id="too many"),
        pytest.param(replace(POLICY, target_s=9999), LONG, "nothing to share out", id="short"),
        pytest.param(replace(POLICY, target_s=60), LONG, "leaves nothing", id="overhead"),
    ],
)
def test_a_target_that_shards_do_not_serve_leaves_the_job_as_it_is(policy, past, words):
    assert words in words_of(decide_sharding(JOB, inventory(*IDS, job=JOB), past, policy))


def test_an_inventory_without_any_call_is_a_doubt():
    assert "no pytest call" in words_of(decide_inventory(inventory(), LONG, POLICY))


def test_calls_that_are_not_numbered_from_0_are_a_doubt():
    collected = inventory(*IDS)
    collected = collected.model_copy(update={"commands": collected.commands[1:]})
    assert "not one after the other" in words_of(decide_inventory(collected, LONG, POLICY))


@settings(max_examples=120, deadline=None)
@given(calls=CALLS, past=PAST, target=st.integers(1, 40), split=st.sampled_from([0, 2]))
def test_every_plan_holds_every_test_once_within_the_target(calls, past, target, split):
    policy = replace(BARE, target_s=target, split_cost_s=split, overhead_s=0.5)
    collected = inventory(*calls)
    plan = decide_inventory(collected, timings(past), policy).plan
    if plan is not None:
        assert prove(collected, plan) == ()
        assert Counter(plan.tests()) == Counter(collected.tests())
        assert all(shard.expected_s <= target for shard in plan.shards)
        assert 2 <= len(plan.shards) <= policy.max_shards
        assert len(plan.shards) >= plan.lower_bound
        assert plan.proof.sha256 == keys_sha256(collected.tests())


@settings(max_examples=60, deadline=None)
@given(calls=CALLS, past=PAST, shuffle=st.randoms(use_true_random=False))
def test_the_order_of_ids_changes_nothing(calls, past, shuffle):
    shuffled = [shuffle.sample(ids, len(ids)) for ids in calls]
    one = decide_inventory(inventory(*calls), timings(past), BARE)
    items = list(past.items())
    shuffle.shuffle(items)
    assert one == decide_inventory(inventory(*shuffled), timings(dict(items)), BARE)


@settings(max_examples=60, deadline=None)
@given(calls=CALLS, past=PAST, data=st.data())
def test_a_broken_plan_never_passes_for_a_proof(calls, past, data):
    collected = inventory(*calls)
    plan = decide_inventory(collected, timings(past), BARE).plan
    if plan is None:
        return
    broken = data.draw(st.sampled_from([lose_one, run_one_twice, invent_one, move_one, drop_shard]))
    assert prove(collected, broken(plan))


def change(plan, shard, command, node_ids):
    """The plan with other ids in one place; no fingerprint is brought up to date."""
    commands = list(plan.shards[shard].commands)
    commands[command] = commands[command].model_copy(update={"node_ids": tuple(node_ids)})
    shards = list(plan.shards)
    shards[shard] = shards[shard].model_copy(update={"commands": tuple(commands)})
    return plan.model_copy(update={"shards": tuple(shards)})


def lose_one(plan):
    return change(plan, 0, 0, plan.shards[0].commands[0].node_ids[1:])


def run_one_twice(plan):
    first = plan.shards[0].commands[0].node_ids
    return change(plan, 0, 0, (*first, first[0]))


def invent_one(plan):
    return change(plan, 0, 0, (*plan.shards[0].commands[0].node_ids, "new.py::t"))


def move_one(plan):
    """Every test still runs once, but not where the fingerprints say."""
    first, second = plan.shards[0].commands[0], plan.shards[1].commands[0]
    moved = change(plan, 0, 0, first.node_ids[1:])
    return change(moved, 1, 0, (*second.node_ids, first.node_ids[0]))


def drop_shard(plan):
    return plan.model_copy(update={"shards": plan.shards[:-1]})


@pytest.mark.parametrize(
    ("breakage", "words"),
    [
        pytest.param(lose_one, "1 test(s) (a.py::t1 of call 1) in no shard", id="lost"),
        pytest.param(run_one_twice, "in shards more than once", id="twice"),
        pytest.param(invent_one, "in a shard but not in the inventory", id="foreign"),
        pytest.param(move_one, "is not that of its tests", id="moved"),
        pytest.param(drop_shard, "in no shard", id="shard dropped"),
    ],
)
def test_the_proof_says_what_is_broken(breakage, words):
    collected = inventory(*IDS, job=JOB)
    plan = decide_sharding(JOB, collected, LONG, POLICY).plan
    assert any(words in str(problem) for problem in prove(collected, breakage(plan)))


def test_a_plan_of_another_inventory_is_no_proof():
    plan = decide_sharding(JOB, inventory(*IDS, job=JOB), LONG, POLICY).plan
    other = inventory(*IDS, job=replace(JOB, working_dir="/elsewhere"))
    assert [problem.key for problem in prove(other, plan)] == ["job"]
