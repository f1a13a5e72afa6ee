"""The policy of a release: every rule that a team may decide otherwise, in one file."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from gauntlet.core.yaml_file import StrictModel, load_model
from gauntlet.release.cut.rules import HealthRules
from gauntlet.release.deeds import Announcements
from gauntlet.release.gates.rules import Gate, WaiverRules
from gauntlet.release.images.settings import ImageSettings
from gauntlet.release.notes.rules import AreaRule
from gauntlet.release.picks.rules import AllowRule, PickRules, Schedule
from gauntlet.release.ship.settings import ShipSettings
from gauntlet.release.smoke.settings import SmokeSettings
from gauntlet.services.settings import Chat, Repository

OWN_GATES = ("branch", "artifacts")
"""Gates that every release has: what is on the branch, and what was built of it."""


class ReleasePolicy(StrictModel):
    """Sections of ``release/policy.yaml``; names of variables, never secrets."""

    schema_version: Literal[1] = 1
    repository: Repository = Field(default_factory=Repository)
    chat: Chat = Field(default_factory=Chat)
    gates: tuple[Gate, ...] = Field(min_length=1)
    waivers: WaiverRules = Field(default_factory=WaiverRules)
    false_fail_rate: float = Field(default=0.01, gt=0, lt=0.5)
    """How often a candidate without any change may fail the measured gates together."""

    images: ImageSettings = Field(default_factory=ImageSettings)
    smoke: SmokeSettings = Field(default_factory=SmokeSettings)
    publish: ShipSettings = Field(default_factory=ShipSettings)
    announce: Announcements = Field(default_factory=Announcements)
    health: HealthRules = Field(default_factory=HealthRules)
    schedule: Schedule = Field(default_factory=Schedule)
    picks: PickRules = Field(default_factory=PickRules)
    allow: tuple[AllowRule, ...] = ()
    areas: tuple[AreaRule, ...] = ()

    @model_validator(mode="after")
    def _one_name_each(self) -> Self:
        names = [*OWN_GATES, *(gate.name for gate in self.gates)]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"gates of one name: {', '.join(twice)}")
        unknown = sorted(set(self.waivers.never) - set(names))
        if unknown:
            allowed = ", ".join(names)
            raise ValueError(f"waivers.never names no gate: {', '.join(unknown)} (are: {allowed})")
        return self


def load_release_policy(path: Path | None = None) -> ReleasePolicy:
    """Read a policy; without a file the one that ships with this version.

    Raises ConfigError with every mistake in the file.
    """
    return load_model(path or Path(__file__).with_name("policy.yaml"), ReleasePolicy)
