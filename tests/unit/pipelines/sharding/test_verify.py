import pytest
from unit.pipelines.sharding.factories import inventory, timings

from gauntlet.pipelines.sharding.planner import ShardPolicy, decide_inventory
from gauntlet.pipelines.sharding.receipts import (
    Receipt,
    ReceiptCommand,
    Result,
    merge_timings,
)
from gauntlet.pipelines.sharding.verify import NamedReceipt, verify

PLAN = decide_inventory(
    inventory(["a.py::t", "b.py::t"], ["a.py::t"]),
    timings({"a.py::t": 900, "b.py::t": 900}),
    ShardPolicy(),
).plan


def result(node_id, **changes):
    return Result(**({"node_id": node_id, "outcome": "passed", "seconds": 1, "runs": 1} | changes))


def honest():
    """The receipts of shards that did what the plan says, as changeable plain data."""
    return [
        {
            "schema_version": 1,
            "job": None,
            "plan_sha256": "sha",
            "shard": shard.index,
            "shards": len(PLAN.shards),
            "commands": [
                ReceiptCommand(
                    index=command.index,
                    argv=command.argv,
                    selected=ids,
                    missing=(),
                    unknown=(),
                    results=tuple(map(result, ids)),
                    exit_status=0,
                ).model_dump()
                for command in PLAN.commands
                for ids in [tuple(n for index, n in shard.tests() if index == command.index)]
            ],
        }
        for shard in PLAN.shards
    ]


def verified(receipts, sha256="sha"):
    return verify(
        PLAN,
        sha256,
        [
            NamedReceipt(file=f"{number}.json", receipt=Receipt.model_validate(receipt))
            for number, receipt in enumerate(receipts)
        ],
    )


def messages(found):
    return " | ".join(map(str, found.problems))


def test_honest_receipts_of_all_shards_are_the_proof():
    found = verified(honest())
    assert found.problems == ()
    assert (found.ran, len(PLAN.shards)) == (3, 3)


def entry(receipts):
    """The first entry that has results, and its receipt's number."""
    return next(c for r in receipts for c in r["commands"] if c["results"])


def forget_result(receipts):
    entry(receipts)["results"] = ()


def run_twice(receipts):
    entry(receipts)["results"][0]["runs"] = 2


def run_elsewhere_too(receipts):
    mine = entry(receipts)
    other = next(
        c for r in receipts for c in r["commands"] if c is not mine and c["index"] == mine["index"]
    )
    other["results"] = (*other["results"], *mine["results"])


def run_foreign(receipts):
    receipts[0]["commands"][0]["results"] = (result("new.py::t").model_dump(),)


def stop_inside(receipts):
    entry(receipts)["results"][0]["outcome"] = "unfinished"


def lose_test(receipts):
    entry(receipts)["missing"] = ("gone.py::t",)


def lose_call(receipts):
    receipts[1]["commands"] = receipts[1]["commands"][:1]


def double_call(receipts):
    receipts[1]["commands"] = [*receipts[1]["commands"], receipts[1]["commands"][0]]


def lose_receipt(receipts):
    receipts.pop()


def double_receipt(receipts):
    receipts.append(receipts[0])


def other_count(receipts):
    receipts[0]["shards"] = 7


def other_plan(receipts):
    receipts[0]["plan_sha256"] = "other"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        pytest.param(forget_result, "never ran", id="never ran"),
        pytest.param(run_twice, "ran more than once", id="twice on one shard"),
        pytest.param(run_elsewhere_too, "ran more than once", id="on two shards"),
        pytest.param(run_foreign, "no plan holds them", id="foreign"),
        pytest.param(stop_inside, "never ended", id="cut off"),
        pytest.param(lose_test, "not collected", id="missing"),
        pytest.param(lose_call, "call 2 never ended", id="call left out"),
        pytest.param(double_call, "one too many", id="call twice"),
        pytest.param(lose_receipt, "shard 2 has no receipt", id="receipt lost"),
        pytest.param(double_receipt, "second receipt", id="receipt twice"),
        pytest.param(other_count, "shard 0 of 7", id="other count"),
        pytest.param(other_plan, "of another plan", id="other plan"),
    ],
)
def test_what_is_wrong_is_named(spoil, words):
    receipts = honest()
    spoil(receipts)
    assert words in messages(verified(receipts))


def test_a_test_added_since_is_fine_where_it_ran_once():
    receipts = honest()
    for receipt in receipts:
        receipt["commands"][0]["unknown"] = ("new.py::t",)
    assert "new.py::t of call 1) never ran" in messages(verified(receipts))
    mine = receipts[0]["commands"][0]
    mine["results"] = (*mine["results"], result("new.py::t").model_dump())
    found = verified(receipts)
    assert found.problems == ()
    assert found.unknown == ((0, "new.py::t"),)


def receipt_of(*results):
    command = ReceiptCommand(
        index=0, argv=(), selected=(), missing=(), unknown=(), results=results, exit_status=0
    )
    return Receipt(
        schema_version=1, job=None, plan_sha256=None, shard=0, shards=1, commands=(command,)
    )


def test_durations_are_appended_and_their_history_is_bounded():
    past = timings({"a": [1, 2, 3], "b": [9]}, jobs={"j": (60,)})
    merged = merge_timings(past, [receipt_of(result("a", seconds=4), result("c"))], history=3)
    assert merged.tests == {"a": (2, 3, 4), "b": (9,), "c": (1,)}
    assert merged.jobs == past.jobs


@pytest.mark.parametrize("outcome", ["failed", "unfinished"])
def test_a_test_that_did_not_get_through_teaches_nothing(outcome):
    assert merge_timings(timings(), [receipt_of(result("a", outcome=outcome))]).tests == {}
