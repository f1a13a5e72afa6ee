"""buildah with a storage of its own, which goes when it is done: no daemon, no leftovers."""

import logging
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.proc import run

_LOGGER = logging.getLogger(__name__)
PROGRAM = "buildah"


@dataclass(frozen=True, slots=True)
class BuildStorage:
    """Where buildah keeps images and containers meanwhile."""

    folder: Path

    def command(self, *arguments: str) -> list[str]:
        """A call of buildah that sees this storage alone."""
        # With a root of its own buildah heeds no driver but the one of its command line.
        own = ["--storage-driver", "vfs"]
        own += ["--root", str(self.folder / "root"), "--runroot", str(self.folder / "run")]
        return [PROGRAM, *own, *arguments]

    def load(self, image: str, name: str, *, timeout: float) -> str:
        """Bring an image of a layout (``oci:FOLDER:TAG``) in, and return what it is called here.

        Taken from the layout itself it would be named after its folder, and few folders have a
        name that images may have. Raises CommandError where it cannot be read.
        """
        inside = f"vfs@{self.folder / 'root'}+{self.folder / 'run'}"
        called = f"localhost/{name}:it"
        command = ["skopeo", "copy", "--quiet", image, f"containers-storage:[{inside}]{called}"]
        run(command, timeout=timeout, env=self.environment, supervised=True)
        return called

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
