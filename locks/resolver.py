"""What is asked of a resolver: a port, which uv and pip-compile serve."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from gauntlet.locks.manifest import LockSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """What to resolve: one lock of a repository, starting from the pins of ``present``.

    ``upgrade`` has packages whose pins do not count, ``upgrade_all`` says that none does. ``held``
    are constraints beside those of the lock (``numpy==2.3.1``). ``find_links`` with ``offline``
    makes a folder of wheels the only source. ``hashes`` leaves them out where it is false.
    """

    root: Path
    file: str
    spec: LockSpec
    python: str
    present: str = ""
    upgrade: Sequence[str] = ()
    upgrade_all: bool = False
    held: Sequence[str] = ()
    find_links: Sequence[Path] = ()
    offline: bool = False
    hashes: bool = True
    timeout_s: float = field(default=600.0)


class Resolver(Protocol):
    """Resolves a lock and returns its text, header included.

    Repeated calls with equal pins and an equal index return equal text. Hashes always come from
    the index: those of ``present`` are not trusted.

    The header has the exact command, which any person can run in the repository and which names
    no index, no folder of this machine. Raises ConfigError where the requirements do not fit
    together (with the resolver's own reason), InfrastructureError where the program is not
    there, ExternalServiceError where no index answers.
    """

    def command(self, resolution: Resolution) -> tuple[str, ...]:
        """The command that the header has. Raises ConfigError for what the resolver cannot do."""

    def resolve(self, resolution: Resolution) -> str:
        """Resolve; the text of the lock."""
