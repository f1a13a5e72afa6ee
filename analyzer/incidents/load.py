"""The history of a branch, and what was recorded of its incidents, from a warehouse."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.environment import Environment
from gauntlet.analyzer.incidents.history import History, Run, outcome_of
from gauntlet.analyzer.incidents.incident import Recorded
from gauntlet.core.errors import UsageError
from gauntlet.warehouse.store import Store


class _Tests(NamedTuple):
    failing: set[str]
    passing: set[str]


def load_history(store: Store, *, branch: str, commits: int, now: datetime) -> History:
    """Read the newest commits of a branch and what ran at them.

    Raises UsageError where the warehouse has no commit of it: nobody could say what came first.
    """
    known = [_commit(row) for row in store.query("branch_commits", branch=branch, commits=commits)]
    if not known:
        hint = "gauntlet ingest git REPOSITORY, so that the order of merges is known"
        raise UsageError(f"the warehouse has no commit of {branch}", hint=hint)
    tests: dict[str, _Tests] = defaultdict(lambda: _Tests(set(), set()))
    for row in store.query("branch_tests", branch=branch, commits=commits):
        found = tests[str(row["job_id"])]
        # A test that failed and passed in one attempt passed when it was tried again.
        if row["nodeid"]:
            (found.passing if row["passed"] else found.failing).add(str(row["nodeid"]))
    runs = (_run(row, tests) for row in store.query("branch_runs", branch=branch, commits=commits))
    return History.of(known, (run for run in runs if run is not None), now)


def load_recorded(store: Store, *, days: int = 365) -> list[Recorded]:
    """Read the newest word about each incident of the last days; one that goes on adds none."""
    return [
        Recorded(
            incident_id=str(row["subject"]),
            outcome=str(row["outcome"]),
            reason=str(row["reason"]),
            at=row["at"],
            evidence=_evidence(str(row["evidence"])),
        )
        for row in store.query("known_incidents", days=days)
    ]


def load_environments(store: Store, job_ids: Iterable[str]) -> dict[str, Environment]:
    """Read what attempts ran with, by the id of the attempt; those not recorded are not there."""
    wanted = sorted(set(job_ids))
    if not wanted:
        return {}
    things: dict[str, dict[tuple[str, str], str]] = defaultdict(dict)
    released: dict[str, dict[tuple[str, str], datetime]] = defaultdict(dict)
    at: dict[str, datetime] = {}
    for row in store.query("environments_of", job_ids=",".join(wanted)):
        job, key = str(row["job_id"]), (str(row["kind"]), str(row["name"]))
        things[job][key] = str(row["version"])
        at[job] = max(at.get(job, row["at"]), row["at"])
        if row["released_at"] is not None:
            released[job][key] = row["released_at"]
    return {
        job: Environment(job_id=job, at=at[job], things=found, released_at=released[job])
        for job, found in things.items()
    }


def turned_bad(history: History) -> set[str]:
    """Ids of attempts at commits where a job both passed and failed: their environments matter."""
    ids: dict[tuple[str, str], dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for run in history.runs:
        ids[run.job_key, run.sha][run.outcome].add(run.job_id)
    both = (found for found in ids.values() if found["passed"] and found["failed"])
    return {job for found in both for job in (*found["passed"], *found["failed"])}


def _commit(row: Mapping[str, Any]) -> Commit:
    return Commit(
        sha=str(row["sha"]),
        title=str(row["title"]),
        author=str(row["author"]),
        committed_at=row["committed_at"],
        pull_request=row["pull_request"],
        paths=tuple(row["paths"]),
        reverts=row["reverts"],
    )


def _run(row: Mapping[str, Any], tests: Mapping[str, _Tests]) -> Run | None:
    outcome = outcome_of(
        str(row["state"]),
        soft_failed=bool(row["soft_failed"]),
        failure_class=str(row["failure_class"]),
        wrong_exit_code=bool(row["wrong_exit_code"]),
    )
    if outcome is None:
        return None
    job_id = str(row["job_id"])
    reported = job_id in tests
    found = tests[job_id] if reported else _Tests(set(), set())
    return Run(
        job_id=job_id,
        job_key=str(row["job_key"]),
        sha=str(row["sha"]),
        at=row["at"],
        outcome=outcome,
        shard=row["shard"],
        group_key=str(row["group_key"]),
        queue=str(row["queue"]),
        host=str(row["host"]),
        failure_class=str(row["failure_class"]),
        signature=str(row["signature"]),
        line=str(row["line"]),
        failing=frozenset(found.failing) if outcome == "failed" else frozenset(),
        passing=frozenset(found.passing),
        reported=reported,
        url=str(row["url"]),
        build_number=row["build_number"],
    )


def _evidence(text: str) -> Mapping[str, Any]:
    """The evidence of a decision; one that is no JSON object was written by a person."""
    try:
        value = json.loads(text)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
