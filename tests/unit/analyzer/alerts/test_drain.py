"""Which hosts are taken out, and how far that goes."""

from datetime import timedelta

import pytest
from alert_factory import MINUTE, NOW, known, reading
from fake_agents import FakeAgents

from gauntlet.analyzer.acting.policy import DrainLimits
from gauntlet.analyzer.alerts.control import CommandControl
from gauntlet.analyzer.alerts.drain import let_return, plan_drains, take_out
from gauntlet.analyzer.alerts.hysteresis import judge
from gauntlet.analyzer.alerts.model import Drained, Silence
from gauntlet.analyzer.alerts.rules import load_rules
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.core.proc import CommandError
from gauntlet.services.switch import Permit

YES = Permit(given=True, reason="the switch is on")
NO = Permit(given=False, reason="the switch says 'off'")
HOSTS = {"l4": {f"h{n}" for n in range(20)}}


SILENCE = Silence(pattern="host/*", until=NOW + MINUTE, reason="r", owner="o", at=NOW)


def limits(**changes):
    return DrainLimits(**{"mode": "act", "cool_down_minutes": 0, "per_day": 9} | changes)


def bad(host, chance=0.97, **changes):
    return reading("bad-host", host, chance, facts={"accused": True}, **changes)


def plans(*readings, before=(), given=None, permit=YES, hosts=None, silences=()):
    found = judge(readings, known=before, rules=load_rules(), silences=silences, now=NOW)
    return plan_drains(found, before, hosts or HOSTS, given or limits(), permit, NOW)


def out(host, at=NOW - timedelta(hours=2), **changes):
    drained = Drained(**{"mode": "act", "at": at, "agents": ("a",)} | changes)
    return known(f"host/{host}", drained=drained)


def test_an_accused_host_is_taken_out_where_policy_and_switch_agree():
    (plan,) = plans(bad("h1"))
    assert (plan.host, plan.leave.mode, plan.leave.stops) == ("h1", "act", ())


@pytest.mark.parametrize("mode", ["shadow", "notify"])
def test_other_modes_go_no_further(mode):
    (plan,) = plans(bad("h1"), given=limits(mode=mode))
    assert plan.leave.mode == mode


@pytest.mark.parametrize(
    ("options", "stop"),
    [
        ({"permit": NO}, "the switch says 'off'"),
        ({"given": limits(per_day=0)}, "0 of at most 0 in 24 hours were done"),
        ({"hosts": {"other": {"h9"}}}, "nobody knows which queue it serves"),
        (
            {"silences": [SILENCE]},
            "its alert is silenced",
        ),
        (
            {"before": [out("h5"), out("h6")]},
            "2 of 20 hosts of l4 are out; at most 2 may be",
        ),
        (
            {"before": [out("h5", at=NOW - 5 * MINUTE)], "given": limits(cool_down_minutes=60)},
            "the last one was at 11:55 UTC: wait 60 minutes",
        ),
    ],
    ids=["switch", "daily cap", "unknown queue", "silenced", "share of the queue", "cool-down"],
)  # fmt: skip
def test_a_rail_that_stops_it_is_named(options, stop):
    (plan,) = plans(bad("h1"), **options)
    assert plan.leave.mode == "notify"
    assert stop in plan.leave.stops


def test_one_host_may_always_be_out_and_never_a_second_of_a_small_queue():
    small = {"l4": {"h1", "h2", "h3"}}
    found = plans(bad("h1", 0.95), bad("h2", 0.99), hosts=small)
    assert [(plan.host, plan.leave.mode) for plan in found] == [("h2", "act"), ("h1", "notify")]


def test_hosts_that_returned_or_whose_pause_ended_are_not_out():
    back = [out("h5", resumed_at=NOW - MINUTE), out("h6", until=NOW - MINUTE), out("h7")]
    (plan,) = plans(bad("h1"), before=back)
    assert plan.leave.mode == "act"


