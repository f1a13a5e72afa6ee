"""A small history of continuous integration that ends now, with all states and hostile names.

Nine commits. ``kernels-1`` breaks at commit 6 (7 did not run it) and still fails at 8; ``engine-1``
is flaky at 4; ``lora-1`` lost its machine at 3; ``docs-1`` only fails softly; ``deploy-1`` waits
behind a step that failed at 6; commit 9 still runs and commit 5 was not built.
"""

import json
from datetime import datetime, timedelta
from hashlib import sha1

from factories import (
    NOON,
    attempt_row,
    batch,
    build_row,
    commit_row,
    decision_row,
    failure_row,
)

from gauntlet.core.clock import utc_now
from gauntlet.warehouse.rollups import roll_up
from gauntlet.warehouse.store import Store

HOSTILE = "<img src=x onerror=alert(1)>"
MARKDOWN = "[x](javascript:alert(1))"
HOSTILE_JOB = f"{HOSTILE}&job"
LINE = "E   RuntimeError: <script>alert(2)</script>"
# The newest commit was merged an hour ago.
SHIFT = utc_now().replace(minute=0, second=0, microsecond=0) - timedelta(hours=10) - NOON


def sha_of(position):
    """A commit's id; unlike those of the factories, its beginning tells it apart."""
    return sha1(str(position).encode(), usedforsecurity=False).hexdigest()


def young(row):
    """Move a row's times so that the history ends now."""
    moved = {
        name: value + SHIFT
        for name in type(row).model_fields
        if isinstance(value := getattr(row, name), datetime)
    }
    return row.model_copy(update=moved)


def attempts():
    """Attempts, and why those that failed did."""
    found, failures = [], []

    def add(key, number, state="passed", cause="test_regression", attempt=1, **changes):
        group = changes.pop("group", key.rsplit("-", 1)[0])
        named = {"state": state, "group_key": group, "sha": sha_of(number)}
        row = attempt_row(key, number, attempt, **named, **changes)
        found.append(row)
        if state == "failed" and not row.soft_failed:
            failures.append(failure_row(row, cause, line=LINE))

    for number in (1, 2, 3, 4, 6, 7, 8):
        if number == 4:
            add("engine-1", 4, "failed", "flaky", retried=True)
        add("engine-1", number, attempt=2 if number == 4 else 1)
        if number == 3:
            add("lora-1", 3, "failed", "infra_machine", url="javascript:alert(3)")
        else:
            add("lora-1", number, url=f"https://ci.example/jobs/{number}")
        if number != 7:
            add("kernels-1", number, "failed" if number in {6, 8} else "passed", queue="h100")
            add("kernels-2", number, "failed" if number == 6 else "passed", queue="l4")
        add("docs-1", number, "failed", soft_failed=True)
        broken = {"started_at": None, "finished_at": None, "exit_status": None}
        add("deploy-1", number, **({"state": "broken", **broken} if number == 6 else {}))
        add(HOSTILE_JOB, number, group=HOSTILE)
    running = {"finished_at": None, "exit_status": None}
    add("engine-1", 9, "running", **running)
    return found, failures


def history():
    """All rows but tests and decisions."""
    jobs, failures = attempts()
    commits = [commit_row(n, sha=sha_of(n), repository="acme/engine") for n in range(1, 10)]
    hostile = {"title": HOSTILE, "author": MARKDOWN, "pull_request": 70}
    commits[6] = commits[6].model_copy(update=hostile)
    states = {6: "failed", 8: "failed", 9: "running"}
    builds = []
    for number in (1, 2, 3, 4, 6, 7, 8, 9):
        state = states.get(number, "passed")
        created = NOON + timedelta(hours=number)
        ended = None if state == "running" else created + timedelta(minutes=11)
        url = f"https://ci.example/builds/{number}"
        sha = sha_of(number)
        builds.append(build_row(number, sha=sha, state=state, finished_at=ended, url=url))
    return [young(row) for row in (*jobs, *failures, *commits, *builds)]


def fill(store: Store) -> None:
    """Put the history into a store, with results of one test, and roll it up."""
    store.insert(batch("history", *history()))
    insert_tests(store)
    roll_up(store)


def insert_tests(store: Store) -> None:
    """One test of ``kernels-1`` that fails where its job does, with a hostile message."""
    store.command("INSERT INTO tests VALUES (1, 'engine', 'tests/k.py::breaks[<b>]', 'k.py', 7)")
    results, details, days = [], [], set()
    for job in map(young, attempts()[0]):
        if job.job_key != "kernels-1":
            continue
        at = f"{job.started_at:%Y-%m-%d %H:%M:%S}"
        outcome = job.state
        days.add(job.started_at.date())
        results.append(
            f"(1, '{job.job_id}', 0, '{outcome}', 100, '{job.sha}', 'main', '{job.job_key}',"
            f" '{job.queue}', '{at}', 7)"
        )
        if outcome == "failed":
            details.append(
                f"(1, '{job.job_id}', 0, 'failed', '{HOSTILE}', '', 'k.py', 3, '{at}', 7)"
            )
    store.command(f"INSERT INTO test_results VALUES {', '.join(results)}")
    store.command(f"INSERT INTO test_details VALUES {', '.join(details)}")
    for day in sorted(days):
        store.command(
            "INSERT INTO batches VALUES"
            " ('test_results', {day: Date}, 7, 'tests', 'test', 1, now64(3))",
            {"day": day},
        )


def incident_row(subject="incident/1", outcome="open", n=0, **evidence):
    """A word about an incident, ``n`` minutes after the first."""
    said = {
        "failure_class": "test_regression",
        "signature": LINE,
        "jobs": ["kernels-1", HOSTILE_JOB],
        "first_bad": sha_of(6),
        "last_good": sha_of(4),
        "culprit": {
            "sha": sha_of(6),
            "title": HOSTILE,
            "author": MARKDOWN,
            "pull_request": 60,
            "probability": 0.93,
            "verified": True,
        },
        "revert_url": "https://ci.example/revert/6",
    }
    return decision_row(
        "",
        "incident",
        subject,
        decision_id=f"{subject}/{n}",
        outcome=outcome,
        reason=f"kernels-1 broke {HOSTILE}",
        evidence=json.dumps(said | evidence),
        at=utc_now() - timedelta(hours=2) + timedelta(minutes=n),
    )


def quarantine_row(subject, outcome="quarantined", n=0, hours=24, **changes):
    """A word about a quarantine, ``n`` minutes after the first, that ends in ``hours``."""
    fields = {
        "decision_id": f"{subject}/{n}",
        "outcome": outcome,
        "reason": f"fails too often {MARKDOWN}",
        "actor": "ann",
        "at": utc_now() - timedelta(hours=2) + timedelta(minutes=n),
        "expires_at": utc_now() + timedelta(hours=hours),
    }
    return decision_row("", "quarantine", subject, **{**fields, **changes})
