"""Read histories, quarantines and owners from the warehouse."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from gauntlet.analyzer.flakes.codeowners import OwnerRule, owners_of, read_codeowners
from gauntlet.analyzer.flakes.found import Flake, Recorded, judge_all, recorded_jobs, recorded_tests
from gauntlet.analyzer.flakes.names import covers
from gauntlet.analyzer.flakes.quarantine import Quarantine, open_quarantines
from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import read_text
from gauntlet.warehouse.store import Store

RUNS = 200
"""How many of its newest runs a history is judged by."""
KEPT_DAYS = 30
"""How long the store keeps whole test results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakesRequest:
    """What is asked: a branch, a window, at most so many tests, and a CODEOWNERS file."""

    branch: str = "main"
    days: int = 14
    limit: int = 2000
    codeowners: Path | None = None


def read_flakes(store: Store, request: FlakesRequest, now: datetime) -> list[Flake]:
    """Judge all tests and jobs that failed in the window, the costliest first."""
    window = {"branch": request.branch, "days": request.days, "runs": RUNS}
    tests = recorded_tests(store.query("test_histories", limit=request.limit, **window))
    jobs = recorded_jobs(store.query("job_histories", **window))
    flakes = judge_all(tests, jobs)
    inside = [each for each in read_quarantines(store) if not each.expired(now)]
    rules = read_codeowners(read_text(request.codeowners)) if request.codeowners else ()
    return _owned(store, flakes, rules, inside, request.branch)


def read_subject(store: Store, subject: str, *, branch: str, days: int) -> list[Flake]:
    """Judge the histories of one subject, whether it failed or not.

    Raises UsageError where it is neither ``test/NODEID`` nor ``job/KEY``.
    """
    recorded = read_recorded(store, [subject], branch=branch, days=days, runs=RUNS)
    tests = [each for each in recorded if each.kind == "test"]
    return judge_all(tests, [each for each in recorded if each.kind == "job"])


def read_recorded(
    store: Store, subjects: Sequence[str], *, branch: str, days: int, runs: int
) -> list[Recorded]:
    """Read the histories of subjects, whether they failed or not."""
    names: dict[str, list[str]] = {"test": [], "job": []}
    for subject in subjects:
        kind, name = split_subject(subject)
        names[kind].append(name)
    window = {"branch": branch, "days": days, "runs": runs}
    found: list[Recorded] = []
    if names["test"]:
        rows = store.query("test_histories", nodeids="\n".join(names["test"]), **window)
        found += recorded_tests(rows)
    if names["job"]:
        found += recorded_jobs(
            store.query("job_histories", job_keys="\n".join(names["job"]), **window)
        )
    return found


def read_quarantines(store: Store) -> list[Quarantine]:
    """Read what is in quarantine, expired or not."""
    return open_quarantines(store.query("quarantine_words"))


def split_subject(subject: str) -> tuple[str, str]:
    """Split ``test/NODEID`` or ``job/KEY``. Raises UsageError for anything else."""
    kind, slash, name = subject.partition("/")
    if kind not in ("test", "job") or not slash or not name.strip() or "\n" in name:
        msg = f"{subject!r} names neither a test nor a job"
        raise UsageError(msg, hint="write test/tests/test_a.py::test_b or job/JOB_KEY")
    return kind, name


def _owned(
    store: Store,
    flakes: Sequence[Flake],
    rules: Sequence[OwnerRule],
    inside: Sequence[Quarantine],
    branch: str,
) -> list[Flake]:
    """Add who should look at it, and whether it is in quarantine."""
    files = sorted({flake.recorded.file for flake in flakes if flake.recorded.file})
    rows = store.query("file_authors", files="\n".join(files), branch=branch) if files else []
    authors = {row["file"]: row["author"] for row in rows}
    found = []
    for flake in flakes:
        file = flake.recorded.file
        by_rule = owners_of(file, rules) if file else ()
        owner = " ".join(by_rule) or authors.get(file)
        held = next((each for each in inside if covers(each.subject, flake.subject)), None)
        found.append(
            replace(
                flake,
                owner=owner,
                owner_from="CODEOWNERS"
                if by_rule
                else "most commits to its file"
                if owner
                else None,
                quarantined=held is not None,
                quarantined_until=held.expires_at if held else None,
            )
        )
    return found


def _source(by_rule: Sequence[str], owner: str | None) -> str | None:
    if by_rule:
        return "CODEOWNERS"
    return "most commits to its file" if owner else None
