"""Alerts of a made-up fleet: what ran goes in through the door, and comes out as alerts, once."""

import fcntl
import json
from datetime import timedelta
from uuid import uuid4

import pytest
from alert_factory import known
from factories import attempt_row, batch, build_row, decision_row, failure_row, queue_row
from fake_agents import FakeAgents
from stores import served_folder

from gauntlet.__main__ import run
from gauntlet.analyzer.acting.policy import DrainLimits, Policy
from gauntlet.analyzer.alerts.check import (
    AlertRequest,
    check_alerts,
    load_states,
    raise_for,
    resume_host,
    say,
)
from gauntlet.analyzer.alerts.layout import alert_entries, state_lines
from gauntlet.analyzer.alerts.record import silence_row
from gauntlet.core.clock import utc_now
from gauntlet.core.errors import InfrastructureError
from gauntlet.services.switch import Permit
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.location import spool_folder
from gauntlet.warehouse.spool import Spool
from gauntlet.warehouse.store import open_store

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)
NOW = utc_now().replace(microsecond=0)
YES = Permit(given=True, reason="the switch is on")


@pytest.fixture
def location(tmp_path):
    with served_folder(tmp_path / "warehouse") as folder:
        yield folder


@pytest.fixture(scope="module")
def empty(tmp_path_factory):
    with served_folder(tmp_path_factory.mktemp("empty") / "warehouse") as folder:
        yield folder


def give(location, *rows):
    deliver(location, [batch(str(uuid4()), *rows)])


def attempt(job, number, ended=5 * MINUTE, took=10 * MINUTE, **changes):
    """An attempt that ended so long ago."""
    end = NOW - ended
    times = {
        "created_at": end - took - MINUTE,
        "runnable_at": end - took - MINUTE,
        "started_at": end - took,
        "finished_at": end,
    }
    return attempt_row(job, number + 1, **times | {"host": "h1", "job_id": uuid4()} | changes)


def failed(job, number, cause, line="", **changes):
    row = attempt(job, number, **{"state": "failed", "exit_status": 1} | changes)
    return [row, failure_row(row, cause, line=line or cause, signature=f"{cause} {line}")]


def waiting(number, minutes, queue):
    since = NOW - minutes * MINUTE
    return attempt_row(
        f"waiting-{number}", number, queue=queue, state="scheduled", exit_status=None,
        created_at=since, runnable_at=since, started_at=None, finished_at=None, job_id=uuid4(),
    )  # fmt: skip


def look(location, **changes):
    return check_alerts(AlertRequest(location=location, **changes))


def told(results):
    return {each.subject: each.kind for each in results.changes}


def trouble():
    """Of everything something, within the last hours."""
    rows = [attempt("fine", n, ended=n * 5 * MINUTE, host=f"h{n}") for n in range(12)]
    rows += [attempt("long", n, ended=HOUR, took=20 * MINUTE, host="h8") for n in range(3)]
    rows += [attempt("also", n, ended=HOUR, took=20 * MINUTE, host="h8") for n in range(3)]
    rows += [waiting(n, 50, "l4") for n in range(20, 24)]
    rows.append(queue_row("l4", at=NOW - MINUTE, waiting=4, idle=0, oldest_wait_s=3000.0))
    for number in (30, 31, 32):
        rows.append(build_row(number, created_at=NOW - HOUR, pull_request=number))
        rows += failed("install", number, "dependency", "no matching distribution")
        rows += failed("load", number, "upstream_hub", f"models.example.org: 503, file {number}",
                       ended=15 * MINUTE)  # fmt: skip
    for number, job in ((40, "long"), (41, "also"), (42, "also")):
        rows += failed(job, number, "unknown", took=timedelta(seconds=20))
    for number in (50, 51):
        rows += failed("image", number, "infra_capacity", "write: no space left on device",
                       host="full")  # fmt: skip
    return rows


