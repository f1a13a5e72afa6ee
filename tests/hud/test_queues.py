"""The page Queues: what is congested, what helps, and what is said where records are missing."""

from datetime import timedelta

import pandas as pd
import pytest
from factories import attempt_row, batch, decision_row, failure_row, queue_row
from hypothesis import given, settings
from hypothesis import strategies as st

from gauntlet.core.clock import utc_now
from gauntlet.hud.queues import charts, frames
from gauntlet.hud.queues.advice import Figures, advise
from gauntlet.hud.shell.times import Zone
from gauntlet.warehouse.store import open_store

HOSTILE = "<img src=x onerror=alert(1)> [x](javascript:y)"
MINUTE = timedelta(minutes=1)
NOW = utc_now().replace(second=0, microsecond=0)


def samples(queue, *, weeks=0, **newest):
    """Three hours of samples, the newest a minute old, and the same hours of the weeks before."""
    ages = [timedelta(minutes=10 * n + 1) for n in range(18)]
    rows = [queue_row(queue, at=NOW - age, waiting=1) for age in ages[1:]]
    rows += [
        queue_row(queue, at=NOW - timedelta(weeks=week, hours=-hour), waiting=week, idle=1)
        for week in range(1, weeks + 1)
        for hour in range(6)
    ]
    return [*rows, queue_row(queue, at=NOW - ages[0], **newest)]


def job(number, queue="gpu", *, ago, waited=5, ran=20, **changes):
    came = NOW - ago
    fields = {
        "queue": queue,
        "host": f"{queue}-{number % 2}",
        "created_at": came,
        "runnable_at": came,
        "started_at": came + waited * MINUTE,
        "finished_at": came + (waited + ran) * MINUTE,
    }
    return attempt_row("kernels", number, **{**fields, **changes})


def waiting_job(number, **changes):
    open_end = {"started_at": None, "finished_at": None, "exit_status": None, "host": ""}
    return job(number, **{"ago": number * MINUTE, "state": "scheduled", **open_end, **changes})


def history_rows():
    jobs = [job(n, ago=timedelta(minutes=20 * n + 30)) for n in range(1, 8)]
    lost = job(20, ago=timedelta(hours=2), state="failed", exit_status=-1)
    return [
        *samples("gpu", weeks=2, waiting=9, idle=0, oldest_wait_s=1800.0),
        *samples("calm"),
        *jobs,
        lost,
        failure_row(lost, "infra_machine"),
        waiting_job(30, job_name=HOSTILE),
        waiting_job(31),
        decision_row("", "alert", "host/gpu-0", outcome="sick", reason=HOSTILE, at=NOW),
        decision_row("", "alert", "host/gpu-1", outcome="open", at=NOW - MINUTE, decision_id="o"),
        decision_row("", "alert", "host/gpu-1", outcome="closed", at=NOW, decision_id="c"),
    ]


@pytest.fixture
def filled(location):
    with open_store(location) as store:
        store.insert(batch("queues", *history_rows()))
    return location


def test_an_empty_warehouse_says_how_to_fill_it(show):
    shown = show("queues")
    assert "No queue was sampled yet" in shown.text
    assert "gauntlet ingest buildkite --queues" in shown.text
    assert dict(shown.asked) == {"queues_now": 1}


def test_all_queues_at_one_look_the_congested_first(show, filled):
    shown = show("queues")
    assert "Queues congested 1 of 2" in shown.text
    assert "Jobs waiting 9" in shown.text
    assert "Oldest wait 30 min" in shown.text
    assert "Agents idle 2" in shown.text
    assert './queues?queue=gpu">gpu' in shown.text
    (table,) = shown.tables
    assert list(table["queue"]) == ["gpu", "calm"]
    assert list(table["state"]) == ["▲ congested", "○ idle"]
    assert dict(shown.asked) == {"queues_now": 1}
    wrong = show("queues", shown.reader, queue="nope")
    assert "No queue nope" in wrong.text
    assert len(wrong.tables) == 1
    assert dict(wrong.asked) == {"queues_now": 1}


def test_one_queue_with_history_forecast_advice_jobs_and_hosts(show, filled):
    shown = show("queues", queue="gpu")
    assert "9 jobs wait, 0 of 4 agents idle" in shown.text
    jobs, hosts, _ = shown.tables
    assert list(jobs["state"]) == ["scheduled", "scheduled"]
    assert list(jobs["build_number"]) == [31, 30]
    assert jobs["waits_min"].is_monotonic_decreasing
    assert jobs["job_name"].iloc[1] == HOSTILE
    by_host = hosts.set_index("host")
    assert by_host.loc["gpu-0", "mark"] == "⚑ alert"
    assert by_host.loc["gpu-0", "alert_reason"] == HOSTILE
    assert (by_host.loc["gpu-0", "attempts"], by_host.loc["gpu-0", "infra_failed"]) == (4, 1)
    assert (by_host.loc["gpu-1", "mark"], by_host.loc["gpu-1", "others_infra_share"]) == ("", 25)
    drawn = len(shown.test.get("vega_lite_chart"))
    assert drawn == 5
    wanted = ("queues_now", "queue_rates", "queue_history", "queue_week", "queue_flow")
    assert dict(shown.asked) == dict.fromkeys((*wanted, "waiting_jobs", "queue_hosts"), 1)
    assert "onerror" not in shown.text
    again = show("queues", shown.reader, queue="gpu", range="1y")
    assert sum(again.asked.values()) == 7
    assert "No range 1y; showing 7d" in again.text


