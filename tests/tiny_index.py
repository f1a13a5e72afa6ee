"""A folder of tiny wheels and source distributions that require each other, and a repository."""

import io
import tarfile
from pathlib import Path

from gauntlet.locks.record import Recorded
from gauntlet.locks.stubs import write_stub

MANIFEST = "lockfiles/locks.yaml"


def tiny_wheel(folder, name, version, *requires, tag="py3-none-any", python="", extras=()):
    """Write a wheel that holds nothing but metadata; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    recorded = Recorded(files={}, requires_python=python, extras=extras)
    path = write_stub(folder, name, version, recorded, requires)
    return path.rename(path.with_name(path.name.replace("py3-none-any", tag)))


def tiny_sdist(folder, name, version, *requires, builds_with=("setuptools>=77",)):
    """Write a source distribution whose metadata says what it requires; return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    top = f"{name}-{version}"
    info = f"Metadata-Version: 2.2\nName: {name}\nVersion: {version}\n"
    info += "".join(f"Requires-Dist: {each}\n" for each in requires)
    system = f"[build-system]\nrequires = {list(builds_with)!r}\n"
    project = f'{system}build-backend = "setuptools.build_meta"\n'
    project += f'[project]\nname = "{name}"\nversion = "{version}"\n'
    project += f"dependencies = {list(requires)!r}\n"
    path = folder / f"{top}.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        for member, text in {"PKG-INFO": info, "pyproject.toml": project}.items():
            entry = tarfile.TarInfo(f"{top}/{member}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path


def tiny_repository(root: Path, *, manifest: str, **files: str) -> Path:
    """Write a repository with locks.yaml and inputs; a name ``a_in`` is ``lockfiles/a.in``."""
    folder = root / "lockfiles"
    folder.mkdir(parents=True, exist_ok=True)
    (root / MANIFEST).write_text(manifest)
    for name, text in files.items():
        (folder / name.replace("_", ".", 1)).write_text(text)
    return root
