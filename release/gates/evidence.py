"""Read the facts of a candidate from the warehouse. Missing numbers stay None, never zero."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict

from gauntlet.core.errors import InvalidMeasurementError
from gauntlet.release.gates.facts import (
    Facts,
    JobFact,
    RunFact,
    Subject,
    VerdictFact,
    WaiverFact,
)
from gauntlet.release.gates.rules import CiGate, Gate
from gauntlet.warehouse.store import Store

Row = Mapping[str, Any]
ModelT = TypeVar("ModelT", bound=BaseModel)


class _Numbers(BaseModel):
    """What is used of a verdict's evidence; a verdict of another version may have more."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    demoted: bool = False
    p_value: float | None = None
    effect: float | None = None
    interval: tuple[float, float] | None = None
    unit: str = ""
    margin: float | None = None
    n: int = 0
    higher_is_better: bool = False


class _Covers(BaseModel):
    """The problems that a waiver names."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    covers: tuple[str, ...] = ()
    commit: str = ""


def read_facts(store: Store, subject: Subject, gates: Iterable[Gate]) -> Facts:
    """Read everything that the gates of a policy ask about one candidate.

    All gates of continuous integration share the pipelines that they name.
    """
    pipelines = list(dict.fromkeys(g.pipeline for g in gates if isinstance(g, CiGate)))
    jobs: list[JobFact] = []
    waiting: list[int] = []
    before: set[str] = set()
    for pipeline in pipelines:
        where = {"pipeline": pipeline}
        jobs += map(_job, store.query("commit_attempts", sha=subject.commit, **where))
        found = store.query("commit_builds_waiting", sha=subject.commit, **where)
        waiting += [row["number"] for row in found]
        if subject.previous_commit:
            found = store.query("jobs_of_commit", sha=subject.previous_commit, **where)
            before |= {row["job_key"] for row in found}
    return Facts(
        jobs=tuple(jobs),
        blocked_builds=tuple(waiting),
        previous_jobs=frozenset(before),
        quarantines=frozenset(row["subject"] for row in store.query("quarantines")),
        runs=tuple(_runs(store, subject.commit)),
        waivers=tuple(read_waivers(store, subject.name)),
    )


def read_waivers(store: Store, candidate: str) -> list[WaiverFact]:
    """Read the waivers of a candidate; a withdrawal ends all of its gate that came before it."""
    standing: dict[str, list[Row]] = {}
    for row in store.query("waivers_of", run_id=candidate):
        if row["outcome"] == "waived":
            standing.setdefault(row["subject"], []).append(row)
        else:
            standing.pop(row["subject"], None)
    return [_waiver(row) for rows in standing.values() for row in rows]


def _job(row: Row) -> JobFact:
    return JobFact(
        job_key=row["job_key"],
        shard=row["shard"],
        group_key=row["group_key"],
        queue=row["queue"],
        state=row["state"],
        soft_failed=bool(row["soft_failed"]),
        at=row["at"],
        build=row["build_number"],
        failure_class=row["failure_class"],
        image=row["image"],
        url=row["url"],
    )


def _runs(store: Store, commit: str) -> Iterable[RunFact]:
    rows = store.query("runs_of_commit", sha=commit)
    if not rows:
        return
    run_ids = ",".join(row["run_id"] for row in rows)
    verdicts: dict[str, list[VerdictFact]] = {row["run_id"]: [] for row in rows}
    for row in store.query("verdicts_of_runs", run_ids=run_ids):
        verdicts[row["run_id"]].append(_verdict(row))
    for row in rows:
        yield RunFact(
            run_id=row["run_id"],
            recipe=row["recipe"],
            accelerator=row["accelerator"],
            status=row["status"],
            images=frozenset(row["images"]),
            commits=frozenset(row["commits"]),
            baseline_commits=frozenset(row["baseline_commits"]),
            started_at=row["started_at"],
            hours=row["hours"],
            verdicts=tuple(verdicts[row["run_id"]]),
        )


def _verdict(row: Row) -> VerdictFact:
    numbers = _read(_Numbers, row["evidence"], f"the verdict on {row['subject']}")
    return VerdictFact(
        subject=row["subject"],
        outcome=row["outcome"],
        blocking=bool(row["blocking"]),
        reason=row["reason"],
        **numbers.model_dump(),
    )


def _waiver(row: Row) -> WaiverFact:
    said = _read(_Covers, row["evidence"], f"the waiver of {row['subject']}")
    return WaiverFact(
        gate=row["subject"].removeprefix("gate/"),
        outcome=row["outcome"],
        covers=said.covers,
        commit=said.commit,
        reason=row["reason"],
        by=row["actor"],
        at=row["at"],
        until=row["expires_at"],
    )


def _read(model: type[ModelT], text: str, what: str) -> ModelT:
    try:
        return model.model_validate(json.loads(text or "{}"))
    except ValueError as error:
        msg = f"{what} cannot be read: {str(error).splitlines()[0]}"
        raise InvalidMeasurementError(msg, hint="was it written by another version?") from error
