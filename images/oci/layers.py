"""The files of an image as its layers leave them: what a later one replaces or removes is gone."""

import hashlib
import tarfile
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import IO

from gauntlet.core.errors import ExternalServiceError

_REMOVED = ".wh."
_EMPTIED = ".wh..wh..opq"
_CHUNK = 1 << 20
_KEPT_BYTES = 64 << 20


@dataclass(slots=True)
class Files:
    """Files by path, without a slash in front.

    ``hashes`` are sha256 in hex, or ``link to X`` for a symbolic link; ``contents`` are kept of
    a few only.
    """

    hashes: dict[str, str] = field(default_factory=dict)
    contents: dict[str, bytes] = field(default_factory=dict)


def read_files(
    layers: Iterable[Path], wanted: Callable[[str], bool], kept: Callable[[str], bool]
) -> Files:
    """Hash the files whose path is ``wanted``, and keep the content of those ``kept``.

    Each layer is read once from its start, in bounded memory. Raises ExternalServiceError for
    what is no layer.
    """
    files = Files()
    for layer in layers:
        reading = _Layer(below=files, wanted=wanted, kept=kept)
        try:
            with tarfile.open(layer, mode="r|*") as tar:
                for member in tar:
                    reading.take(tar, member)
        except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
            raise ExternalServiceError(f"layer {layer.name}: cannot be read: {error}") from error
        files.hashes.update(reading.own.hashes)
        files.contents.update(reading.own.contents)
    return files


class _Layer:
    """One layer over those below; a whiteout speaks of the layers below, never of its own."""

    def __init__(
        self, *, below: Files, wanted: Callable[[str], bool], kept: Callable[[str], bool]
    ) -> None:
        self.own = Files()
        self._below = below.hashes
        self._wanted = wanted
        self._kept = kept
        # Layers have many files that are not wanted: each must cost one look-up, not a search.
        self._folders = {
            str(parent) for path in below.hashes for parent in PurePosixPath(path).parents
        }

    def take(self, tar: tarfile.TarFile, member: tarfile.TarInfo) -> None:
        """Note one member."""
        path = _clean(member.name)
        folder, _, name = path.rpartition("/")
        if name == _EMPTIED:
            self._forget(folder)
        elif name.startswith(_REMOVED):
            gone = name.removeprefix(_REMOVED)
            self._forget(f"{folder}/{gone}" if folder else gone)
        elif not member.isdir():
            # A file in the place of a folder takes away all that was in it.
            self._forget(path)
            if self._wanted(path):
                self._note(tar, member, path)

    def _note(self, tar: tarfile.TarFile, member: tarfile.TarInfo, path: str) -> None:
        own = self.own.hashes
        if member.isfile():
            own[path], content = _read(tar.extractfile(member), keep=self._kept(path))
            if content is not None:
                self.own.contents[path] = content
        elif member.issym():
            own[path] = f"link to {member.linkname}"
        elif member.islnk():
            target = _clean(member.linkname)
            own[path] = own.get(target) or self._below.get(target) or f"link to {target}"

    def _forget(self, path: str) -> None:
        self._below.pop(path, None)
        if (path or ".") in self._folders:
            inside = f"{path}/" if path else ""
            for known in [known for known in self._below if known.startswith(inside)]:
                del self._below[known]


def _clean(name: str) -> str:
    return name.removeprefix("./").strip("/")


def _read(stream: IO[bytes] | None, *, keep: bool) -> tuple[str, bytes | None]:
    digest, content = hashlib.sha256(), bytearray()
    while stream is not None and (chunk := stream.read(_CHUNK)):
        digest.update(chunk)
        if keep and len(content) < _KEPT_BYTES:
            content += chunk
    return digest.hexdigest(), bytes(content) if keep else None
