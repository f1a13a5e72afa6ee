"""What changed lock files mean for jobs: those that install a changed package run. Pure.

Read from git once, recorded with the changes, and applied when jobs are chosen.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase


@dataclass(frozen=True, slots=True, kw_only=True)
class LockedInstall:
    """Jobs, by patterns of their keys, that install the same packages of a lock.

    ``package`` is one of theirs that changed, empty where none did; ``way`` leads down to it.
    """

    jobs: tuple[str, ...]
    package: str = ""
    versions: str = ""
    way: tuple[str, ...] = ()

    def names(self, key: str) -> bool:
        """Whether a job is one of them."""
        return any(fnmatchcase(key, pattern) for pattern in self.jobs)


@dataclass(frozen=True, slots=True, kw_only=True)
class LockChange:
    """A lock file that changed. ``trouble`` says why it is a file like any other.

    ``record`` is the file beside it that changes with it and is installed by nobody.
    """

    path: str
    record: str = ""
    trouble: str = ""
    installs: tuple[LockedInstall, ...] = field(default=())


class Narrowed:
    """Which changed locks concern which jobs."""

    def __init__(self, locks: Iterable[LockChange]) -> None:
        every = tuple(locks)
        self._understood = {lock.path: lock for lock in every if not lock.trouble}
        self.troubles = {lock.path: lock.trouble for lock in every if lock.trouble}
        # A record goes with its locks: with one that is not understood it counts too.
        unclear = {lock.record for lock in every if lock.trouble}
        self._records = {lock.record for lock in every} - unclear - {""}

    def __bool__(self) -> bool:
        """Whether any lock is narrowed."""
        return bool(self._understood)

    def is_record(self, path: str) -> bool:
        """Whether a path is a record whose changed locks are all understood."""
        return path in self._records

    def exempts(self, path: str, key: str) -> bool:
        """Whether a path concerns a job by the packages of a lock alone, not as a file."""
        return self.is_record(path) or bool(self._of(path, key))

    def concerning(self, path: str, key: str) -> LockedInstall | None:
        """The entry by which a changed lock concerns a job, or None."""
        return next((install for install in self._of(path, key) if install.package), None)

    def spares(self, key: str) -> str | None:
        """A changed lock of which a job installs nothing that changed, or None."""
        named = (path for path in self._understood if self._of(path, key))
        return next((path for path in named if self.concerning(path, key) is None), None)

    def _of(self, path: str, key: str) -> list[LockedInstall]:
        lock = self._understood.get(path)
        return [install for install in lock.installs if install.names(key)] if lock else []
