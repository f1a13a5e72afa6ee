"""A branch's first-parent history as rows: what was merged, in the order in which it was."""

import logging
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.core.errors import GauntletError, UsageError
from gauntlet.core.git import find_commit, git, is_shallow
from gauntlet.warehouse.batch import Batch, content_id
from gauntlet.warehouse.rows.ci import CommitRow
from gauntlet.warehouse.store import open_store

_LOGGER = logging.getLogger(__name__)
_SOURCE = "git"
_COMMITS_AT_ONCE = 1_000
_TIMEOUT_S = 300.0
_FIELDS = ("%H", "%P", "%an", "%ct", "%s", "%b")
# Neither can stand in a message: git refuses NUL, and the other is a control character.
_START, _FIELD = "\x1e", "\x1f"
_PULL_REQUEST = re.compile(r"\(#(\d+)\)\s*$")
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,64})")


def commit_batches(
    repository: Path, *, branch: str, name: str, after: str | None, now: datetime
) -> Iterator[Batch]:
    """Read the commits of a branch after ``after`` (None: all), oldest first, 1,000 a batch.

    ``name`` is what the repository is called in the rows. Raises UsageError for a shallow clone,
    where positions cannot be counted, and for a branch that is not there.
    """
    if is_shallow(repository):
        msg = f"{repository} is a shallow clone: positions of commits cannot be counted"
        raise UsageError(msg, hint="git fetch --unshallow")
    head = find_commit(repository, branch) or find_commit(repository, f"origin/{branch}")
    if head is None:
        raise UsageError(f"{repository} has no branch {branch}")
    total = int(git(repository, "rev-list", "--count", "--first-parent", head).strip())
    done = 0
    if after is not None and _is_on(repository, after, head):
        done = int(git(repository, "rev-list", "--count", "--first-parent", after).strip())
    for start in range(done, total, _COMMITS_AT_ONCE):
        rows = list(_rows(repository, head, branch, name, total, start))
        texts = [row.model_dump_json().encode() for row in rows]
        yield Batch.of(content_id(_SOURCE, *texts), rows, source=_SOURCE, created_at=now)


def newest_commit(location: str, name: str, branch: str) -> str | None:
    """Return the newest commit that the warehouse has, or None; also where it does not answer.

    Reading all of the history again is slower and changes nothing.
    """
    try:
        with open_store(location) as store:
            rows = store.query("newest_commit", repository=name, branch=branch)
    except GauntletError as error:
        _LOGGER.warning("reading the whole history: %s", error.message)
        return None
    return str(rows[0]["sha"]) if rows else None


def _is_on(repository: Path, commit: str, head: str) -> bool:
    """Whether a commit is of the first-parent history; it is not after a forced push."""
    if find_commit(repository, commit) is None:
        return False
    try:
        git(repository, "merge-base", "--is-ancestor", commit, head)
    except UsageError:
        return False
    return True


def _rows(
    repository: Path, head: str, branch: str, name: str, total: int, start: int
) -> Iterator[CommitRow]:
    newest_first = total - start - _COMMITS_AT_ONCE
    text = git(
        repository,
        "log",
        "--first-parent",
        "-m",
        "--name-only",
        "--no-renames",
        "-z",
        f"--skip={max(0, newest_first)}",
        f"--max-count={_COMMITS_AT_ONCE if newest_first >= 0 else total - start}",
        f"--format={_START}{_FIELD.join(_FIELDS)}{_FIELD}",
        head,
        timeout=_TIMEOUT_S,
    )
    found = text.split(_START)[1:]
    for offset, record in enumerate(reversed(found)):
        sha, parents, author, when, title, body, paths = record.split(_FIELD, 6)
        pull_request, reverts = _PULL_REQUEST.search(title), _REVERTS.search(body)
        yield CommitRow(
            repository=name,
            branch=branch,
            position=start + offset + 1,
            sha=sha,
            parent=parents.partition(" ")[0],
            author=author,
            committed_at=datetime.fromtimestamp(int(when), UTC),
            title=title,
            pull_request=int(pull_request[1]) if pull_request else None,
            reverts=reverts[1] if reverts else None,
            paths=tuple(path for path in paths.replace("\n", "").split("\0") if path),
            # The history of a branch only grows; after a forced push the later history counts.
            version=int(when),
        )
