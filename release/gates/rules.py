"""What each gate needs: the ``gates`` and ``waivers`` sections of the policy."""

from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel

GateName = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]*$")]
Acceptable = Literal["better", "same"]


class Lane(StrictModel):
    """A part of the full build that has to be there. ``*`` in a pattern matches any text."""

    name: str
    jobs: tuple[str, ...] = ("*",)
    """Patterns of job keys."""
    groups: tuple[str, ...] = ("*",)
    queues: tuple[str, ...] = ("*",)
    at_least: int = Field(default=1, ge=1)
    """So many jobs of it have to have ended; fewer are a lane that is missing."""


class CiGate(StrictModel):
    """The full build of the candidate's commit."""

    kind: Literal["ci"]
    name: GateName
    pipeline: str = "ci"
    lanes: tuple[Lane, ...] = Field(min_length=1)
    as_before: bool = True
    """Whether each job of the previous release's full build has to be there too."""
    dropped: tuple[str, ...] = ()
    """Patterns of job keys that were taken out on purpose since then."""
    retried_at_most: int | None = Field(default=None, ge=0)
    """Jobs that were green only after a retry; None: any number, shown."""
    soft_failed_at_most: int | None = Field(default=0, ge=0)
    quarantined_at_most: int | None = Field(default=None, ge=0)
    """Failed jobs that a quarantine lets through, and tests in quarantine together."""
    image: str = ""
    """Id of the image that the jobs have to have run in, where they record it; empty: any of the
    candidate's; ``*``: any at all, where tests run in images of their own."""
    fresh_days: int = Field(default=14, ge=1)


class NeededRun(StrictModel):
    """One measurement that has to be there: candidate against the previous release."""

    recipe: str
    """Pattern of the recipe's name."""
    accelerator: str = "*"
    image: str = ""
    """Id of the image that has to have been measured; empty: any of the candidate's."""
    least_hours: float = Field(default=0, ge=0)
    """How long the candidate has to have been under load: a soak."""


class MeasuredGate(StrictModel):
    """Verdicts of runs. Every blocking statistic of every run that counts joins one Holm family."""

    kind: Literal["measured"]
    name: GateName
    runs: tuple[NeededRun, ...] = Field(min_length=1)
    verdicts: tuple[str, ...] = Field(min_length=1)
    """Patterns of the subjects that this gate weighs."""
    accept: tuple[Acceptable, ...] = ("better", "same")
    most_runs: int = Field(default=3, ge=1)
    """So many runs of one kind count, the oldest first: nobody measures until it fits."""
    fresh_days: int = Field(default=14, ge=1)


Gate = Annotated[CiGate | MeasuredGate, Field(discriminator="kind")]


class WaiverRules(StrictModel):
    """Who may let what pass, and for how long."""

    longest_days: int = Field(default=14, ge=1)
    at_most: int = Field(default=3, ge=0)
    """Problems of one candidate that may be waived."""
    never: tuple[GateName, ...] = ()
    """Gates that nobody may waive."""
