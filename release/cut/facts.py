"""What the warehouse knows of recent builds of main, for the ranking."""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

from gauntlet.release.cut.rank import Attempt, Build, Job, Verdict
from gauntlet.release.cut.rules import HealthRules
from gauntlet.warehouse.store import Store

Area = Literal["performance", "accuracy"]
_CHANGES_AGAIN = frozenset({"regression", "recovery", "improvement", "not-reproduced"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """A loss that nights announced and nothing took back, and the build that brought it.

    ``until`` is the first build that surely has it, empty where no row named it; ``position``
    where main has it.
    """

    area: Area
    subject: str
    reason: str
    night: date
    until: str
    position: int | None = None

    def is_in(self, build: Build) -> bool:
        """Whether a build has it: its commit stands at or after the one that brought it.

        Where nobody knows that one, builds from that night on are held to have it.
        """
        if self.position is not None and build.position is not None:
            return build.position >= self.position
        return build.created_at.date() >= self.night


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """Builds with their jobs and verdicts, what is in quarantine, and how far main has come."""

    builds: tuple[Build, ...]
    quarantined: frozenset[str]
    newest_position: int


def read_known(store: Store, rules: HealthRules, branch: str) -> Known:
    """Read what the ranking needs."""
    where = {"pipeline": rules.pipeline, "branch": branch, "days": rules.days}
    rows = store.query("full_builds", **where)
    jobs: dict[str, list[Job]] = defaultdict(list)
    for row in store.query("full_build_jobs", **where):
        jobs[row["build_id"]].append(job_of(row))
    verdicts: dict[str, list[Verdict]] = defaultdict(list)
    for row in store.query("commit_verdicts", days=rules.days):
        if (verdict := verdict_of(row)) is not None:
            verdicts[row["sha"]].append(verdict)
    builds = [_build(row, jobs[row["build_id"]], verdicts[row["sha"]]) for row in rows]
    losses = _placed(store, open_losses(store.query("alerts")), branch)
    return Known(
        builds=tuple(with_losses(build, losses) for build in builds),
        quarantined=frozenset(row["subject"] for row in store.query("quarantines")),
        newest_position=max((row["newest_position"] or 0 for row in rows), default=0),
    )


def job_of(row: Mapping[str, Any]) -> Job:
    """Read a row of full_build_jobs."""
    return Job(
        key=row["job_key"],
        shard=row["shard"],
        attempts=tuple(
            Attempt(state=state, soft_failed=bool(soft), failure_class=failure_class)
            for state, soft, failure_class in row["attempts"]
        ),
        failed_tests=tuple(row["failed_tests"] or ()),
    )


def verdict_of(row: Mapping[str, Any]) -> Verdict | None:
    """Read a row of commit_verdicts; None for what is neither speed nor accuracy."""
    kind = row["subject"].partition("/")[0]
    areas: dict[str, Area] = {"load": "performance", "eval": "accuracy"}
    if kind not in areas:
        return None
    return Verdict(
        area=areas[kind], subject=row["subject"], outcome=row["outcome"], reason=row["reason"]
    )


def open_losses(alerts: Iterable[Mapping[str, Any]]) -> list[Loss]:
    """Find in rows of alerts, oldest first, the losses that hold: the last word on each series."""
    newest: dict[tuple[str, str, str], tuple[Mapping[str, Any], Mapping[str, Any]]] = {}
    for row in alerts:
        if row["outcome"] in _CHANGES_AGAIN:
            said = json.loads(row["evidence"])
            newest[said["series_id"], said["metric"], said["statistic"]] = (row, said)
    return [
        Loss(
            area="accuracy" if "/score/" in row["subject"] else "performance",
            subject=" ".join(filter(None, (said["recipe"], said["point"], said["metric"]))),
            reason=row["reason"],
            night=date.fromisoformat(said["night"]),
            until=(said["commits"] or {}).get("until", ""),
        )
        for row, said in newest.values()
        if row["outcome"] == "regression" and said["blocking"]
    ]


def with_losses(build: Build, losses: Iterable[Loss]) -> Build:
    """Add to a build's verdicts the losses of nights that it has."""
    found = tuple(
        Verdict(area=loss.area, subject=loss.subject, outcome="worse", reason=loss.reason)
        for loss in losses
        if loss.is_in(build)
    )
    return replace(build, verdicts=(*build.verdicts, *found))


def _placed(store: Store, losses: list[Loss], branch: str) -> list[Loss]:
    names = ",".join(sorted({loss.until for loss in losses if loss.until}))
    if not names:
        return losses
    rows = store.query("commit_positions", commits=names, branch=branch)
    places = {row["sha"]: row["position"] for row in rows}
    return [replace(loss, position=places.get(loss.until)) for loss in losses]


def _build(row: Mapping[str, Any], jobs: Iterable[Job], verdicts: Iterable[Verdict]) -> Build:
    return Build(
        number=row["number"],
        sha=row["sha"],
        state=row["state"],
        created_at=row["created_at"],
        finished_at=row["finished_at"],
        position=row["position"],
        title=row["title"] or "",
        url=row["url"],
        jobs=tuple(jobs),
        verdicts=tuple(verdicts),
    )
