"""buildah with a storage of its own, which goes when it is done: no daemon, no leftovers."""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

_LOGGER = logging.getLogger(__name__)
PROGRAM = "buildah"


@dataclass(frozen=True, slots=True)
class BuildStorage:
    """Where buildah keeps images and containers meanwhile."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        """A call of buildah that sees this storage alone."""
        own = ["--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]
        return [PROGRAM, *own, *arguments]

    @property
    def environment(self) -> dict[str, str]:
        """Our own, with what lets buildah work inside a container and without privileges."""
        return {
            **os.environ,
            "STORAGE_DRIVER": "vfs",
            "BUILDAH_ISOLATION": "chroot",
            "TMPDIR": str(self.folder / "tmp"),
        }


@contextmanager
def build_storage(work: Path) -> Iterator[BuildStorage]:
    """Make a storage below a folder, which has room for several copies of an image."""
    work.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="buildah-", dir=work))
    (folder / "tmp").mkdir()
    try:
        yield BuildStorage(folder)
    finally:
        _remove(folder)


def _remove(folder: Path) -> None:
    """Remove a storage; with something of the machine mounted in it, it is left for a person."""
    if mounted := _mounts_below(folder):
        _LOGGER.warning("%s is left: %s is mounted in it", folder, mounted[0])
        return
    problems: list[str] = []
    shutil.rmtree(folder, onerror=lambda _function, path, _error: problems.append(str(path)))
    if problems:
        _LOGGER.warning("%s is left: %s cannot be removed", folder, problems[0])


def _mounts_below(folder: Path) -> Sequence[str]:
    inside = f"{folder.resolve()}/"
    lines = Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines()
    return [path for line in lines if (path := line.split()[4]).startswith(inside)]
