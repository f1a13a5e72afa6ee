import itertools
import json
import subprocess
import sys

import pytest

from gauntlet.core.errors import ConfigError
from gauntlet.harness.load.prompts import plan_requests
from gauntlet.harness.load.requests import Ask, chains_of, plan_digest
from gauntlet.harness.load.trace_prompts import (
    ideal_hit_share,
    ideal_shared_tokens,
    trace_block,
    trace_prompt,
)
from gauntlet.harness.measure_load import schedule_of
from gauntlet.harness.provenance import config_fingerprint
from gauntlet.harness.schedule import block_slots, pair_seed
from gauntlet.perf_eval.trace import Arrival, read_trace, slice_rows
from gauntlet.perf_eval.workloads import Workload


def workload(prompts, **fields):
    arrivals = {"kind": "closed", "concurrency": 2}
    base = {"name": "w", "arrivals": arrivals, "prompts": prompts, "requests": 30}
    return Workload.model_validate(base | fields)


RANDOM = {
    "kind": "random",
    "prompt_tokens": {"min": 10, "max": 20},
    "output_tokens": {"min": 3, "max": 5},
}
WORKLOAD = workload(RANDOM, warmup_requests=5)


def plan(of, seed=1, **fields):
    return plan_requests(of, model="m", seed=seed, **fields)


def prompts(planned):
    return [tuple(json.loads(request.body)["prompt"]) for request in planned]


def test_prompts_depend_on_the_seed_alone():
    first = plan(WORKLOAD, seed=1)
    assert plan_digest(first) == plan_digest(plan(WORKLOAD, seed=1))
    assert plan_digest(first) != plan_digest(plan(WORKLOAD, seed=2))
    assert not set(prompts(first)) & set(prompts(plan(WORKLOAD, seed=2)))


def test_prompts_are_the_same_in_another_process():
    code = (
        "from unit.harness.test_requests import WORKLOAD, plan\n"
        "from gauntlet.harness.load.requests import plan_digest\n"
        "print(plan_digest(plan(WORKLOAD)))"
    )
    environment = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(p for p in sys.path if p)}
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert ended.stdout.strip() == plan_digest(plan(WORKLOAD, seed=1))


def test_warm_up_warms_nothing_that_counts():
    measured = prompts(plan(WORKLOAD, seed=1))
    warm = prompts(plan(WORKLOAD, warmup=True))
    assert len(warm) == 5
    assert not {prompt[:4] for prompt in measured} & {prompt[:4] for prompt in warm}


def test_lengths_are_exact_and_within_their_ranges():
    for request in plan(WORKLOAD, seed=3):
        body = json.loads(request.body)
        assert len(body["prompt"]) == request.prompt_tokens in range(10, 21)
        assert body["max_tokens"] == request.output_tokens in range(3, 6)
        assert body["stream_options"] == {"include_usage": True}


def trace_prompts_of(arrivals, block_size=8, identity="t", seed=1):
    return [
        trace_prompt(arrival, block_size, identity, seed, index)
        for index, arrival in enumerate(arrivals)
    ]


def test_equal_hash_ids_give_equal_prefixes():
    arrivals = [
        Arrival(0.0, 20, 5, (1, 2, 3)),
        Arrival(0.5, 22, 5, (1, 2, 4)),
        Arrival(1, 4, 5, (1,)),
    ]
    one, two, short = trace_prompts_of(arrivals)
    assert (len(one), len(two), len(short)) == (20, 22, 4)
    assert one[:16] == two[:16]
    assert one[16:] != two[16:20]
    assert short == one[:4]
    assert trace_block(9, 4, "t", 1) == trace_block(9, 8, "t", 1)[:4]


def test_two_traces_that_number_alike_share_no_block():
    assert trace_block(1, 16, "one trace", 1) != trace_block(1, 16, "another", 1)


def test_a_row_with_too_few_ids_is_filled_to_its_length():
    one, two = trace_prompts_of([Arrival(0.0, 30, 5, (1,)), Arrival(0.0, 30, 5, (1,))])
    assert len(one) == len(two) == 30
    assert one[:8] == two[:8]
    assert one[8:] != two[8:]


