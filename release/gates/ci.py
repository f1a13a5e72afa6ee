"""The gate of the full build: every job that has to be there, and how it came to be green."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from gauntlet.release.gates.facts import Facts, JobFact, Subject
from gauntlet.release.gates.model import GateResult, Problem
from gauntlet.release.gates.rules import CiGate, Lane

Fate = Literal[
    "passed", "retried", "soft-failed", "quarantined", "failed", "blocked", "skipped", "running"
]

# A machine whose clock is a little ahead is no liar.
SKEW = timedelta(minutes=5)
_FATES: dict[str, Fate] = {
    "passed": "passed",
    "failed": "failed",
    "timed_out": "failed",
    "expired": "failed",
    "broken": "skipped",
    "skipped": "skipped",
    "canceled": "skipped",
    "not_run": "skipped",
    "blocked": "blocked",
    "blocked_failed": "blocked",
    "unblocked_failed": "blocked",
    "waiting_failed": "blocked",
}
_WORST_FIRST: tuple[Fate, ...] = (
    "failed", "running", "blocked", "skipped",
    "soft-failed", "quarantined", "retried", "passed",
)  # fmt: skip
_WHY_NOT_RUN = {
    "blocked": "it waits for somebody to let it run: unblock it",
    "skipped": "it was skipped, cancelled or could not run: run it",
    "running": "it has not ended yet: wait for it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What became of one job: over its attempts and shards."""

    job_key: str
    group_key: str
    queue: str
    fate: Fate
    newest: JobFact


def decide_ci(rule: CiGate, subject: Subject, facts: Facts, now: datetime) -> GateResult:
    """Decide the gate on the attempts of all builds of the candidate's commit."""
    usable, notes = _usable(rule, subject, facts.jobs, now)
    outcomes = fold(usable, facts.quarantines)
    problems = [
        *_lanes(rule.lanes, outcomes),
        *_dropped(rule, outcomes, facts.previous_jobs, subject.previous),
        *_fates(outcomes),
        *_limits(rule, outcomes, facts.quarantines),
    ]
    if facts.blocked_builds:
        waiting = ", ".join(f"#{number}" for number in facts.blocked_builds)
        notes.append(f"a person is waited for in {waiting}")
    unrecorded = sum(not job.image for job in usable)
    if unrecorded and subject.images:
        notes.append(f"{unrecorded} of {len(usable)} attempts did not record their image")
    if rule.as_before and not facts.previous_jobs:
        before = subject.previous or "a release before"
        notes.append(f"no build of {before} is known: nothing tells which jobs should be there")
    quarantined_tests = sum(name.startswith("test/") for name in facts.quarantines)
    if quarantined_tests:
        notes.append(f"{quarantined_tests} tests are in quarantine: they ran and blocked nothing")
    for fate, what in (("retried", "green only after a retry"), ("soft-failed", "failed softly")):
        keys = [each.job_key for each in outcomes if each.fate == fate]
        if keys:
            notes.append(f"{what}: {_some(keys)}")
    counted = ("passed", "retried", "soft-failed", "quarantined", "failed")
    numbers = [(fate, sum(each.fate == fate for each in outcomes)) for fate in counted]
    builds = sorted({job.build for job in usable})
    not_run = sum(each.fate in _WHY_NOT_RUN for each in outcomes)
    return GateResult(
        name=rule.name,
        problems=tuple(problems),
        notes=tuple(notes),
        numbers=(("jobs", len(outcomes)), *numbers, ("not run", not_run)),
        evidence=tuple(f"{rule.pipeline}#{number}" for number in builds),
    )


def fold(jobs: Iterable[JobFact], quarantines: frozenset[str]) -> list[Outcome]:
    """Sum up attempts and shards: the newest attempt of a shard counts, the worst shard tells."""
    shards: dict[tuple[str, int | None], list[JobFact]] = defaultdict(list)
    for job in sorted(jobs, key=lambda each: each.at):
        shards[job.job_key, job.shard].append(job)
    by_key: dict[str, list[tuple[Fate, JobFact]]] = defaultdict(list)
    for (key, _), attempts in shards.items():
        by_key[key].append((_fate(attempts, quarantines), attempts[-1]))
    outcomes = []
    for key, fates in sorted(by_key.items()):
        fate, newest = min(fates, key=lambda each: _WORST_FIRST.index(each[0]))
        outcomes.append(
            Outcome(
                job_key=key,
                group_key=newest.group_key,
                queue=newest.queue,
                fate=fate,
                newest=newest,
            )
        )
    return outcomes