def test_a_queue_of_which_little_is_known_is_drawn_with_what_there_is(show, location):
    nothing = dict.fromkeys(("agents_total", "agents_busy", "agents_idle", "jobs_running"))
    old = queue_row("quiet", at=NOW - timedelta(hours=5))
    with open_store(location) as store:
        dim = queue_row("dim", at=NOW, jobs_waiting=None, **nothing)
        store.insert(batch("partial", dim, old))
    shown = show("queues", queue="dim")
    assert "does not say how many jobs wait" in shown.text
    assert "No forecast" in shown.text
    assert "No attempts of this queue are recorded" in shown.text
    assert list(shown.tables[-1]["state"]) == ["∅ silent", "? unknown"]
    assert "has not been sampled for a while" in show("queues", shown.reader, queue="quiet").text


@pytest.mark.parametrize(
    ("figures", "level", "said"),
    [
        ({"waiting": None}, "unknown", "does not say"),
        ({"waiting": 0, "idle": 3}, "good", "Nothing to do: no job waits, 3 of 12 agents idle."),
        ({"waiting": 1, "total": 0, "idle": 0}, "act", "1 job waits and no agent is connected"),
        ({"idle": 5, "oldest_wait_s": 900.0}, "act", "although 5 agents are idle: agents may be"),
        ({"idle": 1, "oldest_wait_s": 20.0}, "good", "1 agent is idle: they are about to be taken"),
        ({"began_per_hour": None}, "watch", "no attempts are recorded"),
        ({"began_per_hour": 0.0}, "act", "no job began in the last hours"),
        ({"idle": None, "total": None}, "act", "it is not known how many agents are idle"),
        ({}, "act", "the queue is empty in 2 h. 12 more agents would halve that."),
        ({"came_per_hour": 6.0}, "act", "empty in 6 h. 4 more agents would halve that."),
        ({"came_per_hour": 9.0}, "act", "so that it does not empty."),
        ({"came_per_hour": 12.0}, "act", "4 more agents would keep up with what comes"),
        ({"waiting": 3}, "watch", "empty in 20 min"),
    ],
)  # fmt: skip
def test_advice_follows_from_the_figures(figures, level, said):
    usual = {"waiting": 18, "idle": 0, "busy": 12, "total": 12, "oldest_wait_s": 3000.0}
    rates = {"came_per_hour": 0.0, "began_per_hour": 9.0}
    advice = advise(Figures(**{**usual, **rates, **figures}))
    assert advice.level == level
    assert said in advice.text


COUNTS = st.none() | st.integers(0, 500)
# Jobs counted over three hours.
RATES = st.none() | st.integers(0, 30_000).map(lambda jobs: jobs / 3)


@settings(max_examples=50)
@given(waiting=COUNTS, idle=COUNTS, busy=COUNTS, total=COUNTS, came=RATES, began=RATES)
def test_there_is_advice_for_any_figures(waiting, idle, busy, total, came, began):
    figures = Figures(
        waiting=waiting, idle=idle, busy=busy, total=total,
        came_per_hour=came, began_per_hour=began,
    )  # fmt: skip
    advice = advise(figures)
    assert advice.text.endswith(".")
    assert "None" not in advice.text
    assert (advice.level == "unknown") == (waiting is None)


def test_steps_without_samples_are_a_gap_not_a_zero():
    steps = pd.to_datetime(["2026-01-01T10:00", "2026-01-01T10:30"], utc=True)
    numbers = ("agents_total", "agents_busy", "most_waiting", "mean_waiting", "oldest_wait_s")
    rows = pd.DataFrame({"step": steps, **{name: [3, None] for name in numbers}})
    history = frames.history(rows, 10, Zone("Europe/Berlin"))
    assert list(history["most_waiting"].isna()) == [False, True, True, True]
    assert history["when"].iloc[0] == "2026-01-01 11:00 Europe/Berlin"


def test_all_charts_of_a_queue_share_one_time_axis():
    at = pd.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03"], utc=True)
    history = pd.DataFrame({"at": at[:2], "when": "w", "most_waiting": [1, 2]})
    coming = {"at": at[1:], "when": "w", "usual_waiting": [1, 2], "high_waiting": 3, "weeks": 4}
    usual = pd.DataFrame(coming)
    axis = charts.domain(history, usual, pd.DataFrame())
    assert axis == (at[0], at[2])
    layers = charts.waiting(history, usual, "usual", axis).to_dict()["layer"]
    (domain,) = {str(layer["encoding"]["x"]["scale"]["domain"]) for layer in layers}
    assert "'date': 3" in domain
    assert len(layers) == 3
    assert len(charts.waiting(history, pd.DataFrame(), "usual", axis).to_dict()["layer"]) == 1
