"""How healthy a build is, as data: what weighs how much, and what is never shipped."""

from typing import Annotated, Literal, get_args

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel
from gauntlet.warehouse.failure_classes import FailureClass

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["never"]
"""Points against a build for each job, or that it is never proposed."""

_DEFAULTS: dict[FailureClass, Weight] = {
    "test_regression": 25,
    "build_regression": "never",
    "accuracy_regression": "never",
    "perf_regression": 25,
    "flaky": 1,
    "dependency": 10,
    "image_build": 10,
    "infra_machine": 2,
    "infra_network": 2,
    "infra_capacity": 2,
    "infra_agent": 2,
    "upstream_hub": 2,
    "timeout": 8,
    "cancelled": 5,
    "policy": 1,
    "unknown": 20,
}


class Verdicts(StrictModel):
    """What verdicts on a build weigh; each statistic that is worse counts."""

    accuracy_worse: Weight = "never"
    performance_worse: Weight = 25
    inconclusive: Weight = 1
    accuracy_missing: Weight = 3
    performance_missing: Weight = 3


class HealthRules(StrictModel):
    """The section ``health``: which builds are looked at, and what counts against one."""

    days: int = Field(default=14, ge=1, le=90)
    """How many days back a build may have begun."""
    pipeline: str = "ci"
    full_share: float = Field(default=0.9, gt=0, le=1)
    """A build is full where it has this share of the jobs of the largest of them."""
    required: tuple[str, ...] = ()
    """Patterns of job keys: each needs a job that passed, or the build is never proposed."""
    failures: dict[FailureClass, Weight] = Field(default_factory=lambda: dict(_DEFAULTS))
    """Points for a failed job by its class; a class that is left out weighs as it does here."""
    quarantined: Weight = 0.5
    soft_failed: Weight = 0.5
    passed_on_retry: Weight = 0.5
    not_run: Weight = 5
    """A job that was blocked, skipped, or never ended."""
    verdicts: Verdicts = Field(default_factory=Verdicts)
    points_a_day: float = Field(default=1, ge=0)
    points_a_hundred_commits: float = Field(default=1, ge=0)
    most_points: float = Field(default=60, ge=0)
    """With more a build is not good enough to be cut from."""
    clock_skew_minutes: float = Field(default=5, ge=0)

    def failure(self, failure_class: str) -> Weight:
        """What a class weighs; one that nobody knows weighs as ``unknown``."""
        known: FailureClass = "unknown"
        for name in get_args(FailureClass):
            if name == failure_class:
                known = name
        return self.failures.get(known, _DEFAULTS[known])
