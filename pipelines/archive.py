"""Read a source distribution once, in a stream: its job definitions and the list of its files."""

import json
import shutil
import tarfile
import tempfile
import zlib
from pathlib import Path, PurePosixPath

from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.pipelines.sources import FILE_LIST, MARKER

_FOLDER = ".buildkite"
_LARGEST_FILE = 16 << 20
_MOST_FILES = 500_000


def unpack_definitions(tarball: Path, tree: Path) -> None:
    """Extract ``.buildkite`` and the file list into ``tree``, which appears whole or not at all.

    Raises ExternalServiceError for an archive that is broken or unsafe (and removes it), and
    InfrastructureError where the disk refuses.
    """
    name, _, version = tree.name.partition("-")
    temporary = Path(tempfile.mkdtemp(prefix=f".{tree.name}.", dir=tree.parent))
    try:
        files = _extract(tarball, temporary)
        (temporary / FILE_LIST).write_text("\n".join(files) + "\n", encoding="utf-8")
        marker = json.dumps({"name": name, "version": version, "files": len(files)})
        (temporary / MARKER).write_text(marker, encoding="utf-8")
        _put_in_place(temporary, tree)
    except (tarfile.TarError, EOFError, zlib.error) as error:
        tarball.unlink(missing_ok=True)
        msg = f"{tarball.name} is not a whole archive: {error}; removed it"
        raise ExternalServiceError(msg, hint="run the command again to download it anew") from error
    except OSError as error:
        msg = f"cannot unpack {tarball.name}: {error.strerror or error}"
        raise InfrastructureError(msg, hint="free some space or choose another folder") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _extract(tarball: Path, root: Path) -> list[str]:
    """Write the definitions below ``root``; return the sorted paths of all regular files."""
    files = []
    with tarfile.open(tarball, "r|gz") as archive:
        for member in archive:
            relative = _relative(member.name, tarball)
            if relative is None or not member.isreg():
                # Links and devices are neither listed nor followed: nothing here needs them.
                continue
            files.append(relative.as_posix())
            if len(files) > _MOST_FILES:
                raise _refused(tarball, "too many files")
            if relative.parts[0] == _FOLDER:
                _write(archive, member, root / relative, tarball)
    return sorted(set(files))


def _write(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path, tarball: Path) -> None:
    if member.size > _LARGEST_FILE:
        raise _refused(tarball, f"{member.name} has {member.size} bytes")
    stream = archive.extractfile(member)
    if stream is None:
        raise _refused(tarball, f"{member.name} has no content")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(stream.read())


def _relative(name: str, tarball: Path) -> PurePosixPath | None:
    """Path below the archive's top folder; None for that folder itself."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or "\0" in name:
        raise _refused(tarball, f"the member {name!r} leaves the archive")
    return PurePosixPath(*path.parts[1:]) if len(path.parts) > 1 else None


def _refused(tarball: Path, why: str) -> ExternalServiceError:
    tarball.unlink(missing_ok=True)
    msg = f"{tarball.name} is not safe to unpack: {why}; removed it"
    return ExternalServiceError(msg)


def _put_in_place(temporary: Path, tree: Path) -> None:
    """Rename into place; a tree that another process finished meanwhile is as good as ours."""
    if tree.exists() and not (tree / MARKER).is_file():
        shutil.rmtree(tree)
    try:
        temporary.rename(tree)
    except OSError:
        if not (tree / MARKER).is_file():
            raise