def test_each_source_finds_its_trouble_and_a_second_look_records_nothing(location):
    give(location, *trouble())
    assert look(location, dry_run=True).recorded == 5
    assert load_states(location).alerts == ()
    first = look(location)
    found = {subject.split("/")[0]: (subject, kind) for subject, kind in told(first).items()}
    assert found["queue-wait"] == ("queue-wait/l4", "open")
    assert found["hub"] == ("hub/models.example.org", "open")
    assert found["disk"] == ("disk/full", "open")
    assert found["fast-failures"] == ("fast-failures/gpu", "open")
    assert set(found) == {"queue-wait", "hub", "disk", "fast-failures", "dependency"}
    assert first.recorded == 5
    raise_for(first)

    again = look(location)
    assert (again.recorded, set(told(again).values())) == (0, {"still"})
    with open_store(location) as store:
        assert store.count("decisions") == 5
        rows = {row["subject"]: row for row in store.query("alert_states")}
    evidence = json.loads(rows["queue-wait/l4"]["evidence"])
    assert (evidence["owner"], evidence["unit"], evidence["threshold"]) == ("fleet", "minutes", 30)
    assert 49 < evidence["value"] < 180
    entries = {entry.key: entry for entry in alert_entries(again)}
    assert entries["queue-wait/l4"].facts[0].endswith("notify fleet")


def test_a_fleet_of_which_no_news_comes_is_not_taken_for_well(location):
    sick = decision_row("", "alert", "host/other", outcome="sick", at=NOW)
    evidence = known("disk/full", value=2.0).evidence.model_dump_json()
    full = decision_row("", "alert", "disk/full", outcome="open", at=NOW, evidence=evidence)
    give(location, attempt("fine", 1, ended=10 * HOUR), sick, full)
    old = look(location)
    assert {each.measure for each in old.unread} == {
        "bad-host", "hub-outage", "broken-dependency", "disk-pressure", "fast-failures",
        "queue-wait",
    }  # fmt: skip
    assert (told(old), old.recorded) == ({"disk/full": "stale"}, 0)
    listed = "\n".join(state_lines(load_states(location), utc_now()))
    assert "other     host/other  sick: why" in listed
    with pytest.raises(InfrastructureError, match="is `gauntlet ingest buildkite` running"):
        raise_for(old)


def test_a_nightly_build_that_did_not_begin_and_a_spool_that_grows(location):
    nights = [
        build_row(n, created_at=NOW - timedelta(days=n, hours=5), source="schedule",
                  pipeline="nightly", build_id=uuid4())
        for n in range(1, 15)
    ]  # fmt: skip
    give(location, attempt("fine", 1), *nights)
    spool = Spool(spool_folder(location))
    spool.add(batch("stuck", decision_row(), created_at=NOW - 2 * HOUR))
    results = look(location, dry_run=True)
    assert told(results) == {"nightly/nightly/main": "open", "spool/main": "open"}
    assert "nightly main was due at" in results.changes[0].reason


def test_a_silence_is_kept_and_said(location):
    full = {"host": "full", "cause": "infra_capacity", "line": "no space left on device"}
    give(location, waiting(1, 50, "l4"), *failed("a", 1, **full), *failed("b", 2, **full))
    request = AlertRequest(location=location)
    say(request, silence_row("queue-wait/*", until=NOW + HOUR, reason="known", actor="ann",
                             at=utc_now()))  # fmt: skip
    results = check_alerts(request)
    states = {each.subject: each.outcome for each in load_states(location).alerts}
    assert (states["queue-wait/l4"], states["disk/full"]) == ("silenced", "open")
    assert alert_entries(results)[-1].facts == ("queue-wait/l4",)


def machines(bad_failures=12):
    rows = []
    for host in ("h0", "h1", "h2", "h3", "h4", "bad"):
        for n in range(60):
            fails = host == "bad" and n < bad_failures
            one = {"ended": n * MINUTE, "host": host, "sha": f"{host}-{n}", "queue": "l4"}
            if fails:
                rows += failed(f"job-{n % 9}", n, "infra_machine", f"Xid 79 {n}", **one)
            else:
                rows.append(attempt(f"job-{n % 9}", n, **one))
    return rows


