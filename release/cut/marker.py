"""Who cut a release, kept at the remote beside its branch: of two at once, one is there first."""

from datetime import datetime

from gauntlet.core.errors import ConfigError, InfrastructureError, NotQualifiedError
from gauntlet.core.git import git
from gauntlet.core.json_file import json_text, parse_json_model
from gauntlet.release.remote import CUTS, Remote, fit_name
from gauntlet.release.state import Release
from gauntlet.release.version import ReleaseVersion
from gauntlet.services.git_writing import IDENTITY, RefUpdate, push_together, refusal, try_git


def marker_ref(version: ReleaseVersion) -> str:
    """The ref that says who cut a release."""
    return f"{CUTS}{version.final.tag}"


def read_marker(remote: Remote, version: ReleaseVersion, commit: str) -> Release:
    """Read a release as it was when it was cut. Raises NotQualifiedError where it is damaged."""
    ref = marker_ref(version)
    remote.fetch(ref, commit)
    text = git(remote.repository, "log", "-1", "--format=%b", commit)
    try:
        return parse_json_model(text, Release, file=f"{ref} of {remote.name}")
    except ConfigError as error:
        hint = f"git push {remote.name} :{ref} takes it away; then cut again with --commit"
        raise NotQualifiedError(error.message, hint=hint) from error


def push_cut(remote: Remote, version: ReleaseVersion, state: Release, *, branch: bool) -> None:
    """Make the marker, and the ``branch`` with it, both or none.

    Raises ExternalServiceError where either is there already, or the push is refused.
    """
    updates = [RefUpdate(source=_marker(remote, state), target=marker_ref(version))]
    if branch:
        target = f"refs/heads/{version.branch}"
        updates.append(RefUpdate(source=state.cut.commit, target=target))
    push_together(remote.repository, remote.name, updates)


def _marker(remote: Remote, state: Release) -> str:
    """Store a commit without files whose message is the state; the same for the same state."""
    tree = _stored(remote, ("hash-object", "-t", "tree", "-w", "--stdin"), b"")
    text = f"Cut {state.version}\n\n{json_text(state)}"
    who = fit_name(state.cut.by)
    arguments = (*IDENTITY, "commit-tree", tree)
    return _stored(remote, arguments, text.encode(), _dated(who, state.cut.at))


def _dated(who: str, at: datetime) -> dict[str, str]:
    stamp = f"{int(at.timestamp())} +0000"
    return {
        "GIT_AUTHOR_NAME": who,
        "GIT_AUTHOR_EMAIL": "gauntlet@localhost",
        "GIT_AUTHOR_DATE": stamp,
        "GIT_COMMITTER_DATE": stamp,
    }


def _stored(
    remote: Remote,
    arguments: tuple[str, ...],
    text: bytes,
    environment: dict[str, str] | None = None,
) -> str:
    done = try_git(remote.repository, *arguments, stdin=text, environment=environment)
    if done.returncode != 0:
        msg = f"git {arguments[-2]} in {remote.repository}: {refusal(done)}"
        raise InfrastructureError(msg)
    return done.stdout.strip()
