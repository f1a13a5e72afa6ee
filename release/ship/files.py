"""Files of a release in the package index: below the commit that they were built from."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, NotQualifiedError
from gauntlet.core.findings import Finding
from gauntlet.core.ids import file_digest
from gauntlet.release.artifacts import Artifact


def files_of(artifacts: Sequence[Artifact]) -> list[Artifact]:
    """Those that are files: wheels and the source distribution."""
    return [each for each in artifacts if each.kind in {"wheel", "sdist"}]


def place_files(artifacts: Sequence[Artifact], dist: Path, folder: Path) -> int:
    """Copy files to where the index has them; return how many were not there yet.

    Each appears under its name when it is whole. Raises NotQualifiedError where a file is not the
    artifact, or another file of that name was published.
    """
    placed = 0
    for each in files_of(artifacts):
        source, target = dist / each.name, folder / each.name
        if target.exists():
            _ensure_same(target, each, "was published with other content: a file never changes")
            continue
        _ensure_same(source, each, "is not what was proven any more")
        folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_name(f".{target.name}.part")
        try:
            shutil.copyfile(source, partial)
        except OSError as error:
            partial.unlink(missing_ok=True)
            msg = f"cannot write {target}: {error.strerror or error}"
            raise InfrastructureError(msg, hint="free some space; it goes on from here") from error
        partial.replace(target)
        placed += 1
    return placed


def check_files(artifacts: Sequence[Artifact], folder: Path) -> Iterator[Finding]:
    """Compare published files with what the record says of them."""
    for each in files_of(artifacts):
        path = folder / each.name
        if not path.exists():
            message, remedy = f"{path} is not there", "publish again: it continues"
        elif f"sha256:{file_digest(path)}" != each.digest:
            message, remedy = f"{path} is another file", "roll back, and find out who changed it"
        else:
            continue
        yield Finding(check="published-file", subject=each.name, message=message, remedy=remedy)


def _ensure_same(path: Path, artifact: Artifact, what: str) -> None:
    if not path.exists():
        msg = f"{path} is not there any more"
        raise NotQualifiedError(msg, hint="collect it again: release build --collect")
    if f"sha256:{file_digest(path)}" != artifact.digest:
        raise NotQualifiedError(f"{path} {what}", hint="nothing more is published")
