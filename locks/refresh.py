"""New versions on a branch: plan beside the repository, then push and ask for a pull request."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from gauntlet.core.errors import ExternalServiceError, GauntletError
from gauntlet.core.git import fetch, find_commit, git
from gauntlet.locks.compiling import CompilePlan, CompileRequest, plan_compile, write_plan
from gauntlet.locks.diff import LockDiff, diff_locks
from gauntlet.locks.index import Source
from gauntlet.locks.lock_file import parse_lock
from gauntlet.locks.manifest import FILE, Locks
from gauntlet.locks.reading import LockSide
from gauntlet.locks.record import IndexRecord, load_record
from gauntlet.locks.refresh_text import body_text, title_text
from gauntlet.locks.stuck import Stuck, stuck_packages
from gauntlet.services.codehost.port import CodeHost
from gauntlet.services.git_writing import (
    IDENTITY,
    RefUpdate,
    push_together,
    remote_ref,
    worktree,
    write_git,
)

Mode = Literal["shadow", "notify", "act"]
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshRequest:
    """What to refresh, and how far to go. ``packages`` alone move where any is named."""

    repository: Path
    manifest: str = FILE
    names: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    remote: str = "origin"
    base: str = "main"
    branch: str
    labels: tuple[str, ...] = ("run-all",)
    find_links: tuple[Path, ...] = ()
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshedLock:
    """One lock: what moved, what could not, or why it did not compile."""

    name: str
    diff: LockDiff | None = None
    stuck: tuple[Stuck, ...] = ()
    failed: GauntletError | None = None

    @property
    def error(self) -> str:
        """Why it did not compile, empty where it did."""
        return self.failed.message if self.failed else ""

    @property
    def moved(self) -> bool:
        """Whether anything did."""
        return self.diff is not None and bool(self.diff.changes)


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshPlan:
    """What is to be done: a commit upon ``base`` with the tree ``tree``, and a pull request.

    ``known`` is what the branch is at the remote now, empty where there is none; ``commit`` is
    empty where the branch has it all already.
    """

    base: str
    branch: str
    commit: str = ""
    known: str = ""
    title: str = ""
    body: str = ""
    locks: tuple[RefreshedLock, ...] = ()
    holds: tuple[str, ...] = field(default=())

    @property
    def moved(self) -> bool:
        """Whether there is anything newer."""
        return any(lock.moved for lock in self.locks)


def plan_refresh(request: RefreshRequest, source: Source, day: datetime, tell: Tell) -> RefreshPlan:
    """Resolve upgrades in a worktree of the base, and make the commit, which nobody sees yet.

    Raises ExternalServiceError where the remote has no such base or an index does not answer.
    """
    git(request.repository, "rev-parse", "--git-dir")
    base = _fetched(request, f"refs/heads/{request.base}")
    if base is None:
        msg = f"{request.remote} has no branch {request.base}"
        raise ExternalServiceError(msg, hint="name the base branch: --base BRANCH")
    known = _fetched(request, f"refs/heads/{request.branch}")
    with worktree(request.repository, base) as tree:
        locks = Locks(tree, request.manifest)
        before = load_record(locks.record)
        upgrades = CompileRequest(
            names=request.names,
            upgrade_all=not request.packages,
            upgrade=request.packages,
            find_links=request.find_links,
            offline=request.offline,
        )
        compiled = plan_compile(locks, upgrades, source, tell)
        refreshed = tuple(_refreshed(locks, compiled, before, upgrades, source))
        holds = _holds(locks)
        plan = RefreshPlan(
            base=base, branch=request.branch, known=known or "", locks=refreshed, holds=holds
        )
        if not plan.moved:
            return plan
        write_plan(locks, compiled)
        title = title_text(refreshed)
        commit = _commit(locks, title, day)
    if known and _same(request.repository, known, commit, base):
        commit = ""
    body = body_text(refreshed, holds)
    return RefreshPlan(
        base=base,
        branch=request.branch,
        commit=commit,
        known=known or "",
        title=title,
        body=body,
        locks=refreshed,
        holds=holds,
    )


def execute_refresh(request: RefreshRequest, plan: RefreshPlan, host: CodeHost) -> str:
    """Push the branch, from what it was alone, and open the draft; return its address."""
    if plan.commit:
        update = RefUpdate(
            source=plan.commit, target=f"refs/heads/{plan.branch}", expected=plan.known
        )
        push_together(request.repository, request.remote, [update])
    known = host.pull_request_of(plan.branch)
    pull = host.open_draft(
        title=plan.title,
        body=plan.body,
        head=plan.branch,
        base=request.base,
        labels=request.labels,
    )
    if known is not None and known.number == pull.number:
        # It was opened for what the branch had then.
        host.rewrite(pull.number, title=plan.title, body=plan.body)
    return pull.url


def _fetched(request: RefreshRequest, ref: str) -> str | None:
    """The commit of a remote's branch, in this clone; None where there is no such branch."""
    commit = remote_ref(request.repository, request.remote, ref)
    if commit is not None and find_commit(request.repository, commit) is None:
        fetch(request.repository, request.remote, ref)
    return commit


def _refreshed(
    locks: Locks,
    compiled: CompilePlan,
    before: IndexRecord,
    upgrades: CompileRequest,
    source: Source,
) -> Sequence[RefreshedLock]:
    found = []
    for each in compiled.locks:
        if each.error is not None:
            found.append(RefreshedLock(name=each.name, failed=each.error))
            continue
        old = LockSide(lock=parse_lock(each.before, file=each.file), record=before)
        new = LockSide(lock=parse_lock(each.after, file=each.file), record=compiled.record)
        stuck = (
            ()
            if upgrades.upgrade
            else stuck_packages(locks, each.name, each.after, upgrades, source)
        )
        found.append(RefreshedLock(name=each.name, diff=diff_locks(old, new), stuck=stuck))
    return found


def _holds(locks: Locks) -> tuple[str, ...]:
    """Lines by which packages are held back, with their reasons."""
    if not locks.holds.exists():
        return ()
    lines = locks.holds.read_text(encoding="utf-8").splitlines()
    return tuple(line for line in lines if line.strip() and not line.startswith("#"))


def _commit(locks: Locks, title: str, day: datetime) -> str:
    """One commit of everything below the folder of locks."""
    tree = locks.root
    write_git(tree, "add", "--all", "--", str(locks.folder))
    date = f"{day:%Y-%m-%dT%H:%M:%S%z}"
    write_git(tree, *IDENTITY, "commit", "--quiet", f"--date={date}", "-m", title)
    return git(tree, "rev-parse", "HEAD").strip()


def _same(repository: Path, one: str, other: str, base: str) -> bool:
    """Whether a branch holds the same files already, as one commit upon the same base."""
    trees = [git(repository, "rev-parse", f"{each}^{{tree}}").strip() for each in (one, other)]
    return trees[0] == trees[1] and find_commit(repository, f"{one}^1") == base


def plain(plan: RefreshPlan) -> Mapping[str, object]:
    """A plan as JSON."""
    return {
        "base": plan.base,
        "branch": plan.branch,
        "commit": plan.commit or None,
        "title": plan.title,
        "body": plan.body,
        "holds": list(plan.holds),
        "locks": [
            {
                "name": lock.name,
                "error": lock.error or None,
                "diff": lock.diff.model_dump(mode="json") if lock.diff else None,
                "stuck": [
                    {"package": s.name, "newest": s.newest, "why": s.why} for s in lock.stuck
                ],
            }
            for lock in plan.locks
        ],
    }