def test_the_ideal_cache_hits_whole_leading_blocks_that_were_sent_before():
    arrivals = [
        Arrival(0, 20, 1, (1, 2, 3)),  # nothing was sent before
        Arrival(0, 24, 1, (1, 2, 4)),  # two blocks
        Arrival(0, 24, 1, (1, 9, 4)),  # one: the third follows another second
        Arrival(0, 16, 1, (1, 2)),  # all but the last token, which is computed anew
    ]
    assert ideal_shared_tokens(arrivals, 8) == [0, 16, 8, 15]


SHARED = {
    "kind": "shared_prefix",
    "groups": 3,
    "prefix_tokens": 32,
    "suffix_tokens": 8,
    "output_tokens": 4,
}


def test_prefixes_are_shared_within_a_group_only():
    planned = plan(workload(SHARED))
    heads = {prompt[:32] for prompt in prompts(planned)}
    assert len(heads) == 3
    assert len({prompt[32:] for prompt in prompts(planned)}) == 30
    assert ideal_hit_share(planned) == pytest.approx(27 * 32 / (30 * 40))


CONVERSATION = {
    "kind": "conversation",
    "turns": {"min": 2, "max": 4},
    "system_tokens": 6,
    "turn_tokens": {"min": 3, "max": 5},
    "output_tokens": 7,
    "think_s": [0.5, 1.5],
}


def test_a_turn_sends_all_turns_before_it():
    planned = plan(workload(CONVERSATION))
    assert len(planned) == 30
    for chain in chains_of(planned):
        sent = prompts(chain)
        for before, after in itertools.pairwise(sent):
            assert after[: len(before)] == before
            assert 7 + 3 <= len(after) - len(before) <= 7 + 5
        assert chain[0].think_s == 0.0
        assert all(0.5 <= request.think_s <= 1.5 for request in chain[1:])
        assert [request.shared_tokens for request in chain[1:]] == [len(p) for p in sent[:-1]]


@pytest.mark.parametrize(
    ("row", "text"),
    [
        pytest.param({"prompt": "hello"}, "hello", id="text"),
        pytest.param({"prompt_token_ids": [5, 6, 7]}, [5, 6, 7], id="ids"),
    ],
)
def test_rows_of_a_file_are_sent_as_they_are(tmp_path, row, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(row | {"max_tokens": 9}) + "\n")
    (request,) = plan(workload({"kind": "jsonl", "file": str(path)}, requests=None))
    assert json.loads(request.body)["prompt"] == text
    assert (request.output_tokens, request.exact) == (9, False)
    assert request.prompt_tokens == (None if isinstance(text, str) else 3)


def test_a_file_with_too_few_rows_is_an_error_not_a_shorter_load(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a"}\n{"prompt": "b"}\n')
    with pytest.raises(ConfigError, match="30 requests asked, the prompts of w have 2"):
        plan(workload({"kind": "jsonl", "file": str(path)}))


def test_a_row_with_two_prompts_is_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"prompt": "a"}\n{"prompt": "b", "messages": [{"role": "user"}]}\n')
    with pytest.raises(ConfigError, match=r"rows.jsonl:2: .*exactly one of"):
        plan(workload({"kind": "jsonl", "file": str(path)}, requests=None))


def test_sharegpt_takes_what_a_person_opens_with(tmp_path):
    path = tmp_path / "chat.json"
    rows = [
        {
            "id": "1",
            "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Yo"}],
        },
        {"conversations": [{"from": "gpt", "value": "I begin"}]},
        {"conversations": []},
    ]
    path.write_text(json.dumps(rows))
    made = workload(
        {"kind": "sharegpt", "file": str(path), "output_tokens": 5}, requests=None, endpoint="chat"
    )
    (request,) = plan(made)
    assert json.loads(request.body)["messages"] == [{"role": "user", "content": "Hi"}]
    assert "ignore_eos" not in json.loads(request.body)


