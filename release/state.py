"""The state of one release as it is kept in its folder: what was done, never what is planned."""

from datetime import datetime
from typing import Literal, Self

from pydantic import Field

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.artifacts import Artifact
from gauntlet.release.version import ReleaseVersion


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
    """Which candidate becomes, or became, the release; by whom, and when that was decided."""

    candidate: str
    by: str
    at: datetime


class RolledBack(StrictModel):
    """That moving tags and the index lead to an earlier release again."""

    back_to: str
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
    previous_commit: str = ""
    cut: Cut
    candidates: tuple[Candidate, ...] = ()
    publishing: Published | None = None
    """That publishing of a candidate was begun: it is finished, or nothing else is published."""
    published: Published | None = None
    rolled_back: RolledBack | None = None
    picks: tuple[Pick, ...] = Field(default=())
    """Applied to the branch, and in no candidate yet."""
    told: tuple[str, ...] = ()
    """What was announced: ``cut``, and names of candidates."""

    def candidate_of(self, version: ReleaseVersion) -> Candidate:
        """The candidate of a version; of a release without a number its newest one.

        Raises UsageError where there is none.
        """
        by_name = {each.name: each for each in self.candidates}
        if not by_name:
            msg = f"{self.version} has no candidate yet"
            raise UsageError(msg, hint=f"release candidate {self.version}")
        if not version.is_candidate:
            return self.candidates[-1]
        if version.tag not in by_name:
            raise unknown_name("candidate", version.tag, by_name)
        return by_name[version.tag]

    def ensure_unpublished(self) -> None:
        """Refuse to change what shipped. Raises UsageError."""
        if self.published is not None:
            msg = f"{self.version} is published, from {self.published.candidate}"
            raise UsageError(msg, hint="what comes now is of the next version: release cut")

    def with_candidate(self, candidate: Candidate) -> Self:
        """The state with one candidate in the place of the one of its name."""
        changed = tuple(candidate if c.name == candidate.name else c for c in self.candidates)
        return self.model_copy(update={"candidates": changed})
