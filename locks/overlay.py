"""A view of a repository in which one folder may be written, and the repository stays as it is."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def overlay(root: Path, folder: str) -> Iterator[Path]:
    """Yield a folder that shows ``root``, with a copy of the files of its ``folder``.

    Everything else in it is a link. Resolvers run there, so that paths in a lock are those of the
    repository and no half of a lock is ever seen in it.
    """
    with tempfile.TemporaryDirectory(prefix="gauntlet-locks-") as made:
        view = Path(made)
        _show(root, view, Path(folder).parts)
        yield view


def _show(source: Path, target: Path, parts: tuple[str, ...]) -> None:
    target.mkdir(exist_ok=True)
    for entry in source.iterdir():
        if not parts and entry.is_file():
            shutil.copyfile(entry, target / entry.name)
        elif not parts or entry.name != parts[0]:
            (target / entry.name).symlink_to(entry.resolve())
    if parts:
        _show(source / parts[0], target / parts[0], parts[1:])
