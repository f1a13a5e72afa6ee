"""A diff of locks as people read it: a table of text, or of Markdown for a pull request."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gauntlet.locks.diff import LockDiff, PackageChange

_HEAD = ("package", "old", "new", "step", "old released", "new released", "comes through")
_MOST_THROUGH = 3


def text_lines(diff: LockDiff, changes: Sequence[PackageChange]) -> Iterator[str]:
    """Say what changed, one package a line, in the order given."""
    if not changes:
        yield f"no difference between {diff.old} and {diff.new}"
        return
    yield f"{diff.old} -> {diff.new}: {counted(changes)}"
    rows = [_HEAD, *(_cells(change) for change in changes)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEAD))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        yield "  ".join(cells).rstrip()
    yield from warnings(diff)


def markdown_lines(diff: LockDiff, changes: Sequence[PackageChange]) -> Iterator[str]:
    """The same as a Markdown table."""
    if not changes:
        yield "No difference."
        return
    yield "| " + " | ".join(_HEAD) + " |"
    yield "|" + "---|" * len(_HEAD)
    for change in changes:
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in _cells(change)) + " |"
    for line in warnings(diff):
        yield ""
        yield f"**{line}**"


def warnings(diff: LockDiff) -> Iterator[str]:
    """What nobody should overlook."""
    for name in diff.hashes_only:
        yield (
            f"WARNING: {name} has the same version and other hashes: its files were replaced or "
            f"the lock was edited; compare it with the index before you install it"
        )
    if not diff.annotated:
        yield "a lock has no annotations, so nothing says through whom packages come"


def counted(changes: Sequence[PackageChange]) -> str:
    """``2 changed, 1 added``."""
    kinds = ("changed", "added", "removed", "markers", "hashes-only")
    numbers = {kind: sum(change.kind == kind for change in changes) for kind in kinds}
    return ", ".join(f"{number} {kind}" for kind, number in numbers.items() if number)


def _cells(change: PackageChange) -> tuple[str, ...]:
    same = change.kind in ("markers", "hashes-only")
    return (
        change.name,
        change.old or "-",
        change.new or "-",
        change.kind.upper() if same else change.step or change.kind,
        _day(change.old_released),
        _day(change.new_released),
        _through(change),
    )


def _through(change: PackageChange) -> str:
    if change.direct is None:
        return "?"
    others = [name for name in change.through if name != change.name]
    shown = ", ".join(others[:_MOST_THROUGH])
    shown += f" and {len(others) - _MOST_THROUGH} more" if len(others) > _MOST_THROUGH else ""
    if change.direct:
        return f"direct; also {shown}" if shown else "direct"
    return shown


def _day(moment: datetime | None) -> str:
    return f"{moment:%Y-%m-%d %H:%M}" if moment else "?"
