"""What writes to a git repository: worktrees, commits, refs, pushes; never the user's own tree."""

import contextlib
import tempfile
from collections.abc import Iterator
from pathlib import Path

from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.core.git import git
from gauntlet.core.proc import Completed, run

IDENTITY = ("-c", "user.name=Gauntlet", "-c", "user.email=gauntlet@localhost")
_TIMEOUT_S = 120.0
_PUSH_TIMEOUT_S = 300.0


@contextlib.contextmanager
def worktree(repository: Path, commit: str) -> Iterator[Path]:
    """A detached worktree outside the repository, removed however it ends."""
    with tempfile.TemporaryDirectory(prefix="gauntlet-worktree-") as folder:
        tree = Path(folder) / "tree"
        write_git(repository, "worktree", "add", "--detach", "--quiet", str(tree), commit)
        try:
            yield tree
        finally:
            write_git(repository, "worktree", "remove", "--force", str(tree))


def write_git(folder: Path, *arguments: str) -> str:
    """Run a git command that writes; return its output. Raises InfrastructureError on refusal."""
    done = try_git(folder, *arguments)
    if done.returncode != 0:
        msg = f"git {' '.join(arguments)} in {folder}: {refusal(done)}"
        raise InfrastructureError(msg)
    return done.stdout


def try_git(folder: Path, *arguments: str, timeout: float = _TIMEOUT_S) -> Completed:
    """Run a git command that writes; hooks and signatures of the user's stay out of it."""
    quiet = ("-c", "core.hooksPath=/dev/null", "-c", "commit.gpgSign=false")
    argv = ["git", "-C", str(folder), *quiet, *arguments]
    return run(argv, timeout=timeout, check=False)


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


def _commit(repository: Path, revision: str) -> str:
    return git(repository, "rev-parse", f"{revision}^{{commit}}").strip()
