"""What the histories of tests and jobs say, ranked by the minutes that they cost. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, TypedDict

from gauntlet.analyzer.flakes.judge import History, Judgement, State, judge
from gauntlet.analyzer.flakes.release_rule import clean_runs_needed
from gauntlet.analyzer.flakes.segments import rate_of

Kind = Literal["test", "job"]
Rows = Iterable[Mapping[str, Any]]

CAUTIOUS = 0.8
"""A release asks for passes by the lower end of this interval: a rate that looks higher than it is
would free the test too soon."""
_ORDER: tuple[State, ...] = ("broken", "flaky", "unknown", "healthy")


class PlainFlake(TypedDict):
    """One history as JSON; rates are shares, ``minutes_lost`` is of the window."""

    subject: str
    kind: Kind
    nodeid: str | None
    job_key: str
    queue: str
    state: State
    reasons: list[str]
    rate: float
    rate_low: float
    rate_high: float
    runs: int
    failures: int
    since: str | None
    last_good: str | None
    suspects: list[str] | None
    same_commit: list[str]
    streak: int
    more_failures: int | None
    minutes_lost: float | None
    clean_runs_needed: int | None
    owner: str | None
    owner_from: str | None
    quarantined: bool
    quarantined_until: str | None
    last_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """One history as it is stored; ``file`` and ``nodeid`` are empty for jobs.

    ``attempt_min`` is how long a retry of the job runs, ``blocked_min`` how long those waited whom
    its failures held up, None where the store does not know.
    """

    kind: Kind
    nodeid: str
    file: str
    job_key: str
    queue: str
    history: History
    times: tuple[datetime, ...]
    runs: int
    failures: int
    last_at: datetime
    attempt_min: float | None = None
    blocked_min: float | None = None

    @property
    def subject(self) -> str:
        """How decisions name it: ``test/NODEID`` or ``job/KEY``."""
        return f"test/{self.nodeid}" if self.kind == "test" else f"job/{self.job_key}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flake:
    """One history, judged. ``owner_from`` says where the owner's name comes from."""

    recorded: Recorded
    judgement: Judgement
    minutes_lost: float | None
    owner: str | None = None
    owner_from: str | None = None
    quarantined: bool = False
    quarantined_until: datetime | None = None

    @property
    def subject(self) -> str:
        """How decisions name it."""
        return self.recorded.subject

    @property
    def since(self) -> str | None:
        """The commit with which what holds now began, None where it held all along."""
        at = self.judgement.since
        return None if at is None else self.recorded.history.commits[at]

    @property
    def last_good(self) -> str | None:
        """The last commit before a break, None where it never passed, or is not broken."""
        at = self.judgement.since
        if self.judgement.state != "broken" or not at:
            return None
        history = self.recorded.history
        good = [i for i in range(at) if not history.failed[i]]
        return history.commits[good[-1]] if good else None

    @property
    def clean_runs_needed(self) -> int | None:
        """Passes in a row that would release it from quarantine; None where nothing failed."""
        judged = self.judgement
        if judged.state != "flaky" or not judged.failures:
            return None
        return clean_runs_needed(release_rate(judged.failures, judged.runs))

    def plain(self) -> PlainFlake:
        """As JSON."""
        judged, recorded = self.judgement, self.recorded
        suspects = judged.suspects
        return PlainFlake(
            subject=self.subject,
            kind=recorded.kind,
            nodeid=recorded.nodeid or None,
            job_key=recorded.job_key,
            queue=recorded.queue,
            state=judged.state,
            reasons=list(judged.reasons),
            rate=round(judged.rate.mean, 6),
            rate_low=round(judged.rate.low, 6),
            rate_high=round(judged.rate.high, 6),
            runs=judged.runs,
            failures=judged.failures,
            since=self.since,
            last_good=self.last_good,
            suspects=[recorded.history.commits[i] for i in suspects] if suspects else None,
            same_commit=list(judged.same_commit),
            streak=judged.streak,
            more_failures=judged.more_failures,
            minutes_lost=None if self.minutes_lost is None else round(self.minutes_lost, 1),
            clean_runs_needed=self.clean_runs_needed,
            owner=self.owner,
            owner_from=self.owner_from,
            quarantined=self.quarantined,
            quarantined_until=_iso(self.quarantined_until),
            last_at=recorded.last_at.isoformat(),
        )


