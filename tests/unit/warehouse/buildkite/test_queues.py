import pytest
from fake_buildkite import NOON

from gauntlet.warehouse.buildkite.queues import queue_samples


def sampled(payload):
    return queue_samples(payload, origin="https://agent/metrics", at=NOON)


def test_what_is_not_said_of_a_queue_is_unknown():
    (row,) = sampled({"jobs": {"queues": {"a": {"running": 0}}}})
    assert (row.jobs_running, row.jobs_waiting, row.agents_total) == (0, None, None)


def test_no_queues_are_no_rows():
    assert sampled({"jobs": {"queues": {}}, "agents": {"queues": {}}}) == []


@pytest.mark.parametrize("count", [-1, "3", 1.5, True, 2**32])
def test_a_count_that_is_none_rejects_its_queue_alone(count):
    queues = {"a": {"scheduled": count}, "b": {"scheduled": 3}}
    bad, good = sampled({"jobs": {"queues": queues}})
    assert (bad.target, bad.position) == ("queue_samples", "jobs.queues.a.scheduled")
    assert good.jobs_waiting == 3


@pytest.mark.parametrize("payload", [None, [], {}, {"jobs": []}, {"jobs": {"queues": []}}])
def test_an_answer_of_another_kind_is_rejected(payload):
    (row,) = sampled(payload)
    assert row.reasons == ("neither jobs.queues nor agents.queues is there",)


def test_a_queue_of_another_kind_is_rejected():
    (row,) = sampled({"agents": {"queues": {"\ud800": 5}}})
    assert row.position == "agents.queues.?"
