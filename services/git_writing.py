"""What writes to a git repository: worktrees, commits, refs, pushes; never the user's own tree."""

import contextlib
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.core.git import git
from gauntlet.core.proc import Completed, run

IDENTITY = ("-c", "user.name=Gauntlet", "-c", "user.email=gauntlet@localhost")
_TIMEOUT_S = 120.0
_PUSH_TIMEOUT_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RefUpdate:
    """One ref to push: ``source`` here becomes ``target`` there, which is still ``expected``.

    ``expected`` is what the ref points to itself (of an annotated tag: the tag); empty says that
    it must not be there yet.
    """

    source: str
    target: str
    expected: str = ""


@contextlib.contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Path]:
    """A detached worktree outside the repository, removed however it ends."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-worktree-") as folder:
        tree = Path(folder) / "tree"
        # What a killed process left is known for ever, if nobody forgets it.
        write_git(repository, "worktree", "prune")
        try:
            write_git(repository, "worktree", "add", "--detach", "--quiet", str(tree), commit)
            yield tree
        finally:
            _forget_worktree(repository, tree)


def _forget_worktree(repository: Path, tree: Path) -> None:
    """Remove a worktree, also one that was interrupted while git made it.

    Such a one is locked, which takes a second ``--force``; or git does not know it yet.
    """
    listed = git(repository, "worktree", "list", "--porcelain").splitlines()
    if f"worktree {tree.resolve()}" in listed:
        write_git(repository, "worktree", "remove", "--force", "--force", str(tree))


def write_git(folder: Path, *arguments: str) -> str:
    """Run a git command that writes; return its output. Raises InfrastructureError on refusal."""
    done = try_git(folder, *arguments)
    if done.returncode != 0:
        msg = f"git {' '.join(arguments)} in {folder}: {refusal(done)}"
        raise InfrastructureError(msg)
    return done.stdout


def try_git(
    folder: Path,
    *arguments: str,
    timeout: float = _TIMEOUT_S,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
) -> Completed:
    """Run a git command that writes; hooks and signatures of the user's stay out of it.

    ``environment`` is added to the present one.
    """
    quiet = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
    argv = ["git", "-C", str(folder), *quiet, *arguments]
    env = {**os.environ, **environment} if environment else None
    return run(argv, timeout=timeout, check=False, env=env, stdin=stdin)


def push(repository: Path, remote: str, source: str, target: str, *, new: bool = False) -> None:
    """Push one ref, never over something else: ``new`` refuses where the remote has it already.

    ``source`` is a revision or ref here, ``target`` the whole ref there. What is there already as
    the same commit is left. Raises ExternalServiceError where the push is refused.
    """
    # An empty lease says that the ref must not be there yet: of two at once one is refused.
    lease = (f"--force-with-lease={target}:",) if new else ()
    done = try_git(
        repository, "push", "--quiet", *lease, remote, f"{source}:{target}", timeout=_PUSH_TIMEOUT_S
    )
    if done.returncode == 0:
        return
    if new and remote_ref(repository, remote, target) == _commit(repository, source):
        return
    hint = f"may the token push to {remote}? is there another {target}?"
    raise ExternalServiceError(f"git push {remote} {target}: {refusal(done, -1)}", hint=hint)


def push_together(repository: Path, remote: str, updates: Sequence[RefUpdate]) -> None:
    """Push refs, all or none, each only from where it is expected to be.

    Raises ExternalServiceError where any is refused: the caller looks what is there now.
    """
    leases = [f"--force-with-lease={update.target}:{update.expected}" for update in updates]
    # Refs of other namespaces would be guessed at, were the source not a whole id or ref.
    refs = [f"{update.source}:{update.target}" for update in updates]
    done = try_git(
        repository, "push", "--quiet", "--atomic", *leases, remote, *refs, timeout=_PUSH_TIMEOUT_S
    )
    if done.returncode != 0:
        names = ", ".join(update.target for update in updates)
        msg = f"git push {remote} {names}: {_rejected(done)}"
        raise ExternalServiceError(msg, hint=f"may the token push to {remote}?")


def remote_refs(repository: Path, remote: str, *patterns: str) -> dict[str, tuple[str, str]]:
    """What refs of a remote point to: the object itself, and the commit (the same but for tags).

    Raises ExternalServiceError where the remote does not answer.
    """
    done = try_git(repository, "ls-remote", remote, *patterns, timeout=_PUSH_TIMEOUT_S)
    if done.returncode != 0:
        raise ExternalServiceError(f"git ls-remote {remote}: {refusal(done, -1)}")
    found: dict[str, tuple[str, str]] = {}
    for line in done.stdout.splitlines():
        sha, _, name = line.partition("\t")
        # The peeled tag comes after the tag itself.
        if name.endswith("^{}"):
            found[name[:-3]] = (found[name[:-3]][0], sha)
        else:
            found[name] = (sha, sha)
    return found


def remote_ref(repository: Path, remote: str, ref: str) -> str | None:
    """What a remote's ref points to (an annotated tag: its commit); None where it has none.

    Raises ExternalServiceError where the remote does not answer.
    """
    done = try_git(repository, "ls-remote", remote, ref, f"{ref}^{{}}", timeout=_PUSH_TIMEOUT_S)
    if done.returncode != 0:
        raise ExternalServiceError(f"git ls-remote {remote}: {refusal(done, -1)}")
    # The peeled tag comes after the tag itself.
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return lines[-1][0] if lines else None


def refusal(done: Completed, line: int = 0) -> str:
    """Why git refused, in its own words."""
    said = (done.stderr or done.stdout).strip().splitlines()
    return said[line] if said else f"exit status {done.returncode}"


def _rejected(done: Completed) -> str:
    """The line that says which ref was refused, or what git said last."""
    lines = [line.strip() for line in done.stderr.splitlines() if "[re" in line]
    return lines[0].removeprefix("! ") if lines else refusal(done, -1)


def _commit(repository: Path, revision: str) -> str:
    return git(repository, "rev-parse", f"{revision}^{{commit}}").strip()
