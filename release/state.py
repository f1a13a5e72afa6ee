"""The state of one release as it is kept in its folder: what was done, never what is planned."""

from datetime import datetime
from typing import Literal

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.artifacts import Artifact


class Cut(StrictModel):
    """Where the branch was made, and why there."""

    commit: str
    proposed: str = ""
    """What the ranking proposed; another ``commit`` has a reason."""
    reason: str
    by: str
    at: datetime


class Pick(StrictModel):
    """One change of main as it was applied to the branch."""

    source: str
    """Its commit on main."""
    applied: str
    """Its commit on the branch."""
    title: str = ""
    pull_request: int | None = None


class Candidate(StrictModel):
    """One candidate: a tag, the commit that it is at, and what was built of it."""

    name: str
    commit: str
    by: str
    at: datetime
    picks: tuple[Pick, ...] = ()
    """Those that came since the candidate before."""
    artifacts: tuple[Artifact, ...] = ()


class Published(StrictModel):
    """That a candidate became the release."""

    candidate: str
    by: str
    at: datetime


class Release(StrictModel):
    """One release from its cut to its end."""

    schema_version: Literal[1] = 1
    version: str
    repository: str
    """The checkout's remote, or its folder."""
    branch: str
    previous: str = ""
    """Tag of the release that candidates are measured against."""
    cut: Cut
    candidates: tuple[Candidate, ...] = ()
    published: Published | None = None
    picks: tuple[Pick, ...] = Field(default=())
    """Applied to the branch, and in no candidate yet."""