def policy(**changes):
    return Policy(drain=DrainLimits(**{"mode": "act", "cool_down_minutes": 0} | changes))


def test_a_bad_host_is_taken_out_once_and_returns_when_a_person_says_so(location):
    give(location, *machines())
    agents = FakeAgents("bad", "h1")
    options = {"policy": policy(), "permit": YES, "control": agents}
    dry = look(location, dry_run=True, **options)
    assert ([act.word for act in dry.acts], agents.paused()) == (["would be drained"], [])

    first = look(location, **options)
    assert (first.acts[0].word, first.recorded) == ("drained", 2)
    assert agents.paused() == ["bad-0", "bad-1"]
    with open_store(location) as store:
        rows = store.query("decisions_about", subject="host/bad")
        (shown,) = [row for row in store.query("queue_hosts", queue="l4") if row["host"] == "bad"]
    assert [row["outcome"] for row in rows] == ["open", "open"]
    assert (shown["alert"], shown["alert_reason"][:18]) == ("open", "bad was taken out ")

    again = look(location, **options)
    assert (told(again), again.acts, again.recorded) == ({"host/bad": "stale"}, (), 0)

    row, names = resume_host(
        AlertRequest(location=location, **options), "bad", actor="ann", reason="new disk"
    )
    assert (names, agents.paused(), row.actor) == (("bad-0", "bad-1"), [], "ann")
    after = look(location, **options)
    assert (after.changes, after.acts) == ((), ())
    with open_store(location) as store:
        (shown,) = [row for row in store.query("queue_hosts", queue="l4") if row["host"] == "bad"]
    assert shown["alert"] is None


def test_without_leave_a_bad_host_is_told_once(location):
    give(location, *machines())
    agents = FakeAgents("bad")
    first = look(location, policy=policy(), control=agents)
    assert [(act.word, act.stops) for act in first.acts] == [("notify", ("nobody was asked",))]
    again = look(location, policy=policy(), control=agents)
    assert (again.acts, again.recorded, agents.paused()) == ((), 0, [])


def test_agents_that_cannot_be_reached_are_tried_again_and_said_once(location):
    give(location, *machines())
    agents = FakeAgents("bad")
    agents.broken = True
    options = {"policy": policy(), "permit": YES, "control": agents}
    assert [look(location, **options).recorded for _ in range(3)] == [2, 0, 0]
    with pytest.raises(Exception, match="host bad: agents: 502") as caught:
        raise_for(look(location, **options))
    assert caught.value.exit_code == 7
    agents.broken = False
    assert look(location, **options).acts[0].word == "drained"


def test_a_host_returns_by_itself_only_where_the_policy_says_so(location):
    give(location, *machines())
    agents = FakeAgents("bad")
    options = {"permit": YES, "control": agents}
    look(location, policy=policy(), **options)
    since = utc_now()
    again = {"host": "bad", "queue": "l4", "finished_at": since}
    give(location, *(attempt(f"job-{n}", n, sha=f"again-{n}", **again) for n in range(12)))
    kept = look(location, policy=policy(), **options)
    assert (told(kept), kept.acts) == ({"host/bad": "close"}, ())
    assert "out       host/bad" in "\n".join(state_lines(load_states(location), utc_now()))
    back = look(location, policy=policy(auto_resume=True), **options)
    assert ([act.word for act in back.acts], agents.paused()) == (["returned"], [])


# As a stranger.


