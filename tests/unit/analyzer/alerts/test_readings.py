"""From rows to readings: failures, queues, nightlies, hosts, the spool."""

from datetime import timedelta

import pytest
from alert_factory import MINUTE, NOW, failure, known
from factories import batch, decision_row

from gauntlet.analyzer.alerts.failures import failure_readings
from gauntlet.analyzer.alerts.machines import host_readings
from gauntlet.analyzer.alerts.model import Drained
from gauntlet.analyzer.alerts.nightlies import nightly_reading
from gauntlet.analyzer.alerts.queues import Agents, queue_readings
from gauntlet.analyzer.alerts.sources import spool_readings
from gauntlet.warehouse.spool import Spool

DAY, HOUR = timedelta(days=1), timedelta(hours=1)


HUB = {"failure_class": "upstream_hub"}
FULL = {"failure_class": "infra_capacity", "line": "write: No space left on device"}


def values(failures, usual=None):
    found = failure_readings(failures, usual or {}, NOW)
    return {each.subject.split("/")[0]: each.value for each in found}


def of_changes(*names, **changes):
    return [failure(change=name, **changes) for name in names]


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        pytest.param(of_changes("#1", "#2", "#3"), {"dependency": 3}, id="three changes"),
        pytest.param(of_changes("#1", "#1", "#1"), {"dependency": 1}, id="one change, thrice"),
        pytest.param(
            of_changes("#1") + of_changes("#2", minutes_ago=90),
            {"dependency": 1},
            id="too far apart",
        ),
        pytest.param(
            of_changes("#1", "#2", failure_class="test_regression"), {}, id="a test's own failure"
        ),
        pytest.param(
            of_changes("#1", "#2", failure_class="infra_network", line="get.nvidia.com: timed out"),
            {"dependency": 2},
            id="a package host that does not answer",
        ),
        pytest.param(
            of_changes("#1", failure_class="infra_network", line="no route to build.example.org"),
            {},
            id="a network of our own",
        ),
        pytest.param(
            [
                failure(change=c, signature=c, line=f"{c} of models.example.org: 503", **HUB)
                for c in ("#1", "#2", "#3")
            ],
            {"hub": 3},
            id="a hub is one cause whatever was asked of it",
        ),
        pytest.param(
            of_changes("#1", "#2", **FULL),
            {"disk": 2},
            id="a full disk",
        ),
        pytest.param(
            of_changes("#1", **FULL | {"failure_class": "test_regression"}),
            {},
            id="a test about full disks",
        ),
    ],
)  # fmt: skip
def test_failures_are_counted_by_what_they_share(failures, expected):
    assert values(failures) == expected


def test_a_full_disk_is_of_its_host_and_of_its_queue_where_nobody_says():
    found = failure_readings([failure(**FULL), failure(host="", **FULL)], {}, NOW)
    assert sorted(each.subject for each in found) == ["disk/l4-1-0", "disk/queue l4-1"]


def test_jobs_that_fail_in_a_tenth_of_their_time_are_fast():
    changes = [failure(job=job, change=c, failure_class="unknown", took_s=20.0)
               for job, c in (("a", "#1"), ("b", "#2"), ("b", "#3"))]  # fmt: skip
    usual = {"a": 1200.0, "b": 1200.0}
    assert values(changes, usual) == {"fast-failures": 3}
    assert values(changes, {"a": 1200.0, "b": 60.0}) == {"fast-failures": 0}
    assert values(changes[1:], usual) == {"fast-failures": 0}, "one job may be broken"
    slow = [each._replace(took_s=700.0) for each in changes]
    assert values([*slow, changes[0]._replace(took_s=None)], usual) == {}


def test_a_window_slides_so_that_a_rule_can_ask_for_how_long():
    (found,) = failure_readings(of_changes("#1", "#2", "#3", minutes_ago=62), {}, NOW)
    assert found.value == 0
    assert found.series[-2].value == 3
    assert found.series[0].at == NOW - 2 * HOUR


SIZES = {"steps": 25, "step_s": 300, "weeks": 4}


def waits(queue, minutes, ago_s=0):
    return {"queue": queue, "ago_s": ago_s, "waiting": 7, "p90_wait_s": minutes * 60}


def test_a_queue_is_read_with_its_past_its_agents_and_what_is_usual():
    rows = [waits("l4", 40), waits("l4", 30, 300)]
    rows += [waits("l4", 8 * week, 604_800 * week) for week in (1, 2, 3)]
    agents = {"l4": Agents(4, 0, 30.0), "old": Agents(4, 0, 9999.0)}
    found = queue_readings(["l4", "old"], rows, agents, NOW, **SIZES)
    by_name = {each.name: each for each in found}
    assert (by_name["l4"].value, by_name["l4"].usual) == (40.0, 12.0)
    assert [point.value for point in by_name["l4"].series[-3:]] == [0.0, 30.0, 40.0]
    assert "all 4 agents are busy; usually 12 min at this hour" in by_name["l4"].reason
    assert (by_name["old"].value, by_name["old"].usual) == (0.0, None)
    assert "nobody says how many agents it has" in by_name["old"].reason


