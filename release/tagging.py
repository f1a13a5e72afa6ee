"""Annotated tags at the remote: made once, never moved, the same object when made again."""

import re
from datetime import UTC, datetime

from gauntlet.core.errors import ExternalServiceError, InfrastructureError
from gauntlet.core.git import git
from gauntlet.release.remote import Remote, fit_name
from gauntlet.services.git_writing import RefUpdate, push_together, refusal, try_git

_TAGGER = re.compile(r"^tagger (?P<name>.*?) <[^>]*> (?P<at>\d+) [+-]\d{4}$", re.MULTILINE)


def push_tag(remote: Remote, name: str, commit: str, *, by: str, at: datetime) -> None:
    """Make a tag at the remote, and here. May be killed anywhere and run again.

    Raises ExternalServiceError that says by whom, where somebody else made it meanwhile.
    """
    ref = f"refs/tags/{name}"
    tag = _object(remote, name, commit, by=by, at=at)
    try:
        push_together(remote.repository, remote.name, [RefUpdate(source=tag, target=ref)])
    except ExternalServiceError as error:
        there, at_commit = remote.heads(ref).get(ref, ("", ""))
        if there and there != tag:
            remote.fetch(ref, there)
            who, _ = tagger(remote, there)
            msg = f"somebody was quicker: {who} tagged {name} at {at_commit}"
            raise ExternalServiceError(msg, hint="run it again to go on with that one") from error
        if there != tag:
            raise
    try_git(remote.repository, "update-ref", ref, tag, "0" * 40)


def tagger(remote: Remote, tag: str) -> tuple[str, datetime]:
    """Who tagged, and when; of a tag without a message: who committed."""
    repository = remote.repository
    found = None
    if git(repository, "cat-file", "-t", tag).strip() == "tag":
        found = _TAGGER.search(git(repository, "cat-file", "tag", tag))
    if found is None:
        name, _, stamp = git(repository, "log", "-1", "--format=%cn%x1f%ct", tag).partition("\x1f")
        return name, datetime.fromtimestamp(int(stamp), UTC)
    return found["name"], datetime.fromtimestamp(int(found["at"]), UTC)


def _object(remote: Remote, name: str, commit: str, *, by: str, at: datetime) -> str:
    """Store the tag without a name: killed before the push, nothing of it is left."""
    stamp = int(at.timestamp())
    text = (
        f"object {commit}\ntype commit\ntag {name}\n"
        f"tagger {fit_name(by)} <gauntlet@localhost> {stamp} +0000\n\n{name}\n"
    )
    done = try_git(remote.repository, "mktag", stdin=text.encode())
    if done.returncode != 0:
        raise InfrastructureError(f"git mktag in {remote.repository}: {refusal(done)}")
    return done.stdout.strip()
