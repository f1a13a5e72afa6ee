"""Stub wheels: nothing but the metadata of recorded versions, for a resolver without an index."""

import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gauntlet.locks.lock_file import LockFile, Pin
from gauntlet.locks.record import IndexRecord, Recorded

_TAG = "py3-none-any"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def write_stubs(folder: Path, lock: LockFile, record: IndexRecord) -> tuple[str, ...]:
    """Write a stub of every pinned version that is recorded.

    Returns the keys of those whose requirements no record tells, as only a build would: theirs
    are taken from the lock itself.
    """
    guessed = []
    for key, pin in {pin.key: pin for pin in lock.pins}.items():
        recorded = record.packages.get(key)
        if recorded is None:
            continue
        requires = recorded.requires
        if requires is None:
            requires = _wanted_by(pin.name, lock.pins)
            guessed.append(key)
        write_stub(folder, pin.name, pin.version, recorded, requires)
    return tuple(guessed)


def write_stub(
    folder: Path, name: str, version: str, recorded: Recorded, requires: Iterable[str]
) -> Path:
    """Write one stub wheel and return its path."""
    plain = name.replace("-", "_")
    info = f"{plain}-{version}.dist-info"
    files = {
        f"{info}/METADATA": _metadata(name, version, recorded, requires),
        f"{info}/WHEEL": (
            f"Wheel-Version: 1.0\nGenerator: gauntlet\nRoot-Is-Purelib: true\nTag: {_TAG}\n"
        ),
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{plain}-{version}-{_TAG}.whl"
    _write(path, {**files, f"{info}/RECORD": record})
    return path


def _metadata(name: str, version: str, recorded: Recorded, requires: Iterable[str]) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {name}", f"Version: {version}"]
    if recorded.requires_python:
        lines.append(f"Requires-Python: {recorded.requires_python}")
    lines += [f"Provides-Extra: {extra}" for extra in recorded.extras]
    lines += [f"Requires-Dist: {' '.join(each.split())}" for each in requires]
    return "\n".join(lines) + "\n"


def _write(path: Path, files: Mapping[str, str]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for member, text in files.items():
            archive.writestr(zipfile.ZipInfo(member, _EPOCH), text)


def _wanted_by(name: str, pins: Iterable[Pin]) -> tuple[str, ...]:
    return tuple(pin.name for pin in pins if name in pin.via)
