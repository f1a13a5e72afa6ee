"""Bring an index to what its files say; run twice, or by two at once, it comes out the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, UsageError, unknown_name
from gauntlet.core.files import write_atomic
from gauntlet.release.index.listing import (
    NIGHTLY,
    POINTERS,
    Listing,
    pointed,
    read_listing,
    write_pointers,
)
from gauntlet.release.index.pages import MARK
from gauntlet.release.index.plan import plan_pages, scopes

# Each round begins because another writer changed something while we wrote.
_MOST_ROUNDS = 20
_PAGES = ("metadata.json", "index.json", "index.html")


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What a build changes: pointers, and paths below the root to write and to remove."""

    pointers: Mapping[str, str | None]
    write: Mapping[str, bytes]
    remove: tuple[str, ...]
    unchanged: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """Pointers to set (``nightly``, versions as ``1.2.0``: commit) and versions to take away."""

    nightly: str | None = None
    versions: Mapping[str, str]
    remove: tuple[str, ...] = ()

    @property
    def pointers(self) -> dict[str, str | None]:
        """Changes of pointers; None takes one away."""
        removed: dict[str, str | None] = dict.fromkeys(self.remove)
        nightly = {NIGHTLY: self.nightly} if self.nightly else {}
        return {**removed, **self.versions, **nightly}


def plan_index(root: Path, listing: Listing, request: Request) -> Changes:
    """Compare what should be there with what is.

    Raises UsageError for a commit that is not there, a version that its commit does not have, and
    a page that somebody else wrote.
    """
    after = pointed(listing, request.pointers)
    _check_pointers(after, request)
    pages = plan_pages(after)
    write = {path: data for path, data in pages.items() if _read(root / path) != data}
    foreign = [path for path in write if path.endswith("index.html") and _is_foreign(root / path)]
    if foreign:
        msg = f"{root / foreign[0]} is no page of this index, and would be overwritten"
        raise UsageError(msg, hint="move it, or build the index in a folder of its own")
    changed = {
        name: commit
        for name, commit in request.pointers.items()
        if listing.pointers.get(name) != commit
    }
    return Changes(
        pointers=changed,
        write=write,
        remove=tuple(_stale(root, set(pages))),
        unchanged=len(pages) - len(write),
    )


def build_index(root: Path, request: Request, *, dry_run: bool = False) -> Changes:
    """Set pointers and write what differs; with ``dry_run`` only say what would be.

    Pages are made again until the listing stays as it was, so that of two writers at once the
    last one to end has seen all. Raises what `read_listing` and `plan_index` raise.
    """
    if not root.is_dir():
        raise UsageError(f"{root} is no folder", hint="give the folder that holds COMMIT/*.whl")
    listing = read_listing(root)
    if not listing.files and not _is_ours(root / "index.html"):
        msg = f"there is no wheel in {root}"
        raise UsageError(msg, hint="put the files of a commit into DIR/COMMIT/")
    first = plan_index(root, listing, request)
    if dry_run:
        return first
    write_pointers(root, request.pointers)
    changes, rest = first, Request(versions={})
    for _ in range(_MOST_ROUNDS):
        _apply(root, changes)
        listing = read_listing(root, known=listing)
        changes = plan_index(root, listing, rest)
        if not changes.write and not changes.remove:
            return first
    msg = f"the files in {root} change all the time: gave up after {_MOST_ROUNDS} rounds"
    raise InfrastructureError(msg, hint="build it again when uploads have ended")


def _check_pointers(after: Listing, request: Request) -> None:
    found = scopes(after)
    for name, commit in after.pointers.items():
        if commit not in after.commits:
            if commit == request.pointers.get(name):
                hint = "give the name of its folder"
                raise unknown_name("commit", commit, after.commits, hint=hint)
            msg = f"{name} points to {commit}, and that folder is gone"
            raise UsageError(msg, hint=f"bring it back, point {name} elsewhere, or remove it")
        if name != NIGHTLY and not found[name]:
            there = {str(f.version) for f in after.files if f.commit == commit}
            known = ", ".join(sorted(there)) or "no files at all"
            msg = f"{commit} has no file of version {name}; it has: {known}"
            raise UsageError(msg, hint="a version's page needs files of just that version")


def _apply(root: Path, changes: Changes) -> None:
    for path, data in changes.write.items():
        write_atomic(root / path, data)
    for path in changes.remove:
        (root / path).unlink(missing_ok=True)
    for folder in sorted({(root / path).parent for path in changes.remove}, reverse=True):
        _remove_empty(folder, root)


def _remove_empty(folder: Path, root: Path) -> None:
    while folder != root and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _stale(root: Path, wanted: set[str]) -> list[str]:
    """Pages of ours that nothing leads to any more, the one with the mark last in each folder."""
    found: list[str] = []
    for page in sorted(root.rglob("index.html")):
        folder = page.parent.relative_to(root)
        if POINTERS in folder.parts or not _is_ours(page):
            continue
        names = [*_metadata_files(page.parent), *_PAGES]
        paths = [(folder / name).as_posix() for name in names]
        found += [path for path in paths if path not in wanted and (root / path).is_file()]
    return found


def _metadata_files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.whl.metadata"))


def _is_foreign(page: Path) -> bool:
    return page.exists() and not _is_ours(page)


def _is_ours(page: Path) -> bool:
    data = _read(page)
    return data is not None and MARK.encode() in data


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InfrastructureError(f"cannot read {path}: {error.strerror}") from error
