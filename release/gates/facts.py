"""What gates are decided on: plain facts of one candidate, read once, before any rule is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The candidate: one commit, its images by cell, and the release it is measured against."""

    name: str
    commit: str
    images: Mapping[str, str]
    """Digest by cell of the matrix."""
    needs_image: bool = True
    """Whether measurements have to name one of the images; False for a release without any."""
    previous: str
    previous_commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFact:
    """One attempt of one job of a build of the commit."""

    job_key: str
    shard: int | None
    group_key: str
    queue: str
    state: str
    soft_failed: bool
    at: datetime
    build: int
    failure_class: str = ""
    image: str = ""
    """Digest of the image that it ran in; empty where it did not record one."""
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictFact:
    """One verdict of one run."""

    subject: str
    outcome: str
    blocking: bool
    reason: str
    demoted: bool = False
    p_value: float | None = None
    effect: float | None = None
    interval: tuple[float, float] | None = None
    unit: str = ""
    margin: float | None = None
    n: int = 0
    higher_is_better: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFact:
    """One run that measured the candidate's commit, whatever the image and the baseline were."""

    run_id: str
    recipe: str
    accelerator: str
    status: str
    images: frozenset[str]
    """Digests of what was measured as the candidate; the empty one where one was not recorded."""
    commits: frozenset[str]
    baseline_commits: frozenset[str]
    started_at: datetime
    hours: float
    """How long the candidate was under load."""
    verdicts: tuple[VerdictFact, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything about one candidate; ``quarantines`` are subjects in quarantine now."""

    jobs: tuple[JobFact, ...] = ()
    blocked_builds: tuple[int, ...] = ()
    """Builds that wait for a person."""
    previous_jobs: frozenset[str] = frozenset()
    """Keys of the jobs of the previous release's full build; empty where it is not known."""
    quarantines: frozenset[str] = frozenset()
    runs: tuple[RunFact, ...] = ()
    waivers: tuple["WaiverFact", ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class WaiverFact:
    """The newest words of a person about a gate."""

    gate: str
    outcome: str
    covers: tuple[str, ...]
    reason: str
    by: str
    at: datetime
    until: datetime | None
    commit: str = ""
    """Of the candidate that it was given for; empty where it was not said."""
