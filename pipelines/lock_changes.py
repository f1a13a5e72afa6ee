"""Read what changed in lock files, from both sides of a change in git."""

from dataclasses import replace
from pathlib import Path, PurePosixPath

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.yaml_file import parse_yaml, validate_model
from gauntlet.locks.impact import impact
from gauntlet.locks.manifest import FILE, HOLDS, RECORD, LocksManifest
from gauntlet.locks.reading import side_at, text_at
from gauntlet.pipelines.changes import ChangedFile, ChangeSet
from gauntlet.pipelines.locked import LockChange, LockedInstall

FOLDER = PurePosixPath(FILE).parent.as_posix()


def with_locks(changes: ChangeSet, repository: Path) -> ChangeSet:
    """Add what changed in lock files. What cannot be told becomes a trouble, never an error."""
    changed = [file for file in changes.files if any(map(_is_lock, file.paths))]
    if not changed:
        return changes
    manifest = _manifest(repository, changes.head)
    locks = (_lock_change(file, changes, repository, manifest) for file in changed)
    return replace(changes, locks=tuple(locks))


def _lock_change(
    file: ChangedFile, changes: ChangeSet, repository: Path, manifest: LocksManifest | str
) -> LockChange:
    record = f"{FOLDER}/{RECORD}"
    path = next(filter(_is_lock, reversed(file.paths)))
    trouble = manifest if isinstance(manifest, str) else _unfit(file, manifest)
    if not trouble and not isinstance(manifest, str):
        try:
            return LockChange(
                path=path, record=record, installs=_installs(path, changes, repository, manifest)
            )
        except (ConfigError, UsageError) as error:
            trouble = error.message.splitlines()[0]
    return LockChange(path=path, record=record, trouble=trouble)


def _installs(
    path: str, changes: ChangeSet, repository: Path, manifest: LocksManifest
) -> tuple[LockedInstall, ...]:
    old = side_at(repository, str(changes.base), path).lock
    new = side_at(repository, str(changes.head), path).lock
    found = impact(old, new, manifest.locks[_name(path)].installs)
    return tuple(
        LockedInstall(jobs=each.jobs, package=each.package, versions=each.versions, way=each.way)
        for each in found.installs
    )


def _manifest(repository: Path, head: str | None) -> LocksManifest | str:
    """The manifest of a change's head, or why there is none."""
    try:
        text = text_at(repository, str(head), FILE)
        if text is None:
            return f"there is no {FILE}"
        return validate_model(parse_yaml(text, file=FILE), LocksManifest)
    except (ConfigError, UsageError) as error:
        return error.message.splitlines()[0]


def _unfit(file: ChangedFile, manifest: LocksManifest) -> str:
    if file.status != "M":
        return "it is not in both versions under this name"
    name = _name(file.path)
    if name not in manifest.locks:
        return f"{FILE} does not declare it"
    return "" if manifest.locks[name].installs else f"{FILE} names no job that installs it"


def _is_lock(path: str) -> bool:
    parent, _, name = path.rpartition("/")
    return parent == FOLDER and name.endswith(".txt") and name != HOLDS


def _name(path: str) -> str:
    return PurePosixPath(path).stem
