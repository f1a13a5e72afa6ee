"""The two locks that a command compares, from what it was given."""

from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.locks.manifest import FILE, Locks
from gauntlet.locks.reading import LockSide, read_side, side_at


def asked_pair(
    old: str | None,
    new: str | None,
    *,
    name: str | None,
    base: str | None,
    repository: Path,
    head: str | None = None,
    manifest: str = FILE,
) -> tuple[LockSide, LockSide]:
    """Read two locks: named one by one, or a lock of the manifest here and at ``base``.

    Raises UsageError for anything else.
    """
    if old and new and not (name or base or head):
        return read_side(old, repository=repository), read_side(new, repository=repository)
    if name and base and not (old or new):
        locks = Locks(repository, manifest)
        locks.manifest.pick((name,))
        path = locks.relative(name)
        before = side_at(repository, base, path)
        if head:
            return before, side_at(repository, head, path)
        return before, read_side(path, repository=repository)
    msg = "say what to compare: OLD and NEW, or --lock NAME with --base REV"
    raise UsageError(msg, hint="OLD and NEW are files, or REV:PATH")