def _fate(attempts: Sequence[JobFact], quarantines: frozenset[str]) -> Fate:
    newest = attempts[-1]
    fate = _FATES.get(newest.state, "running")
    if fate == "failed" and newest.soft_failed:
        return "soft-failed"
    if fate == "failed" and f"job/{newest.job_key}" in quarantines:
        return "quarantined"
    before = (_FATES.get(each.state) for each in attempts[:-1])
    return "retried" if fate == "passed" and "failed" in before else fate


def _usable(
    rule: CiGate, subject: Subject, jobs: Iterable[JobFact], now: datetime
) -> tuple[list[JobFact], list[str]]:
    """Attempts that count, and why others do not."""
    wanted = _wanted_images(rule, subject)
    usable, other_image, stale, early = [], set(), set(), set()
    for job in jobs:
        if job.at > now + SKEW:
            early.add(job.job_key)
        elif job.at < now - timedelta(days=rule.fresh_days):
            stale.add(job.job_key)
        elif job.image and wanted and job.image not in wanted:
            other_image.add(job.job_key)
        else:
            usable.append(job)
    reasons = {
        "ran in an image that is not the candidate's": other_image,
        f"ran more than {rule.fresh_days} days ago": stale,
        "ended in the future: a clock is wrong": early,
    }
    return usable, [f"not counted, {why}: {_some(keys)}" for why, keys in reasons.items() if keys]


def _wanted_images(rule: CiGate, subject: Subject) -> set[str]:
    """Digests that jobs may have run in; none: any."""
    if rule.image == "*":
        return set()
    return {subject.images.get(rule.image, "")} if rule.image else set(subject.images.values())


def _lanes(lanes: Sequence[Lane], outcomes: Sequence[Outcome]) -> Iterator[Problem]:
    for lane in lanes:
        jobs = [each for each in outcomes if _in_lane(lane, each)]
        ended = [each for each in jobs if each.fate not in _WHY_NOT_RUN]
        if len(ended) < lane.at_least:
            message = f"lane {lane.name}: {len(ended)} of at least {lane.at_least} jobs ended"
            if not jobs:
                message += "; no build of this commit has one"
            remedy = "run the full build on the candidate's commit"
            yield Problem(key=f"lane/{lane.name}", state="MISSING", message=message, remedy=remedy)


def _in_lane(lane: Lane, outcome: Outcome) -> bool:
    return (
        _matches(outcome.job_key, lane.jobs)
        and _matches(outcome.group_key, lane.groups)
        and _matches(outcome.queue, lane.queues)
    )


def _dropped(
    rule: CiGate, outcomes: Sequence[Outcome], before: frozenset[str], previous: str
) -> Iterator[Problem]:
    if not rule.as_before:
        return
    here = {each.job_key for each in outcomes}
    for key in sorted(before - here):
        if not _matches(key, rule.dropped):
            message = f"{key} was in the full build of {previous} and is in none of this commit"
            remedy = "run it, or list it under dropped in the policy"
            yield Problem(key=f"job/{key}", state="MISSING", message=message, remedy=remedy)


def _fates(outcomes: Iterable[Outcome]) -> Iterator[Problem]:
    for each in outcomes:
        key = f"job/{each.job_key}"
        if each.fate == "failed":
            why = each.newest.failure_class or "not classified"
            where = f" {each.newest.url}" if each.newest.url else ""
            message = f"{each.job_key} {each.newest.state} ({why}){where}"
            yield Problem(key=key, state="FAIL", message=message)
        elif each.fate in _WHY_NOT_RUN:
            message = f"{each.job_key} is {each.newest.state}: not run is not passed"
            remedy = _WHY_NOT_RUN[each.fate]
            yield Problem(key=key, state="MISSING", message=message, remedy=remedy)


def _limits(
    rule: CiGate, outcomes: Sequence[Outcome], quarantines: frozenset[str]
) -> Iterator[Problem]:
    tests = sum(name.startswith("test/") for name in quarantines)
    limits: tuple[tuple[str, Fate, int | None, int], ...] = (
        ("green only after a retry", "retried", rule.retried_at_most, 0),
        ("failed softly", "soft-failed", rule.soft_failed_at_most, 0),
        ("failed in quarantine, or tests in quarantine", "quarantined",
         rule.quarantined_at_most, tests),
    )  # fmt: skip
    for what, fate, most, more in limits:
        keys = [each.job_key for each in outcomes if each.fate == fate]
        count = len(keys) + more
        if most is not None and count > most:
            message = f"{count} {what}, and the policy allows {most}: {_some(keys)}"
            yield Problem(key=f"limit/{fate}", state="FAIL", message=message)


def _matches(text: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(text, pattern) for pattern in patterns)


def _some(keys: Iterable[str], most: int = 5) -> str:
    names = sorted(set(keys))
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return f"{', '.join(names[:most]) or 'none'}{more}"
