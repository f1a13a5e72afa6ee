"""What a build is compared with: the commit that a change starts from, found in the checkout.

A pull request answers for what it adds to its target branch, so its base is the merge base with
that branch. A build of the main branch answers for everything since the last commit that was
built, because commits are skipped where builds are slow; without a record of it, for its own
commit. Where the base cannot be had, everything runs and the reason is said.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gauntlet.core.errors import ConfigError, UsageError
from gauntlet.core.files import write_atomic
from gauntlet.core.git import (
    fetch,
    find_commit,
    git,
    is_shallow,
    merge_base,
    name_status,
    split_range,
)
from gauntlet.core.json_file import json_text, load_json_model
from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.changes import ChangeSet, from_git

_LOGGER = logging.getLogger(__name__)
_DEEPEN = (50, 200, 1000, 5000)
_FULL_SHA = (40, 64)


class BuiltState(StrictModel):
    """The last commit for which a pipeline was uploaded whole."""

    schema_version: Literal[1] = 1
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseRequest:
    """Where to look for the base of a build.

    ``target`` is the branch that a pull request goes to; ``state`` the file that holds the last
    commit that was built; ``may_fetch`` allows to complete a shallow clone from ``remote``.
    """

    repository: Path
    target: str | None = None
    state: Path | None = None
    head: str = "HEAD"
    remote: str = "origin"
    may_fetch: bool = False


def range_changes(request: BaseRequest, revision_range: str) -> ChangeSet:
    """Read the changes of ``BASE..HEAD`` or ``BASE...HEAD``.

    Raises UsageError for a name that git does not know. A full commit id that a shallow clone
    lacks is fetched where that is allowed; else the changes are unknown.
    """
    base_name, head_name, wants_merge_base = split_range(revision_range)
    head = _commit(request, head_name)
    base = find_commit(request.repository, base_name)
    if base is None and len(base_name) in _FULL_SHA and is_shallow(request.repository):
        base = _fetched(request, base_name)
        if base is None:
            return ChangeSet(head=head, unknown=_missing(request, base_name))
    if base is None:
        base = _commit(request, base_name)
    if wants_merge_base:
        fork = _merge_base(request, base, head)
        if fork is None:
            return ChangeSet(head=head, unknown=_no_merge_base(request, base_name))
        base = fork
    return _compared(request, base, head)


def build_changes(request: BaseRequest) -> ChangeSet:
    """Find the base by itself and read the changes since then.

    Raises UsageError where the folder is no git repository.
    """
    head = _commit(request, request.head)
    if request.target:
        return _since_target(request, request.target, head)
    if request.state is not None:
        return _since_built(request, request.state, head)
    parent = find_commit(request.repository, f"{head}^1")
    if parent is None and is_shallow(request.repository):
        if request.may_fetch:
            _try_fetch(request, "--deepen=1", request.remote)
            parent = find_commit(request.repository, f"{head}^1")
        if parent is None:
            return ChangeSet(head=head, unknown=_missing(request, "the first parent of HEAD"))
    if parent is None:
        return ChangeSet(head=head, unknown=f"{head[:12]} is the first commit: all of it is new")
    return _compared(request, parent, head)


def record_built(path: Path, commit: str) -> Path:
    """Keep the commit that was built, for the next build to start from.

    Raises InfrastructureError where the file cannot be written.
    """
    state = BuiltState(commit=commit)
    return write_atomic(path, json_text(state), fsync=True)


def _since_target(request: BaseRequest, target: str, head: str) -> ChangeSet:
    tip = _branch_tip(request, target)
    if tip is None:
        return ChangeSet(head=head, unknown=_missing(request, f"the target branch {target}"))
    base = _merge_base(request, tip, head)
    if base is None:
        return ChangeSet(head=head, unknown=_no_merge_base(request, target))
    return _compared(request, base, head)


def _since_built(request: BaseRequest, path: Path, head: str) -> ChangeSet:
    if not path.exists():
        return ChangeSet(head=head, unknown=f"first build: {path} does not exist yet")
    try:
        built = load_json_model(path, BuiltState).commit
    except ConfigError as error:
        # A build must not depend on the health of a cache: more runs, and the reason is said.
        return ChangeSet(head=head, unknown=f"the last built commit cannot be read: {error}")
    base = find_commit(request.repository, built) or _fetched(request, built)
    if base is None:
        return ChangeSet(head=head, unknown=_missing(request, f"the last built commit {built}"))
    return _compared(request, base, head)


def _compared(request: BaseRequest, base: str, head: str) -> ChangeSet:
    files = from_git(name_status(request.repository, base, head))
    return ChangeSet(files=files, base=base, head=head)


def _commit(request: BaseRequest, name: str) -> str:
    commit = find_commit(request.repository, name)
    if commit is None:
        # Where it is no repository at all, git says so.
        git(request.repository, "rev-parse", "--git-dir")
        msg = f"git knows no commit {name!r} in {request.repository}"
        raise UsageError(msg, hint="check the folder and the revision range")
    return commit


def _branch_tip(request: BaseRequest, target: str) -> str | None:
    """The target branch as the remote has it; a local branch of that name may be stale."""
    remote = f"refs/remotes/{request.remote}/{target}"
    if request.may_fetch:
        _try_fetch(request, request.remote, f"+refs/heads/{target}:{remote}")
    names = (remote, f"refs/heads/{target}")
    found = (find_commit(request.repository, name) for name in names)
    return next((commit for commit in found if commit), None)


def _merge_base(request: BaseRequest, one: str, other: str) -> str | None:
    base = merge_base(request.repository, one, other)
    if base or not request.may_fetch:
        return base
    for depth in _DEEPEN:
        if not is_shallow(request.repository):
            break
        _try_fetch(request, f"--deepen={depth}", request.remote)
        base = merge_base(request.repository, one, other)
        if base:
            return base
    if is_shallow(request.repository):
        _try_fetch(request, "--unshallow", request.remote)
    return merge_base(request.repository, one, other)


def _fetched(request: BaseRequest, commit: str) -> str | None:
    if not request.may_fetch or commit.startswith("-"):
        return None
    # In a complete clone a depth would cut history off that is already here.
    depth = ("--depth=1",) if is_shallow(request.repository) else ()
    _try_fetch(request, *depth, request.remote, commit)
    return find_commit(request.repository, commit)


def _try_fetch(request: BaseRequest, *arguments: str) -> None:
    """Fetch; a refusal shows in what is still missing, which the caller looks at."""
    try:
        fetch(request.repository, *arguments)
    except UsageError as error:
        _LOGGER.warning("%s", error.message)


def _missing(request: BaseRequest, what: str) -> str:
    tried = f"could not be fetched from {request.remote}" if request.may_fetch else "is not here"
    shallow = "a shallow clone" if is_shallow(request.repository) else "this clone"
    return f"{what} {tried}: {shallow} cannot show what changed"


def _no_merge_base(request: BaseRequest, name: str) -> str:
    shallow = is_shallow(request.repository)
    where = "a shallow clone shows" if shallow else "there is"
    return f"{where} no commit that {name} and {request.head} have in common"