def gauntlet(capsys, location, *arguments):
    status = run(["alerts", *arguments, "--warehouse", location])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_the_command_looks_lists_silences_and_closes(location, capsys):
    give(location, *trouble())
    status, out, err = gauntlet(capsys, location, "check")
    assert (status, err.strip()) == (0, "5 recorded, 5 open")
    assert "open      queue-wait/l4  4 jobs wait on l4" in out
    assert "notify fleet: Are agents connected" in out
    assert len(json.loads(gauntlet(capsys, location, "--json")[1])["alerts"]) == 5
    silenced = gauntlet(capsys, location, "silence", "disk/*", "--for", "4h", "--reason", "known")
    assert silenced[0] == 0
    assert "silence   disk/*  until" in gauntlet(capsys, location)[1]
    again = json.loads(gauntlet(capsys, location, "check", "--json")[1])
    kinds = {each["subject"]: each["change"] for each in again["alerts"]}
    assert (kinds["disk/full"], kinds["queue-wait/l4"]) == ("silence", "still")
    assert gauntlet(capsys, location, "unsilence", "disk/*")[0] == 0
    assert "unsilence disk/full" in gauntlet(capsys, location, "check")[1]
    assert gauntlet(capsys, location, "close", "disk/full", "--reason", "pruned")[0] == 0
    assert "disk/full" not in gauntlet(capsys, location)[1]


def test_a_policy_lets_the_command_take_a_host_out_and_bring_it_back(location, capsys, tmp_path):
    give(location, *machines())
    switch = tmp_path / "switch"
    out = tmp_path / "bad.out"
    file = tmp_path / "policy.yaml"
    file.write_text(
        f"switch: {{file: {switch}}}\n"
        f"drain:\n  mode: act\n  command: [touch, '{tmp_path}/{{host}}.out']\n"
        f"  resume_command: [rm, '{tmp_path}/{{host}}.out']\n"
    )
    held = gauntlet(capsys, location, "check", "--policy", str(file))
    assert (held[0], out.exists()) == (0, False)
    assert f"notify    host bad (the switch {switch} cannot be read" in held[1]
    switch.write_text("on")
    done = gauntlet(capsys, location, "check", "--policy", str(file))
    assert (done[0], out.exists()) == (0, True)
    assert "drained   host bad" in done[1]
    assert "out       host/bad  gauntlet alerts resume bad" in gauntlet(capsys, location)[1]
    blind = gauntlet(capsys, location, "resume", "bad")
    assert (blind[0], out.exists()) == (4, True)
    assert "the policy does not say what brings it back" in blind[2]
    back = gauntlet(capsys, location, "resume", "bad", "--policy", str(file))
    assert (back[:2], out.exists()) == ((0, "bad returns: bad\n"), False)
    assert gauntlet(capsys, location)[1] == "no alert is open\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("silence", "x", "--for", "soon", "--reason", "r"), "--for: 'soon' is no duration"),
        (("silence", "x", "--for", "4h", "--reason", " "), "--reason is empty"),
        (("unsilence", "x"), "unknown silence 'x'"),
        (("close", "disk/x", "--reason", "r"), "unknown open alert 'disk/x'"),
        (("resume", "h9"), "unknown open alert 'host/h9'"),
        (("check", "--rules", "none.yaml"), "none.yaml"),
    ],
)
def test_a_wrong_word_ends_in_2_and_says_what_is_wrong(empty, capsys, arguments, said):
    status, _, err = gauntlet(capsys, empty, *arguments)
    assert status == 2
    assert said in err


def test_an_empty_warehouse_ends_in_4_and_says_what_is_missing(empty, capsys):
    for more in ((), ("--dry-run",)):
        status, out, err = gauntlet(capsys, empty, "check", *more)
        assert status == 4
    assert "not read  bad-host" in out
    assert "the warehouse has no job of the last 14 days" in err
    assert "hint: alerts of these stay as they were" in err


def test_two_looks_at_once_are_one(empty, capsys):
    lock = spool_folder(empty).with_name(f"{spool_folder(empty).name}-alerts.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        status, _, err = gauntlet(capsys, empty, "check")
    assert status == 4
    assert "another look at the alerts of" in err


def test_a_store_that_is_not_there_ends_in_7(capsys):
    status, _, err = gauntlet(capsys, "http://127.0.0.1:9/none", "check")
    assert (status, "no ClickHouse server" in err) == (7, True)
