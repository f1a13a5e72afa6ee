import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.harness.simulator.config import SchedulerConfig, TimingConfig
from gauntlet.harness.simulator.kv_cache import KvCache
from gauntlet.harness.simulator.scheduler import (
    MIN_STEP_S,
    Generation,
    Scheduler,
    lognormal_noise,
)

TIMING = TimingConfig(decode_step_ms=10, decode_ms_per_seq=1, prefill_ms_per_token=0.5)


def make(*, blocks=1000, seqs=8, budget=64, timing=TIMING, caching=True, noise=lambda: 1.0):
    cache = KvCache(blocks=blocks, block_size=16, prefix_caching=caching)
    limits = SchedulerConfig(max_num_seqs=seqs, max_num_batched_tokens=budget)
    return Scheduler(limits, timing, cache, noise=noise)


def generation(prompt, reply=4, *, base=0):
    return Generation(
        prompt=list(range(base, base + prompt)),
        reply=[900_000 + base + number for number in range(reply)],
        emit=lambda _number, _now: None,
    )


def step(scheduler, **details):
    """Cost of one step in ms, and who emitted."""
    cost = scheduler.begin(0.0, **details)
    return (None if cost is None else pytest.approx(cost * 1000)), scheduler.finish()


def run(scheduler, limit=10_000):
    """Run until idle; return the number of steps."""
    for steps in range(limit):
        if scheduler.begin(0.0) is None:
            return steps
        scheduler.finish()
    pytest.fail("the scheduler does not come to an end")


def test_nothing_to_do_costs_nothing():
    assert make().begin(0.0) is None


def test_prefill_then_decode_have_exact_costs():
    scheduler, one = make(), generation(20, reply=3)
    scheduler.add(one)
    assert step(scheduler) == (10 + 0.5 * 20, [one])
    assert step(scheduler) == (10 + 1, [one])
    assert step(scheduler) == (10 + 1, [one])
    assert one.done
    assert scheduler.begin(0.0) is None
    assert scheduler.cache.usage == 0


def test_long_prompts_are_prefilled_in_chunks_beside_decodes():
    scheduler = make(budget=64)
    first = generation(10, reply=9)
    scheduler.add(first)
    step(scheduler)
    long = generation(150, base=1000)
    scheduler.add(long)
    # One decode token each step leaves 63 of the budget for the prefill.
    assert step(scheduler) == (10 + 1 + 0.5 * 63, [first])
    assert step(scheduler) == (10 + 1 + 0.5 * 63, [first])
    assert step(scheduler) == (10 + 1 + 0.5 * 24, [first, long])
    assert step(scheduler) == (10 + 2, [first, long])


def test_admission_is_first_come_first_served_up_to_max_num_seqs():
    scheduler = make(seqs=2)
    all_three = [generation(5, reply=2, base=base) for base in (0, 100, 200)]
    for one in all_three:
        scheduler.add(one)
    assert step(scheduler)[1] == all_three[:2]
    assert list(scheduler.waiting) == all_three[2:]
    assert step(scheduler)[1] == all_three[:2]
    assert step(scheduler)[1] == all_three[2:]


def test_a_prompt_waits_until_its_blocks_are_free():
    scheduler = make(blocks=4)
    first, second = generation(40, reply=2), generation(40, reply=2, base=100)
    scheduler.add(first)
    scheduler.add(second)
    assert step(scheduler)[1] == [first]
    assert len(scheduler.waiting) == 1
    step(scheduler)
    assert step(scheduler)[1] == [second]
    assert scheduler.preemptions == 0


def test_the_latest_is_preempted_when_blocks_run_out_and_comes_back():
    scheduler = make(blocks=4, caching=False)
    first, second = generation(30, reply=10), generation(31, reply=3, base=100)
    scheduler.add(first)
    scheduler.add(second)
    step(scheduler)
    step(scheduler)
    step(scheduler)
    # Both prompts' blocks are full now; the second gives way, and has to prefill again.
    assert scheduler.preemptions == 1
    assert list(scheduler.waiting) == [second]
    assert not second.blocks
    run(scheduler)
    assert (first.emitted, second.emitted) == (10, 3)
    assert scheduler.cache.usage == 0