@pytest.mark.parametrize(
    ("agents", "cause"),
    [
        (Agents(0, 0, 1.0), "queues with no agents"),
        (Agents(4, 2, 1.0), "queues with idle agents"),
        (Agents(None, None, 1.0), "queues with unknown agents"),
    ],
)
def test_what_keeps_jobs_waiting_is_the_cause(agents, cause):
    (found,) = queue_readings(["l4"], [waits("l4", 40)], {"l4": agents}, NOW, **SIZES)
    assert [each.key for each in found.causes] == [cause]


def nights(*days, hour=2):
    return [NOW.replace(hour=hour) - day * DAY for day in days]


@pytest.mark.parametrize(
    ("starts", "late_h"),
    [
        pytest.param(nights(*range(22)), 0, id="every night, tonight too"),
        pytest.param(nights(*range(1, 22)), 10, id="every night but tonight"),
        pytest.param(nights(*range(2, 22)), 34, id="two nights missed"),
        pytest.param([*nights(*range(1, 22)), NOW - HOUR], None, id="late, but it began"),
        pytest.param(nights(8, 7, 6, hour=2), 10, id="a young nightly that stopped"),
        pytest.param(nights(7, hour=2), None, id="once a week ago is no rhythm"),
        pytest.param(nights(1, 4, 9), None, id="now and then"),
        pytest.param([], None, id="never"),
    ],
)
def test_a_nightly_is_missed_by_its_own_rhythm(starts, late_h):
    found = nightly_reading("recipe a", starts, NOW)
    if late_h is None:
        assert found is None or found.value == 0
    else:
        assert found.value == late_h
        assert found.subject == "nightly/recipe/a"


def test_a_nightly_of_weekdays_is_not_missed_on_a_sunday():
    weekdays = [day for day in nights(*range(22)) if day.weekday() < 5]
    sunday = NOW - DAY
    assert sunday.weekday() == 6
    found = nightly_reading("n", [start for start in weekdays if start <= sunday], sunday)
    assert found is None or found.value == 0


def attempts(host, jobs, bad=0, ended=NOW - HOUR):
    return [
        {"queue": "l4", "host": host, "job_key": f"job-{n % 9}", "sha": f"{host}{n}",
         "ended_at": ended, "failure_class": "infra_machine" if n < bad else None}
        for n in range(jobs)
    ]  # fmt: skip


def judged(*rows, before=()):
    readings, hosts = host_readings([row for some in rows for row in some], before, NOW)
    return {each.name: each for each in readings}, hosts


PEERS = [attempts(f"h{n}", 60) for n in range(1, 8)]


def test_a_host_that_fails_more_than_its_peers_is_accused():
    found, hosts = judged(*PEERS, attempts("bad", 60, bad=12))
    assert found["bad"].value >= 0.9
    assert found["bad"].facts["accused"] is True
    assert found["h1"].value < 0.2
    assert len(hosts["l4"]) == 8


def test_a_few_failures_are_no_accusation_however_probable():
    few = [row | {"job_key": "job-0"} if row["failure_class"] else row
           for row in attempts("bad", 60, bad=12)]  # fmt: skip
    found, _ = judged(*PEERS, few)
    assert found["bad"].value == 0.5


def out(**changes):
    drained = Drained(mode="act", at=NOW - 30 * MINUTE, agents=("a",), **changes)
    return [known("host/bad", drained=drained)]


def test_a_host_that_is_out_says_nothing_until_it_has_run_enough_again():
    bad = attempts("bad", 60, bad=12)
    assert "bad" not in judged(*PEERS, bad, before=out())[0]
    few = attempts("bad", 9, ended=NOW - MINUTE)
    assert "bad" not in judged(*PEERS, bad, few, before=out())[0]
    enough = attempts("bad", 12, ended=NOW - MINUTE)
    assert judged(*PEERS, bad, enough, before=out())[0]["bad"].value < 0.2


def test_what_a_host_did_before_a_person_let_it_return_is_forgotten():
    back = out(resumed_at=NOW - 10 * MINUTE)
    found, _ = judged(*PEERS, attempts("bad", 60, bad=12), before=back)
    assert "bad" not in found
    again = attempts("bad", 40, bad=12, ended=NOW - MINUTE)
    assert judged(*PEERS, again, before=back)[0]["bad"].value >= 0.9


def test_the_spool_is_read_by_age_and_size(tmp_path):
    empty = spool_readings(tmp_path / "none", NOW)
    assert [(each.subject, each.value) for each in empty] == [("spool/main", 0), ("spool/size", 0)]
    spool = Spool(tmp_path / "spool")
    for minutes in (90, 5):
        spool.add(batch(f"b{minutes}", decision_row(), created_at=NOW - minutes * MINUTE))
    age, size = spool_readings(spool.folder, NOW)
    assert age.value == 90
    assert 0 < size.value < 1
    assert age.reason.startswith("2 batches")
    (spool.folder / "pending" / "odd.batch").write_text("x")
    assert spool_readings(spool.folder, NOW)[0].facts["batches"] == 3
