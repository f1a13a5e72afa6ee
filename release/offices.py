"""What commands of a release need of the policy: the remote, the chat, the warehouse."""

import logging
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.git import git
from gauntlet.release.deeds import Office
from gauntlet.release.policy import ReleasePolicy
from gauntlet.release.remote import Remote
from gauntlet.services.connect import chat

_LOGGER = logging.getLogger(__name__)


def remote_of(policy: ReleasePolicy, repository: Path, name: str = "") -> Remote:
    """The remote of a checkout that the policy names, or another one.

    Raises UsageError where the folder is no checkout, or has no such remote.
    """
    name = name or policy.repository.remote
    known = git(repository, "remote").split()
    if name not in known:
        msg = f"{repository} has no remote {name}; it has {', '.join(known) or 'none'}"
        raise UsageError(msg, hint="--remote, or repository.remote of the policy")
    return Remote(repository=repository, name=name, base=policy.repository.base)


def office_of(policy: ReleasePolicy, location: str) -> Office:
    """Where deeds are recorded and told, as the policy says."""
    return Office(location=location, chat=lambda: chat(policy.chat), announcements=policy.announce)


def warn_of_dirt(repository: Path) -> None:
    """Say that what is changed in the working tree is in no release; nothing here touches it."""
    changed = git(repository, "status", "--porcelain").splitlines()
    if changed:
        files = f"{len(changed)} file{'s' * (len(changed) != 1)}"
        _LOGGER.warning("%s changed in %s: no release has that", files, repository)
