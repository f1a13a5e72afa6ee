"""What people and programs decided in a made-up history: incidents, reverts, quarantines, notes."""

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from gauntlet.warehouse.rows.measurement import DecisionKind, DecisionMode, DecisionRow
from gauntlet.warehouse.synth.shape import Incident, Shape

_BACK = timedelta(days=30)
_OWNERS = ("kernels-team", "serving-team", "models-team", "ci-team")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit of the made-up branch."""

    position: int
    sha: str
    title: str
    author: str
    pull_request: int
    at: datetime


def made_decisions(
    shape: Shape, commits: Mapping[int, Commit], now: datetime
) -> Iterator[DecisionRow]:
    """Yield the decisions of the last 30 days; ``commits`` are those of the branch by position."""
    dice = random.Random(f"{shape.seed}/decisions")  # noqa: S311
    newest = max(commits, default=0)
    known = [
        each for each in shape.incidents if each.first in commits and each.first - 1 in commits
    ]
    for incident in known:
        if commits[incident.first].at > now - _BACK:
            yield from _incident(shape, commits, incident, newest, dice)
    yield from _quarantines(shape, now)
    yield from _others(shape, commits, now)


def _incident(
    shape: Shape,
    commits: Mapping[int, Commit],
    incident: Incident,
    newest: int,
    dice: random.Random,
) -> Iterator[DecisionRow]:
    culprit, job = commits[incident.first], shape.jobs[incident.job]
    verified = dice.random() < 0.8
    reverted = verified and dice.random() < 0.7
    evidence = {
        "failure_class": incident.failure_class,
        "signature": f"{incident.failure_class}:{job.key}",
        "jobs": [job.key],
        "first_bad": culprit.sha,
        "last_good": commits[incident.first - 1].sha,
        "culprit": {
            "sha": culprit.sha,
            "title": culprit.title,
            "author": culprit.author,
            "pull_request": culprit.pull_request,
            "probability": 0.9999 if verified else round(dice.uniform(0.4, 0.9), 2),
            "verified": verified,
        },
        "revert_url": f"https://git.example/engine/pull/{culprit.pull_request + 40_000}"
        if reverted
        else None,
    }
    subject = f"incident/{incident.first}-{job.key}"
    opened = culprit.at + timedelta(minutes=50)
    reason = f"{job.key} fails since {culprit.sha[:7]}: {incident.failure_class.replace('_', ' ')}"
    yield _row("incident", subject, "open", reason, evidence, opened)
    if incident.last < newest and incident.last + 1 in commits:
        ended = commits[incident.last + 1]
        reason = f"{job.key} passes again at {ended.sha[:7]}"
        yield _row("incident", subject, "fixed", reason, evidence, ended.at)
    if reverted:
        outcome = dice.choices(("merged", "closed", "fixed-forward"), (8, 1, 2))[0]
        yield _row(
            "revert",
            f"commit/{culprit.sha}",
            outcome,
            f"revert of {culprit.sha[:7]} for {subject}",
            {"incident": subject},
            opened + timedelta(minutes=30),
            mode=dice.choice(("shadow", "notify", "act")),
        )


def _quarantines(shape: Shape, now: datetime) -> Iterator[DecisionRow]:
    flaky = sorted((job for job in shape.jobs if job.flaky_case >= 0), key=lambda j: -j.flaky_rate)
    for index, job in enumerate(flaky[:8]):
        owner = _OWNERS[index % len(_OWNERS)]
        name = f"tests/{job.group}/test_{job.key}.py::test_case[{job.flaky_case}]"
        at = now - timedelta(days=index + 1, hours=3)
        yield _row(
            "quarantine",
            f"test/{name}" if index % 3 else f"job/{job.key}",
            "quarantined",
            f"passes and fails on one commit, about {job.flaky_rate:.1%} of the time",
            {"owner": owner},
            at,
            actor=owner,
            expires_at=now + timedelta(days=14 - index),
        )


def _others(shape: Shape, commits: Mapping[int, Commit], now: datetime) -> Iterator[DecisionRow]:
    queue = shape.queues[0].name
    yield _row(
        "alert",
        f"host/{queue}-3",
        "open",
        f"{queue}-3 fails 4 times as often as the queue's other hosts",
        {"host": f"{queue}-3", "queue": queue},
        now - timedelta(hours=5),
        expires_at=now + timedelta(days=1),
    )
    recipe = shape.recipes[0]
    yield _row(
        "annotation",
        f"series/{recipe.name}",
        "note",
        "Nodes moved to the new driver on this day.",
        {},
        now - timedelta(days=9),
        actor="fleet-owner",
    )
    for commit in sorted(commits.values(), key=lambda each: -each.position)[5:200:90]:
        job = shape.jobs[commit.position % len(shape.jobs)]
        yield _row(
            "selection",
            f"commit/{commit.sha}",
            "escaped",
            f"{job.key} broke on main, and the pull request's selection had left it out",
            {"job": job.key},
            commit.at + timedelta(hours=1),
        )


def _row(
    kind: DecisionKind,
    subject: str,
    outcome: str,
    reason: str,
    evidence: Mapping[str, object],
    at: datetime,
    *,
    actor: str = "gauntlet",
    mode: DecisionMode = "act",
    expires_at: datetime | None = None,
) -> DecisionRow:
    at = at.astimezone(UTC)
    return DecisionRow(
        decision_id=f"synth/{kind}/{subject}/{outcome}/{at:%Y%m%dT%H%M%S}",
        run_id="",
        kind=kind,
        subject=subject,
        outcome=outcome,
        blocking=False,
        reason=reason,
        evidence=json.dumps(evidence),
        at=at,
        actor=actor,
        mode=mode,
        expires_at=expires_at,
    )
