"""What checks look at."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from packaging.markers import Marker

from gauntlet.locks.header import architecture
from gauntlet.locks.lock_file import LockFile, Pin
from gauntlet.locks.manifest import LockSpec
from gauntlet.locks.record import IndexRecord, Recorded


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One lock, what ``locks.yaml`` says of it and the record of the index.

    ``texts`` has the text of each file that the lock is made from, by its path in the repository;
    ``command`` is the one that its header ought to have.
    """

    name: str
    spec: LockSpec
    python: str
    lock: LockFile
    record: IndexRecord
    command: tuple[str, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def remedy(self) -> str:
        """The command that makes most findings go away."""
        return f"gauntlet locks compile {self.name}"

    def at(self, pin: Pin) -> str:
        """Where a pin stands, and which it is."""
        return f"{self.lock.file}:{pin.line} {pin.key}"

    def recorded(self, pin: Pin) -> Recorded | None:
        """What the record says of a pin."""
        return self.record.packages.get(pin.key)

    def pins_on(self, platform: str) -> list[Pin]:
        """Pins that are installed on a platform."""
        where = self.environments[platform]
        return [pin for pin in self.lock.pins if holds(pin.marker, where)]

    @cached_property
    def environments(self) -> Mapping[str, Mapping[str, str]]:
        """Values of markers on each platform of the lock."""
        return {each: environment(each, self.python) for each in self.spec.platforms}


def environment(platform: str, python: str) -> dict[str, str]:
    """Values of markers (PEP 508) on a platform, with the first release of a Python."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": architecture(platform),
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
    }


def holds(marker: str, where: Mapping[str, str], extra: str = "") -> bool:
    """Whether a marker holds in an environment; no marker always does."""
    return not marker or Marker(marker).evaluate({**where, "extra": extra})