def release_rate(failures: int, runs: int) -> float:
    """Failure rate by which a release is decided: the lower end of an 80 % interval."""
    return rate_of(failures, runs, level=CAUTIOUS).low


def minutes_lost(failures: float, attempt_min: float | None, blocked_min: float | None) -> float:
    """What failures cost: one more attempt each, and the waiting for it.

    ``failures`` is rate times runs. What is not known of a part counts as none of it.
    """
    return failures * (attempt_min or 0.0) + (blocked_min or 0.0)


def judge_all(tests: Sequence[Recorded], jobs: Sequence[Recorded]) -> list[Flake]:
    """Judge every history; the order is: broken, flaky, unknown, healthy, the costliest first."""
    by_job = {(job.job_key, job.queue): job for job in jobs}
    tests = [with_job_passes(test, by_job.get((test.job_key, test.queue))) for test in tests]
    found = [Flake(recorded=job, judgement=judge(job.history), minutes_lost=_cost(job, job))
             for job in jobs]  # fmt: skip
    found += [
        Flake(
            recorded=test,
            judgement=judge(test.history),
            minutes_lost=_cost(test, by_job.get((test.job_key, test.queue))),
        )
        for test in tests
    ]
    return sorted(found, key=rank)


def with_job_passes(test: Recorded, job: Recorded | None) -> Recorded:
    """Count passes of the job for what is reported only when it fails, as errors of collection are.

    Passes before its first failure do not count: it may not have existed.
    """
    if job is None or not all(test.history.failed):
        return test
    mine = list(_runs(test))
    others = [run for run in _runs(job) if not run[2] and run[:2] > mine[0][:2]]
    if not others:
        return test
    runs = sorted([*mine, *others], key=lambda run: run[:2])
    history = History(
        failed=tuple(run[2] for run in runs),
        commits=tuple(run[3] for run in runs),
        positions=tuple(run[0] or None for run in runs),
    )
    return replace(test, history=history, times=tuple(run[1] for run in runs))


def _runs(recorded: Recorded) -> Iterator[tuple[int, datetime, bool, str]]:
    history = recorded.history
    for index, at in enumerate(recorded.times):
        position = history.position(index) or 0
        yield position, at, history.failed[index], history.commits[index]


def rank(flake: Flake) -> tuple[int, float, str, str, str]:
    """Sort key: state, minutes lost, name."""
    recorded = flake.recorded
    cost = -(flake.minutes_lost or 0.0)
    state = _ORDER.index(flake.judgement.state)
    return state, cost, recorded.subject, recorded.job_key, recorded.queue


def recorded_tests(rows: Rows) -> list[Recorded]:
    """Read rows of test_histories."""
    return [_recorded("test", row, row["nodeid"], row["file"]) for row in rows]


def recorded_jobs(rows: Rows) -> list[Recorded]:
    """Read rows of job_histories."""
    return [_recorded("job", row, "", "") for row in rows]


def _recorded(kind: Kind, row: Mapping[str, Any], nodeid: str, file: str) -> Recorded:
    runs = list(zip(row["positions"], row["times"], row["failed"], row["shas"], strict=True))
    # A commit outside the merge order has no place in it; then time alone orders all.
    placed = all(position for position, *_ in runs)
    if not placed:
        runs.sort(key=lambda run: run[1])
    return Recorded(
        kind=kind,
        nodeid=nodeid,
        file=file,
        job_key=row["job_key"],
        queue=row["queue"],
        history=History(
            failed=tuple(bool(run[2]) for run in runs),
            commits=tuple(str(run[3]) for run in runs),
            positions=tuple(int(run[0]) or None for run in runs),
        ),
        times=tuple(_aware(run[1], row["last_at"]) for run in runs),
        runs=int(row["runs"]),
        failures=int(row["failures"]),
        last_at=row["last_at"],
        attempt_min=row.get("attempt_min"),
        blocked_min=row.get("blocked_min"),
    )


def _aware(at: datetime, like: datetime) -> datetime:
    """Times inside arrays come without their zone, which is that of the column: UTC."""
    return at.replace(tzinfo=like.tzinfo) if at.tzinfo is None else at


def _cost(recorded: Recorded, job: Recorded | None) -> float | None:
    if job is None or job.attempt_min is None:
        return None
    share = min(1.0, recorded.failures / job.failures) if job.failures else 0.0
    blocked = None if job.blocked_min is None else job.blocked_min * share
    return minutes_lost(recorded.failures, job.attempt_min, blocked)


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
