"""Which jobs a change can break: one decision for every job, each with its reasons."""

from collections.abc import Iterable

from gauntlet.core.errors import UsageError, nearest
from gauntlet.pipelines.changes import ChangeSet
from gauntlet.pipelines.choose import choose
from gauntlet.pipelines.compatible import choose_compatible
from gauntlet.pipelines.decisions import Options, Selection
from gauntlet.pipelines.definitions.job import Definitions


def unknown_job(key: str, known: Iterable[str]) -> UsageError:
    """Build the error for a key that no job has. There are too many keys to list them all."""
    close = nearest(key, known)
    msg = f"unknown job {key!r}" + (f"; did you mean {close!r}?" if close else "")
    return UsageError(msg, hint="`gauntlet pipelines select --json` lists all jobs")


def select(
    definitions: Definitions, changes: ChangeSet, options: Options | None = None
) -> Selection:
    """Decide for every job whether a change can break it. Pure: no disk, clock or network.

    Raises UsageError for a job asked by a key that nobody has.
    """
    options = options or Options()
    known = {job.key for job in definitions.jobs} | {job.key for job in definitions.broken}
    for key in options.keys:
        if key not in known:
            raise unknown_job(key, known)
    if options.mode == "compatible":
        return choose_compatible(definitions, changes, options)
    return choose(definitions, changes, options)
