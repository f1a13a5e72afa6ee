"""Bad machines among their peers."""

import numpy as np
import pytest

from gauntlet.analyzer.flakes.hosts import HostAttempt, judge_hosts


def fleet(hosts=30, runs=60, jobs=10, failing=(), rate=0.01, seed=1, cause="infra_machine"):
    """Attempts of a fleet; hosts named in ``failing`` fail every fifth time."""
    rng = np.random.default_rng(seed)
    return [
        HostAttempt(
            f"h{host}", f"j{run % jobs}", f"c{run}-{host}",
            cause if rng.random() < (0.2 if host in failing else rate) else None,
        )
        for host in range(hosts)
        for run in range(runs)
    ]  # fmt: skip


def accused(attempts):
    return [host.host for host in judge_hosts(attempts) if host.accused]


def test_the_bad_host_is_accused_and_nobody_else():
    judged = judge_hosts(fleet(failing={7}))
    assert [host.host for host in judged if host.accused] == ["h7"]
    assert judged[0].expected < 3 < judged[0].failures
    assert "its peers would have failed" in judged[0].reason
    assert all(host.cleared for host in judged[5:])


@pytest.mark.parametrize("rate", [0.0, 0.02, 0.2])
def test_a_fleet_that_fails_alike_accuses_nobody(rate):
    assert accused(fleet(rate=rate)) == []


def test_a_job_that_is_broken_everywhere_accuses_nobody():
    broken = [
        HostAttempt(f"h{host}", f"j{job}", "c", "timeout") for host in range(3) for job in range(5)
    ]
    assert accused(fleet() + broken) == []


def test_one_job_that_fails_on_one_host_is_the_jobs_fault():
    one = [HostAttempt("h3", "j1", f"x{n}", "unknown") for n in range(10)]
    judged = {host.host: host for host in judge_hosts(fleet(rate=0) + one)}
    assert not judged["h3"].accused
    assert "an accusation needs" in judged["h3"].reason


def test_failures_that_no_machine_causes_do_not_count():
    assert accused(fleet(failing={7}, cause="test_regression")) == []


def test_the_busiest_host_is_not_the_worst():
    busy = [HostAttempt("h0", f"j{n % 10}", f"b{n}", "timeout" if n % 100 == 0 else None)
            for n in range(1500)]  # fmt: skip
    assert accused(fleet() + busy) == []


def test_without_peers_nothing_is_said():
    judged = judge_hosts(fleet(hosts=2, failing={0}))
    assert {host.probability for host in judged} == {None}
    assert not any(host.accused or host.cleared for host in judged)
    assert judge_hosts([]) == []