@pytest.mark.parametrize("form", ["gsm8k", "bfcl"])
def test_questions_of_an_accuracy_set_are_load(form):
    source = {"generate": 40, "seed": 3}
    made = workload({"kind": "questions", "format": form, "source": source})
    texts = [json.loads(request.body)["prompt"] for request in plan(made)]
    assert len(set(texts)) == 30
    assert set(texts) == {json.loads(r.body)["prompt"] for r in plan(made)}
    assert texts != [json.loads(r.body)["prompt"] for r in plan(made, seed=2)]


def test_a_file_of_token_ids_for_the_chat_endpoint_is_a_mistake_in_the_recipe(tmp_path):
    path = tmp_path / "ids.jsonl"
    path.write_text('{"prompt_token_ids": [5, 6]}\n')
    chat = workload({"kind": "jsonl", "file": str(path)}, requests=None, endpoint="chat")
    with pytest.raises(ConfigError, match=r"workloads.w.endpoint: .*text, not token ids"):
        plan(chat)


def test_token_ids_do_not_go_to_the_chat_endpoint():
    with pytest.raises(ValueError, match="takes text, not token ids"):
        Ask(model="m", chat=True).body([1, 2], 3, exact=True)


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


def test_a_rate_over_a_trace_is_a_rate_not_a_multiplier():
    """A hundred rows at 1,000 a second take a tenth of a second, whatever their timestamps say."""
    trace = {"kind": "trace", "source": {"generate": 200, "seed": 2}, "rows": 100}
    constant = workload(trace, requests=None, arrivals={"kind": "constant", "rate": 1000})
    planned = plan(constant)
    made = schedule_of(constant, planned, seed=1)
    assert made.due_s == pytest.approx([n / 1000 for n in range(100)])
    timed = workload(trace, requests=None, arrivals={"kind": "timed", "time_scale": 0.5})
    last = schedule_of(timed, planned, seed=1).due_s[-1]
    assert last == pytest.approx(planned[-1].due_s / 2)
    with pytest.raises(ValueError, match="rate"):
        workload(trace, requests=None, arrivals={"kind": "timed", "rate": 1000})


def test_a_trace_without_timestamps_is_not_sent_all_at_once(tmp_path):
    path = tmp_path / "agentic.jsonl"
    row = {"input_length": 900, "output_length": 4, "hash_ids": [1, 2]}
    path.write_text("".join(json.dumps(row) + "\n" for _ in range(5)))
    trace = {"kind": "trace", "source": {"file": str(path)}}
    assert len(plan(workload(trace, requests=None))) == 5
    timed = workload(trace, requests=None, arrivals={"kind": "timed"})
    with pytest.raises(ConfigError, match="5 of 5 requests have no timestamp"):
        schedule_of(timed, plan(timed), seed=1)


def test_a_pointer_to_a_trace_is_not_a_trace(tmp_path):
    path = tmp_path / "pointer.jsonl"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n")
    with pytest.raises(ConfigError, match="Git LFS pointer"):
        plan(workload({"kind": "trace", "source": {"file": str(path)}}, requests=None))


@pytest.mark.parametrize(
    ("name", "hit"), [("conversation", (0.2, 0.45)), ("synthetic", (0.25, 0.7))]
)
def test_real_traces_have_the_prefixes_that_their_authors_count(shared, name, hit):
    """36.6 % and 64.0 % of blocks over the whole files; these are the first 2,000 rows."""
    rows = read_trace(shared / "data" / "traces" / f"mooncake_fast25_{name}_head2000.jsonl")
    assert all(len(row.hash_ids) == -(-row.input_length // 512) for row in rows)
    arrivals = slice_rows(rows)
    shared_tokens = ideal_shared_tokens(arrivals, 512)
    blocks = sum(len(row.hash_ids) for row in rows)
    assert hit[0] < sum(shared_tokens) / 512 / blocks < hit[1]
    assert arrivals[0].at_s == 0.0


def test_the_environment_is_part_of_what_is_comparable():
    def fingerprint(threads):
        return config_fingerprint(
            workload={}, dataset_digest="d", engine_kind="vllm", model="m", client="c",
            client_version="1", env={"OMP_NUM_THREADS": threads, "HOME": "/root"},
        )  # fmt: skip

    assert fingerprint("1") != fingerprint("8")
    assert fingerprint("1") == fingerprint("1")
