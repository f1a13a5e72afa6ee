"""What ``gauntlet locks bisect`` was asked, and the request that it makes."""

import re
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.yaml_file import read_text
from gauntlet.locks.bisect.use import BisectRequest
from gauntlet.locks.lock_file import LockFile
from gauntlet.locks.manifest import HOLDS, Locks, LockSpec
from gauntlet.locks.reading import read_side

_PYTHON = re.compile(r"--python-version[= ](3\.\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options, as they were given."""

    old: str
    new: str
    name: str | None
    log: Path | None
    max_installs: int
    prove_ends: bool
    work: Path
    hold: Path | None
    write_hold: bool
    find_links: tuple[Path, ...]
    no_index: bool
    python: str | None
    test_timeout: float
    root: Path
    manifest: str
    command: tuple[str, ...]

    def request(self) -> BisectRequest:
        """Read what is named. Raises UsageError or ConfigError for what cannot be read."""
        if self.no_index and not self.find_links:
            msg = "--no-index leaves nothing to install from"
            raise UsageError(msg, hint="give --find-links DIR, a folder of wheels")
        if self.python and not re.fullmatch(r"3\.\d+", self.python):
            msg = f"--python {self.python}: it is no version of Python 3"
            raise UsageError(msg, hint="write 3.N, such as 3.12")
        old = read_side(self.old, repository=self.root)
        new = read_side(self.new, repository=self.root)
        spec, python = self._spec()
        here = BisectRequest.__dataclass_fields__["python"].default
        return BisectRequest(
            old=old,
            new=new,
            command=self.command,
            work=self.work,
            repository=self.root,
            folder=Path(),
            spec=spec,
            python=self.python or python or _python_of(new.lock) or str(here),
            log=read_text(self.log) if self.log else "",
            max_installs=self.max_installs,
            prove_ends=self.prove_ends,
            find_links=self.find_links,
            offline=self.no_index,
            test_timeout_s=self.test_timeout,
        )

    def holds(self) -> Path | None:
        """Where the hold is to be written; None where nobody asked for it."""
        if self.hold is not None:
            return self.hold
        return (self.root / self.manifest).parent / HOLDS if self.write_hold else None

    def _spec(self) -> tuple[LockSpec, str | None]:
        """Settings of the lock by name; without one, none but its pins."""
        if self.name is None:
            return LockSpec(purpose="bisect", inputs=("bisect.in",)), None
        manifest = Locks(self.root, self.manifest).manifest
        manifest.pick((self.name,))
        spec = manifest.locks[self.name]
        resolver = manifest.resolver_of(self.name)
        return spec.model_copy(update={"resolver": resolver}), manifest.python_of(self.name)


def _python_of(lock: LockFile) -> str | None:
    """The Python that the header's command names."""
    found = _PYTHON.search(" ".join(lock.command))
    return found[1] if found else None
