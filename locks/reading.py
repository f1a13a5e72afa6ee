"""Locks named on a command line: a file, or a file at a revision of git."""

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from gauntlet.core.errors import UsageError
from gauntlet.core.git import find_commit, git
from gauntlet.core.json_file import parse_json_model
from gauntlet.locks.lock_file import LockFile, load_lock, parse_lock
from gauntlet.locks.manifest import RECORD
from gauntlet.locks.record import IndexRecord, load_record


@dataclass(frozen=True, slots=True, kw_only=True)
class LockSide:
    """A lock with the record that lies beside it, which is empty where there is none."""

    lock: LockFile
    record: IndexRecord


def read_side(name: str, *, repository: Path) -> LockSide:
    """Read ``FILE`` or ``REV:PATH``.

    Raises UsageError where neither is there, ConfigError where it is no lock.
    """
    path = repository / name
    if path.is_file():
        lock = load_lock(path, file=name)
        return LockSide(lock=lock, record=load_record(path.parent / RECORD))
    revision, colon, inside = name.partition(":")
    if not colon:
        msg = f"there is no lock {name}"
        raise UsageError(msg, hint="name a file, or REV:PATH for a file at a revision of git")
    return side_at(repository, revision, inside)


def side_at(repository: Path, revision: str, path: str) -> LockSide:
    """Read a lock at a revision. Raises UsageError where it is not there."""
    text = text_at(repository, revision, path)
    if text is None:
        msg = f"{revision} has no file {path}"
        raise UsageError(msg, hint="the path counts from the root of the repository")
    beside = (PurePosixPath(path).parent / RECORD).as_posix()
    said = text_at(repository, revision, beside)
    file = f"{revision}:{beside}"
    record = parse_json_model(said, IndexRecord, file=file) if said is not None else IndexRecord()
    return LockSide(lock=parse_lock(text, file=f"{revision}:{path}"), record=record)


def text_at(repository: Path, revision: str, path: str) -> str | None:
    """Text of a file at a revision, None where it has none. Raises UsageError for a revision."""
    commit = find_commit(repository, revision)
    if commit is None:
        msg = f"git knows no revision {revision!r}"
        raise UsageError(msg, hint="fetch it, or name another one")
    listed = git(repository, "ls-tree", "--full-tree", "-z", commit, "--", path)
    if not listed.startswith("100"):
        return None
    return git(repository, "cat-file", "blob", f"{commit}:{path}")