def test_a_host_that_is_out_or_only_stale_is_not_taken_out_again():
    assert plans(bad("h1"), before=[out("h1")]) == []
    assert plans(before=[known("host/h2")]) == []


def test_what_was_told_is_not_told_again_but_done_when_the_policy_allows_it():
    told = [known("host/h1", drained=Drained(mode="notify", at=NOW - MINUTE))]
    assert plans(bad("h1"), before=told, given=limits(mode="notify")) == []
    (plan,) = plans(bad("h1"), before=told)
    assert plan.leave.may_act


def test_all_agents_of_the_host_are_paused_with_a_note():
    agents = FakeAgents("h1", "h2")
    (plan,) = plans(bad("h1"))
    done = take_out(plan, agents, limits(pause_minutes=60), NOW)
    assert (done.mode, done.agents) == ("act", ("h1-0", "h1-1"))
    assert done.until == NOW + timedelta(hours=1)
    assert agents.paused() == ["h1-0", "h1-1"]
    assert agents.notes[0].startswith("gauntlet: bad-host of h1")
    assert let_return("h1", agents) == ("h1-0", "h1-1")
    assert agents.paused() == []


def test_a_run_that_was_cut_short_is_continued():
    agents = FakeAgents("h1")
    (plan,) = plans(bad("h1"))
    agents.pause(agents.agents["h1-id-0"], "")
    done = take_out(plan, agents, limits(), NOW)
    assert (done.agents, len(agents.notes)) == (("h1-0", "h1-1"), 2)


def test_an_answer_that_was_lost_is_looked_up():
    agents = FakeAgents("h1", each=1)
    agents.unsure = True
    (plan,) = plans(bad("h1"))
    done = take_out(plan, agents, limits(), NOW)
    assert (done.mode, done.agents) == ("act", ("h1-0",))
    assert "whether it was done is not known" in done.stops[0]


def test_what_cannot_be_reached_is_told_and_not_taken_for_done():
    agents = FakeAgents("h1")
    agents.broken = True
    (plan,) = plans(bad("h1"))
    done = take_out(plan, agents, limits(), NOW)
    assert (done.mode, done.agents, done.stops) == ("notify", (), ("agents: 502 Bad Gateway",))
    assert take_out(plan, FakeAgents(), limits(), NOW).stops == ("no agent of it is connected",)
    assert take_out(plan, None, limits(), NOW).mode == "notify"
    with pytest.raises(ExternalServiceError):
        let_return("h1", agents)


def test_a_command_takes_a_host_out_and_brings_it_back(tmp_path):
    given = limits(
        command=("touch", f"{tmp_path}/{{host}}"), resume_command=("rm", f"{tmp_path}/{{host}}")
    )
    control = CommandControl(given.command, given.resume_command)
    (plan,) = plans(bad("h1"))
    done = take_out(plan, control, given, NOW)
    assert (done.mode, done.until, (tmp_path / "h1").exists()) == ("act", None, True)
    let_return("h1", control)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(UsageError, match=r"drain\.resume_command is empty"):
        let_return("h1", CommandControl(given.command))


def test_a_command_that_fails_or_hangs_is_told():
    (plan,) = plans(bad("h1"))
    assert "exit status 1" in take_out(plan, CommandControl(["false"]), limits(), NOW).stops[0]
    slow = CommandControl(["sleep", "60"], timeout_s=0.2)
    with pytest.raises(CommandError, match="killed"):
        slow.pause(slow.agents_of("h1")[0], "")


def test_a_host_whose_name_is_an_option_is_given_to_no_command():
    (plan,) = plans(bad("--all"), hosts={"l4": {"--all"}})
    done = take_out(plan, CommandControl(["echo", "{host}"]), limits(), NOW)
    assert (done.mode, done.stops) == (
        "notify", ("'--all' is no name of a host that a command could be given",)
    )  # fmt: skip
