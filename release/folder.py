"""The folder of a release: its state, its artifacts, and the lock that one manager holds."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.files import sole_holder, write_atomic
from gauntlet.core.yaml_file import load_model
from gauntlet.release.state import Release
from gauntlet.release.version import ReleaseVersion


@dataclass(frozen=True, slots=True)
class ReleaseFolder:
    """``RELEASES/v1.2.3``: ``release.json``, ``candidates/v1.2.3rc1/``, ``published/``."""

    path: Path

    @classmethod
    def of(cls, releases: Path, version: ReleaseVersion) -> "ReleaseFolder":
        """The folder of a release below the folder of all releases."""
        return cls(releases.absolute() / version.final.tag)

    @property
    def state_file(self) -> Path:
        """Where the state is."""
        return self.path / "release.json"

    def candidate(self, name: str) -> Path:
        """Where the artifacts of a candidate are: ``dist/`` and ``images/`` below it."""
        return self.path / "candidates" / name

    @property
    def published(self) -> Path:
        """Where what is published of this release is put together: documents, record."""
        return self.path / "published"

    @property
    def public(self) -> Path:
        """Where index and images of all releases are, where the policy names no other place."""
        return self.path.parent / "public"

    def load(self) -> Release:
        """Read the state. Raises UsageError where there was no cut yet, ConfigError for damage."""
        if not self.state_file.exists():
            msg = f"there is no release {self.path.name} in {self.path.parent}"
            raise UsageError(msg, hint=f"begin it with: release cut {self.path.name}")
        return load_model(self.state_file, Release)

    def find(self) -> Release | None:
        """Read the state; None where there was no cut yet."""
        return self.load() if self.state_file.exists() else None

    def save(self, state: Release) -> None:
        """Keep the state; a crash leaves the one before or this one."""
        write_atomic(self.state_file, state.model_dump_json(indent=2) + "\n", fsync=True)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Be the only one who changes this release; raises InfrastructureError where another is."""
        busy = f"another process is at work on {self.path.name} in {self.path.parent}"
        with sole_holder(self.path / ".lock", busy=busy):
            yield
