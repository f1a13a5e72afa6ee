"""Rank builds of main by their health. Pure: facts in, reasons out."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import Literal

from gauntlet.release.cut.rules import HealthRules, Weight

_SHOWN = 4
_FAILED = frozenset({"failed", "timed_out", "expired", "broken"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """How one attempt of a job ended; the class is empty where nothing is known."""

    state: str
    soft_failed: bool = False
    failure_class: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One job of a build, or one shard of it, with all its attempts in order.

    ``failed_tests`` failed in it and passed in no attempt.
    """

    key: str
    attempts: tuple[Attempt, ...]
    shard: int | None = None
    failed_tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was said of a commit's speed or accuracy."""

    area: Literal["performance", "accuracy"]
    subject: str
    outcome: str
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One build of a commit of main; the position is None where main's order does not have it."""

    number: int
    sha: str
    state: str
    created_at: datetime
    finished_at: datetime | None
    position: int | None
    title: str = ""
    url: str = ""
    jobs: tuple[Job, ...] = ()
    verdicts: tuple[Verdict, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether it ran to its end."""
        return self.state in ("passed", "failed") and self.finished_at is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What counts against a build; ``points`` is None where it is never proposed for it."""

    what: str
    points: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """A build with everything that counts against it; 0 points is spotless."""

    build: Build
    findings: tuple[Point, ...]

    @property
    def points(self) -> float:
        """Points of what does not rule it out."""
        return round(sum(found.points or 0.0 for found in self.findings), 2)

    @property
    def never(self) -> tuple[Point, ...]:
        """What rules it out."""
        return tuple(found for found in self.findings if found.points is None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """Builds that can be proposed, best first; those that cannot; those that were not weighed."""

    candidates: tuple[Health, ...]
    refused: tuple[Health, ...]
    unranked: tuple[tuple[Build, str], ...]

    @property
    def best(self) -> Health | None:
        """The healthiest one."""
        return self.candidates[0] if self.candidates else None


def rank(
    builds: Iterable[Build],
    rules: HealthRules,
    *,
    quarantined: frozenset[str],
    newest_position: int,
    now: datetime,
) -> Ranking:
    """Weigh builds and sort them: fewer points first, then the newer commit.

    ``quarantined`` are subjects (``job/KEY``, ``test/NODEID``). What is not full, has not ended,
    lies in the future or off main, and what a newer build of the same commit followed, is not
    weighed, and said.
    """
    weighed: list[Health] = []
    unranked: list[tuple[Build, str]] = []
    found = sorted(builds, key=lambda build: (build.created_at, build.number), reverse=True)
    largest = max((len({job.key for job in build.jobs}) for build in found), default=0)
    seen: dict[str, int] = {}
    for build in found:
        why = _objection(build, rules, largest, now)
        if not why and build.sha in seen:
            why = f"build {seen[build.sha]} of the same commit is newer"
        if why:
            unranked.append((build, why))
            continue
        seen[build.sha] = build.number
        weighed.append(_weigh(build, rules, quarantined, newest_position, now))
    good = [h for h in weighed if not h.never and h.points <= rules.most_points]
    bad = [h for h in weighed if h.never or h.points > rules.most_points]
    return Ranking(
        candidates=tuple(sorted(good, key=_order)),
        refused=tuple(sorted(bad, key=_order)),
        unranked=tuple(unranked),
    )


def _order(health: Health) -> tuple[bool, float, int, int]:
    build = health.build
    return bool(health.never), health.points, -(build.position or 0), -build.number


def _objection(build: Build, rules: HealthRules, largest: int, now: datetime) -> str:
    """Why a build is not weighed; empty where it is."""
    skew = timedelta(minutes=rules.clock_skew_minutes)
    latest = max(build.created_at, build.finished_at or build.created_at)
    if latest > now + skew:
        return f"it is of {latest:%F %H:%M} UTC, and it is {now:%F %H:%M}: check the clocks"
    if build.position is None:
        return "its commit is none of main's that the warehouse knows: gauntlet ingest git"
    if not build.ended:
        return f"it has not ended: {build.state}"
    jobs = len({job.key for job in build.jobs})
    if jobs < rules.full_share * largest or not jobs:
        return f"it is not full: {jobs} of {largest} jobs"
    return ""


def _weigh(
    build: Build, rules: HealthRules, quarantined: frozenset[str], newest: int, now: datetime
) -> Health:
    findings = [
        *_jobs(build, rules, quarantined),
        *_required(build, rules),
        *_verdicts(build, rules),
        *_age(build, rules, newest, now),
    ]
    return Health(build=build, findings=tuple(findings))


def _jobs(build: Build, rules: HealthRules, quarantined: frozenset[str]) -> Iterable[Point]:
    groups: dict[str, list[str]] = defaultdict(list)
    for job in build.jobs:
        if kind := _fate(job, quarantined):
            groups[kind].append(job.key)
    for kind, keys in sorted(groups.items()):
        weight = _weight_of(kind, rules)
        names = sorted(set(keys))
        more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
        reason = f"{_count(len(keys), 'job')} {_WORDS.get(kind, f'failed: {kind}')}"
        yield _point(kind, weight, len(keys), f"{reason} ({', '.join(names[:_SHOWN])}{more})")


_WORDS = {
    "soft_failed": "failed softly",
    "passed_on_retry": "passed only when run again",
    "quarantined": "failed in quarantine",
    "not_run": "did not run to an end",
}


def _fate(job: Job, quarantined: frozenset[str]) -> str:
    """What became of a job: empty where it simply passed, else its kind of trouble."""
    last = job.attempts[-1]
    failed = [attempt for attempt in job.attempts if attempt.state in _FAILED]
    if any(attempt.state == "passed" and not attempt.soft_failed for attempt in job.attempts):
        return "passed_on_retry" if failed else ""
    if not failed:
        return "soft_failed" if last.soft_failed else "not_run"
    tests_held = job.failed_tests and all(_held(t, quarantined) for t in job.failed_tests)
    if f"job/{job.key}" in quarantined or tests_held:
        return "quarantined"
    if failed[-1].soft_failed:
        return "soft_failed"
    return failed[-1].failure_class or ("timeout" if failed[-1].state == "timed_out" else "unknown")


def _held(test: str, quarantined: frozenset[str]) -> bool:
    """Whether a test, its class or its file is in quarantine."""
    parts = test.split("[", 1)[0].split("::")
    names = [test, *("::".join(parts[: end + 1]) for end in range(len(parts)))]
    return any(f"test/{name}" in quarantined for name in names)


def _weight_of(kind: str, rules: HealthRules) -> Weight:
    own: dict[str, Weight] = {
        "soft_failed": rules.soft_failed,
        "passed_on_retry": rules.passed_on_retry,
        "quarantined": rules.quarantined,
        "not_run": rules.not_run,
    }
    return own[kind] if kind in own else rules.failure(kind)


def _required(build: Build, rules: HealthRules) -> Iterable[Point]:
    for pattern in rules.required:
        jobs = [job for job in build.jobs if fnmatchcase(job.key, pattern)]
        passed = [job for job in jobs if any(a.state == "passed" for a in job.attempts)]
        if not jobs:
            yield Point(what="required", points=None, reason=f"no job is {pattern}: not run")
        elif len(passed) < len(jobs):
            bad = sorted({job.key for job in jobs} - {job.key for job in passed}) or [pattern]
            reason = f"a required job did not pass: {', '.join(bad[:_SHOWN])}"
            yield Point(what="required", points=None, reason=reason)


def _verdicts(build: Build, rules: HealthRules) -> Iterable[Point]:
    weights: dict[str, tuple[Weight, Weight]] = {
        "performance": (rules.verdicts.performance_worse, rules.verdicts.performance_missing),
        "accuracy": (rules.verdicts.accuracy_worse, rules.verdicts.accuracy_missing),
    }
    for area, (worse, missing) in weights.items():
        said = [verdict for verdict in build.verdicts if verdict.area == area]
        losses = [verdict for verdict in said if verdict.outcome == "worse"]
        unsure = [v for v in said if v.outcome not in ("better", "same", "worse")]
        if losses:
            reason = f"{area} is worse: {_some([verdict.subject for verdict in losses])}"
            yield _point(f"{area}_worse", worse, len(losses), reason)
        if unsure:
            words = _some([f"{verdict.subject} {verdict.outcome}" for verdict in unsure])
            yield _point(
                f"{area}_inconclusive", rules.verdicts.inconclusive, len(unsure), f"{area}: {words}"
            )
        if not said:
            yield _point(f"{area}_missing", missing, 1, f"{area} was not measured")


def _age(build: Build, rules: HealthRules, newest: int, now: datetime) -> Iterable[Point]:
    days = max(0.0, (now - build.created_at) / timedelta(days=1))
    behind = max(0, newest - (build.position or 0))
    age = rules.points_a_day * days
    yield Point(what="age", points=round(age, 2), reason=f"{days:.1f} days old")
    points = rules.points_a_hundred_commits * behind / 100
    reason = f"{_count(behind, 'commit')} behind main"
    yield Point(what="behind", points=round(points, 2), reason=reason)


def _point(what: str, weight: Weight, number: int, reason: str) -> Point:
    points = None if weight == "never" else round(weight * number, 2)
    return Point(what=what, points=points, reason=reason)


def _some(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return f"{', '.join(words[:_SHOWN])}{more}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' * (number != 1)}"
