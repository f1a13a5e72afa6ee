"""Whether the wheel that is installed in an image is the one that ships, file by file."""

import csv
import hashlib
import io
import re
import zipfile
from base64 import urlsafe_b64decode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename

from gauntlet.core.errors import UsageError
from gauntlet.images.oci.layers import read_files

_CHUNK = 1 << 20
_SHOWN = 5
_DIST_INFO = re.compile(r"(?P<root>.*?)/?(?P<info>(?P<name>[^/]+?)-[^/-]+\.dist-info)/RECORD")
# Parts of a wheel that an installer puts elsewhere, by rules of its own.
_MOVED = re.compile(r"[^/]+\.data/(?P<scheme>[^/]+)/(?P<path>.+)")
# Installers write this one anew: it lists what they added.
_OWN = "RECORD"


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelContents:
    """Files of a wheel by the path that they are installed at, with the hash of each."""

    name: str
    dist_info: str
    hashes: Mapping[str, str]

    @property
    def packages(self) -> frozenset[str]:
        """Folders in which nothing but this wheel has files."""
        tops = {path.partition("/")[0] for path in self.hashes if "/" in path}
        return frozenset(tops - {self.dist_info})


def read_wheel(path: Path) -> WheelContents:
    """Read a wheel and hash what is in it. Raises UsageError where it is none."""
    hashes: dict[str, str] = {}
    try:
        name = parse_wheel_filename(path.name)[0]
        with zipfile.ZipFile(path) as archive:
            for member in archive.infolist():
                if not member.is_dir() and (where := _installed_at(member.filename)):
                    hashes[where] = _zipped_sha256(archive, member)
    except (InvalidWheelFilename, zipfile.BadZipFile, OSError) as error:
        raise UsageError(f"{path}: no wheel: {error}", hint="build it again") from error
    infos = [found for where in hashes if (found := _DIST_INFO.fullmatch(where))]
    if len(infos) != 1:
        raise UsageError(f"{path}: it has {len(infos)} dist-info folders", hint="build it again")
    return WheelContents(name=name, dist_info=infos[0]["info"], hashes=hashes)


def differences(wheel: WheelContents, layers: Sequence[Path]) -> list[str]:
    """Say what is other in an image than in the wheel; nothing where it is the same.

    Files count as they are in the image, and as the RECORD of the installation lists them.
    Scripts, headers and data are left out: installers rewrite them.
    """

    def wanted(path: str) -> bool:
        parts = path.split("/")
        return (
            _is_record(path)
            or any(part in wheel.packages or part == wheel.dist_info for part in parts)
            or any("/".join(parts[start:]) in wheel.hashes for start in range(len(parts)))
        )

    files = read_files(layers, wanted, kept=_is_record)
    seen = files.hashes
    found = [match for path in seen if (match := _DIST_INFO.fullmatch(path))]
    places = [match for match in found if canonicalize_name(match["name"]) == wheel.name]
    if not places:
        return [f"{wheel.name} is not installed"]
    if len(places) > 1:
        where = ", ".join(sorted(match[0].removesuffix("/RECORD") for match in places))
        return [f"{wheel.name} is installed {len(places)} times: {where}"]
    if places[0]["info"] != wheel.dist_info:
        return [f"{places[0]['info']} is installed, and not {wheel.dist_info}"]
    root = f"{places[0]['root']}/" if places[0]["root"] else ""
    recorded = _recorded(files.contents.get(places[0][0], b""))
    installed = {path.removeprefix(root): seen[path] for path in seen if path.startswith(root)}
    return _compare(wheel, installed, recorded)


def _compare(
    wheel: WheelContents, installed: Mapping[str, str], recorded: Mapping[str, str]
) -> list[str]:
    record = f"{wheel.dist_info}/{_OWN}"
    wanted = {path: value for path, value in wheel.hashes.items() if path != record}
    missing = [path for path in wanted if path not in installed]
    other = [path for path in wanted if path in installed and installed[path] != wanted[path]]
    unlisted = [path for path in wanted if recorded.get(path) != wanted[path]]
    extra = [
        path
        for path in installed
        if path.partition("/")[0] in wheel.packages
        and path not in wanted
        and not path.endswith(".pyc")
    ]
    parts = (
        ("not in the image", missing),
        ("another content", other),
        ("in the image, and not in the wheel", extra),
        (
            f"not as {record} lists it",
            [path for path in unlisted if path not in {*missing, *other}],
        ),
    )
    return [f"{what}: {_names(paths)}" for what, paths in parts if paths]


def _is_record(path: str) -> bool:
    return path.endswith(".dist-info/RECORD")


def _names(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(sorted(paths)[:_SHOWN]) + more


def _installed_at(member: str) -> str:
    """Path below site-packages; empty for what installers put elsewhere."""
    moved = _MOVED.fullmatch(member)
    if moved is None:
        return member
    return moved["path"] if moved["scheme"] in {"purelib", "platlib"} else ""


def _recorded(raw: bytes) -> dict[str, str]:
    """Hashes in hex by path; lines without a sha256 are left out."""
    hashes: dict[str, str] = {}
    for row in csv.reader(io.StringIO(raw.decode(errors="replace"))):
        algorithm, _, value = row[1].partition("=") if len(row) > 1 else ("", "", "")
        if algorithm == "sha256":
            hashes[row[0]] = urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    return hashes


def _zipped_sha256(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> str:
    digest = hashlib.sha256()
    with archive.open(member) as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()
