"""Which builds the warehouse has, and which of them a prefix means."""

from collections.abc import Mapping, Sequence
from typing import Any

from gauntlet.analyzer.selection.selector import Selector
from gauntlet.core.errors import UsageError, nearest

# Of what a build is called by, the column of the query known_builds.
COLUMNS = {"image": "image_digest", "commit": "engine_commit", "version": "engine_version"}
_SHOWN = 8
# Digits by which an abbreviated commit that was stored is recognised.
_ABBREVIATED = 7


def resolve_build(selector: Selector, builds: Sequence[Mapping[str, Any]]) -> str:
    """Find the whole name of the build that a selector means.

    ``builds`` are the rows of the query known_builds, newest first. Raises UsageError where none or
    several fit.
    """
    names = [str(row[COLUMNS[selector.kind]]) for row in builds]
    known = list(dict.fromkeys(name for name in names if name))
    if selector.value in known:
        return selector.value
    fitting = [name for name in known if _fits(name, selector)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        msg = f"{selector.text!r}: {len(fitting)} {selector.kind}s begin so: {_listed(fitting)}"
        raise UsageError(msg, hint="give more of it")
    close = nearest(selector.value, known)
    msg = f"{selector.text!r}: no load was measured on this {selector.kind}"
    msg += f"; did you mean {close!r}?" if close else "."
    msg += f" The warehouse has: {_listed(known)}." if known else f" It has no {selector.kind}."
    raise UsageError(msg, hint="`gauntlet warehouse query known_builds` lists all")


def _fits(name: str, selector: Selector) -> bool:
    if selector.kind == "version":
        return False
    longer = len(name) >= _ABBREVIATED and selector.kind == "commit"
    return name.startswith(selector.value) or (longer and selector.value.startswith(name))


def _listed(names: Sequence[str]) -> str:
    more = f", and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ", ".join(names[:_SHOWN]) + more
