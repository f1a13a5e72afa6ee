"""What a pipeline is rendered for: checked before agents find out."""

import re
import shlex
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.images.oci.reference import Place
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.policy import ReleasePolicy


def full_commit(text: str) -> str:
    """A whole commit id. Raises UsageError for anything else: agents compare it."""
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", text):
        raise UsageError(f"no whole commit id: {text!r}", hint="git rev-parse COMMIT")
    return text


def staging_of(matrix: Matrix, policy: ReleasePolicy, given: str) -> str:
    """The registry that images are staged in. Raises UsageError where there are images and none."""
    text = given or policy.images.staging
    if not text and matrix.images:
        msg = "where are images pushed before they are proven?"
        raise UsageError(msg, hint="--staging docker://HOST/PATH, or images.staging of the policy")
    if text and not Place.parse(text).host:
        msg = f"agents share no folder: {text}"
        raise UsageError(msg, hint="--staging docker://HOST/PATH")
    return text


def options_of(policy: Path | None, matrix: Path | None) -> str:
    """Options that hand the same files on to the agents; their checkout has them there, too."""
    given = {"--policy": policy, "--matrix": matrix}
    return "".join(f" {name} {shlex.quote(str(path))}" for name, path in given.items() if path)
