"""Title and text of the pull request of a refresh."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from gauntlet.locks.diff_text import counted, markdown_lines

if TYPE_CHECKING:
    from gauntlet.locks.refresh import RefreshedLock

_LONGEST = 300


def title_text(locks: "Sequence[RefreshedLock]") -> str:
    """``Refresh locks: dev, test``."""
    return f"Refresh locks: {', '.join(lock.name for lock in locks if lock.moved)}"


def body_text(locks: "Sequence[RefreshedLock]", holds: Sequence[str]) -> str:
    """What moved, what is held back, and what could not move and why."""
    return "\n".join([*_locks(locks), *_holds(holds)]) + "\n"


def _locks(locks: "Sequence[RefreshedLock]") -> Iterator[str]:
    for lock in locks:
        yield f"## {lock.name}"
        yield ""
        if lock.error:
            yield f"It did not compile and stays as it is: {_short(lock.error)}"
        elif lock.diff is not None:
            yield counted(lock.diff.changes) or "nothing newer"
            yield ""
            if lock.moved:
                yield from markdown_lines(lock.diff, lock.diff.changes)
        if lock.stuck:
            yield ""
            yield "Could not move:"
            yield from (
                f"- {each.name} {each.pinned}, newest {each.newest}: {_short(each.why)}"
                for each in lock.stuck
            )
        yield ""


def _holds(holds: Sequence[str]) -> Iterator[str]:
    if holds:
        yield "## Held back"
        yield ""
        yield from (f"- `{line}`" for line in holds)
        yield ""
    yield "If the suite is red: `gauntlet locks bisect --old REV:PATH --new REV:PATH -- COMMAND`."


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"
