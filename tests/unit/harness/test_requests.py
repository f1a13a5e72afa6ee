import json
import subprocess
import sys

import pytest

from gauntlet.harness.load.requests import (
    plan_digest,
    random_requests,
    trace_block,
    trace_requests,
)
from gauntlet.harness.schedule import block_slots, pair_seed
from gauntlet.perf_eval.recipe import RandomWorkload
from gauntlet.perf_eval.trace import Arrival

WORKLOAD = RandomWorkload.model_validate(
    {
        "kind": "random",
        "name": "w",
        "concurrency": 2,
        "requests": 30,
        "warmup_requests": 5,
        "prompt_tokens": {"min": 10, "max": 20},
        "output_tokens": {"min": 3, "max": 5},
    }
)


def prompts(planned):
    return [tuple(json.loads(request.body)["prompt"]) for request in planned]


def test_prompts_depend_on_the_seed_alone():
    first = random_requests(WORKLOAD, model="m", seed=1)
    assert plan_digest(first) == plan_digest(random_requests(WORKLOAD, model="m", seed=1))
    assert plan_digest(first) != plan_digest(random_requests(WORKLOAD, model="m", seed=2))
    assert not set(prompts(first)) & set(prompts(random_requests(WORKLOAD, model="m", seed=2)))


def test_prompts_are_the_same_in_another_process():
    code = (
        "from unit.harness.test_requests import WORKLOAD\n"
        "from gauntlet.harness.load.requests import plan_digest, random_requests\n"
        "print(plan_digest(random_requests(WORKLOAD, model='m', seed=1)))"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(p for p in sys.path if p)}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert ended.stdout.strip() == plan_digest(random_requests(WORKLOAD, model="m", seed=1))


def test_warm_up_warms_nothing_that_counts():
    measured = prompts(random_requests(WORKLOAD, model="m", seed=1))
    warm = prompts(random_requests(WORKLOAD, model="m", seed=1, warmup=True))
    assert len(warm) == 5
    assert not {prompt[:4] for prompt in measured} & {prompt[:4] for prompt in warm}


def test_lengths_are_exact_and_within_their_ranges():
    for request in random_requests(WORKLOAD, model="m", seed=3):
        body = json.loads(request.body)
        assert len(body["prompt"]) == request.prompt_tokens in range(10, 21)
        assert body["max_tokens"] == request.output_tokens in range(3, 6)
        assert body["stream_options"] == {"include_usage": True}


def test_equal_hash_ids_give_equal_prefixes():
    arrivals = [
        Arrival(0.0, 20, 5, (1, 2, 3)),
        Arrival(0.5, 22, 5, (1, 2, 4)),
        Arrival(1, 4, 5, (1,)),
    ]
    one, two, short = prompts(trace_requests(arrivals, block_size=8, model="m", seed=1))
    assert (len(one), len(two), len(short)) == (20, 22, 4)
    assert one[:16] == two[:16]
    assert one[16:] != two[16:20]
    assert short == one[:4]
    assert trace_block(9, 4, 1) == trace_block(9, 8, 1)[:4]


def test_a_row_with_too_few_ids_is_filled_to_its_length():
    arrivals = [Arrival(0.0, 30, 5, (1,)), Arrival(0.0, 30, 5, (1,))]
    one, two = prompts(trace_requests(arrivals, block_size=8, model="m", seed=1))
    assert len(one) == len(two) == 30
    assert one[:8] == two[:8]
    assert one[8:] != two[8:]


def test_blocks_are_a_b_b_a_and_pairs_share_a_seed_of_their_own():
    slots = [slot for block in range(2) for slot in block_slots(block)]
    assert "".join(slot.side[0] for slot in slots) == "bccbbccb"
    assert [slot.pair for slot in slots] == [0, 0, 1, 1, 2, 2, 3, 3]
    assert [slot.position for slot in slots] == list(range(8))
    seeds = {pair_seed(seed, pair) for seed in range(50) for pair in range(50)}
    assert len(seeds) == 2500


@pytest.mark.parametrize("drift", [0.0, 0.01])
def test_a_linear_drift_leaves_the_mean_difference_alone(drift):
    log_speed = {slot.position: drift * slot.position for slot in block_slots(0)}
    sides = {"baseline": 0.0, "candidate": 0.0}
    for slot in block_slots(0):
        sides[slot.side] += log_speed[slot.position]
    assert sides["candidate"] == pytest.approx(sides["baseline"])
