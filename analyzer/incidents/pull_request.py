"""Is the failure of a pull request its own? What the branch showed of it before decides."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal

from gauntlet.analyzer.culprits.model import Commit
from gauntlet.analyzer.incidents.columns import Cell, Column, columns_of, signature_of
from gauntlet.analyzer.incidents.history import History, Run

Whose = Literal["its-own", "of-the-branch", "flaky"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whose failure it is, and why. ``landing`` is an earlier merge of the same pull request."""

    whose: Whose
    reason: str
    landing: Commit | None = None


def failure_of(job_key: str, tests: Sequence[str], signature: str, at: datetime) -> Run:
    """A failed run outside the branch: the tests that failed in it, else its signature."""
    return Run(
        job_id="",
        job_key=job_key,
        sha="",
        at=at,
        outcome="failed",
        signature=signature,
        failing=frozenset(tests),
        reported=bool(tests),
    )


def judge_pull_request(failure: Run, pull_request: int, history: History) -> Judgement:
    """Judge one failed run of a pull request by what its branch showed of the same failure.

    It is of the branch where the branch still shows it, flaky where the branch showed it between
    passes; and its own where the branch never did, or only since an earlier landing of the very
    same pull request, however many other authors' builds it broke there.
    """
    runs = [run for run in history.runs if run.job_key == failure.job_key]
    seen = [
        told
        for column in columns_of(history.mainline, failure.job_key, runs)
        if _same(column, failure)
        and (told := [cell for cell in column.cells if cell.says != "nothing"])
    ]
    landing = next(
        (found for told in seen if (found := _landing(told, pull_request, history))), None
    )
    if landing is not None:
        reason = (
            f"{landing.sha[:10]} landed this change before, and broke the branch in the same way"
        )
        return Judgement(whose="its-own", reason=reason, landing=landing)
    if any(told[-1].says == "bad" for told in seen):
        return Judgement(whose="of-the-branch", reason="the branch fails in the same way now")
    flakes = sum(len(cell.bad) for told in seen for cell in told)
    if flakes:
        runs_told = sum(len(cell.bad) + len(cell.good) for told in seen for cell in told)
        reason = f"{flakes} of {runs_told} runs of the branch failed so, without a change to it"
        return Judgement(whose="flaky", reason=reason)
    return Judgement(whose="its-own", reason="the branch never failed in this way")


def _same(column: Column, failure: Run) -> bool:
    if column.track.kind == "test":
        return column.track.name in failure.failing
    return not failure.failing and column.track.name == signature_of(failure)


def _landing(told: Sequence[Cell], pull_request: int, history: History) -> Commit | None:
    """The earlier merge of a pull request that may have begun a streak of this failure."""
    good: int | None = None
    for says, cells in groupby(told, key=lambda cell: cell.says):
        found = list(cells)
        if says == "bad":
            for commit in _suspects(history, good, found):
                if commit.pull_request == pull_request:
                    return commit
        else:
            good = found[-1].position
    return None


def _suspects(history: History, good: int | None, bad: Sequence[Cell]) -> Iterable[Commit]:
    return () if good is None else history.mainline.between(good, bad[0].position)
