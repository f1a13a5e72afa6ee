"""The policy of a release: every rule that a team may decide otherwise, in one file."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.services.settings import Chat, Repository


class ReleasePolicy(StrictModel):
    """Sections of ``release/policy.yaml``; names of variables, never secrets."""

    schema_version: Literal[1] = 1
    repository: Repository = Field(default_factory=Repository)
    chat: Chat = Field(default_factory=Chat)


def load_release_policy(path: Path | None = None) -> ReleasePolicy:
    """Read a policy; without a file the one that ships with this version.

    Raises ConfigError with every mistake in the file.
    """
    return load_model(path or Path(__file__).with_name("policy.yaml"), ReleasePolicy)