def test_an_abort_in_mid_step_emits_nothing_and_frees_everything():
    scheduler, one, two = make(), generation(20), generation(20, base=50)
    scheduler.add(one)
    scheduler.begin(0.0)
    scheduler.add(two)
    scheduler.abort(one)
    scheduler.abort(two)
    assert scheduler.finish() == []
    assert scheduler.begin(0.0) is None
    assert scheduler.cache.usage == 0


def test_cached_prefixes_cost_nothing_but_the_last_token_is_computed():
    scheduler = make(budget=512)
    scheduler.add(generation(64, reply=1))
    run(scheduler)
    again = generation(64, reply=1)
    scheduler.add(again)
    # 64 tokens are four full blocks; the fourth holds the last token, so three count.
    assert step(scheduler)[0] == 10 + 0.5 * 16
    assert again.cached == 48
    assert (scheduler.cache.queries, scheduler.cache.hits) == (128, 48)


def test_equal_prompts_in_one_step_share_the_prefill():
    scheduler = make(budget=512)
    scheduler.add(generation(64, reply=1))
    scheduler.add(generation(64, reply=1))
    assert step(scheduler)[0] == 10 + 0.5 * (64 + 16)


def test_generated_tokens_are_cached_for_the_next_turn():
    scheduler = make(budget=512)
    first = generation(10, reply=30)
    scheduler.add(first)
    run(scheduler)
    follow_up = Generation(
        prompt=first.prompt + first.reply + [7] * 8, reply=[1], emit=lambda *_: None
    )
    scheduler.add(follow_up)
    step(scheduler)
    assert follow_up.cached == 32


def test_cost_has_a_floor_a_noise_and_a_drift():
    free = TimingConfig(decode_step_ms=0, decode_ms_per_seq=0, prefill_ms_per_token=0)
    scheduler = make(timing=free)
    scheduler.add(generation(5))
    assert scheduler.begin(0.0) == MIN_STEP_S
    drifting = TIMING.model_copy(update={"drift_percent_per_minute": 50})
    scheduler = make(timing=drifting, noise=lambda: 2.0)
    scheduler.add(generation(5))
    assert step(scheduler, age_s=60.0)[0] == (10 + 2.5) * 2 * 1.5


def test_noise_is_seeded_unbiased_and_as_wide_as_told():
    assert lognormal_noise(0, 1)() == 1
    draw, same = lognormal_noise(0.2, 1), lognormal_noise(0.2, 1)
    values = [draw() for _ in range(20_000)]
    assert values[:10] == [same() for _ in range(10)]
    mean = math.fsum(values) / len(values)
    deviation = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))
    assert mean == pytest.approx(1, abs=0.01)
    assert deviation / mean == pytest.approx(0.2, abs=0.01)


@settings(max_examples=40, deadline=None)
@given(
    shapes=st.lists(
        st.tuples(st.integers(1, 60), st.integers(1, 40), st.integers(0, 2)), min_size=1, max_size=9
    ),
    blocks=st.integers(7, 20),
    caching=st.booleans(),
    aborted=st.integers(0, 8),
)
def test_every_sequence_ends_with_all_its_tokens_and_no_block_is_lost(
    shapes, blocks, caching, aborted
):
    scheduler = make(blocks=blocks, seqs=4, budget=32, caching=caching)
    all_of_them = [generation(p, reply=r, base=1000 * b) for p, r, b in shapes]
    for one in all_of_them:
        scheduler.add(one)
    step(scheduler)
    victim = all_of_them[min(aborted, len(all_of_them) - 1)]
    scheduler.abort(victim)
    run(scheduler)
    assert all(g.emitted == len(g.reply) for g in all_of_them if g is not victim)
    assert scheduler.cache.free_blocks == blocks
