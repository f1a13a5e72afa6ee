"""Which changes are picked, which commits a branch may have of its own, and until when."""

import re
from typing import Annotated, Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, field_validator

from gauntlet.core.yaml_file import StrictModel

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[Weekday, ...] = get_args(Weekday)
"""In the order in which Python counts them."""


class PickRules(StrictModel):
    """The section ``picks``."""

    label: str = ""
    """Label of pull requests to pick, where neither changes nor another label are given."""
    blocker_label: str = "release-blocker"
    """Label of pull requests that mend a candidate: picked after the window closed, too."""


class AllowRule(StrictModel):
    """Commits that a branch may have of its own: all their paths and their subject match."""

    paths: tuple[str, ...] = Field(min_length=1)
    """Patterns of paths; ``*`` matches any text."""
    subject: str
    """A regular expression that the whole subject matches."""

    @field_validator("subject")
    @classmethod
    def _compiles(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            msg = f"no regular expression: {error}"
            raise ValueError(msg) from error
        return text


class Moment(StrictModel):
    """A time of the week, by the clock of the schedule's time zone."""

    weekday: Weekday
    time: Annotated[str, Field(pattern=r"^([01]\d|2[0-3]):[0-5]\d$")] = "17:00"

    @field_validator("time", mode="before")
    @classmethod
    def _is_text(cls, value: object) -> object:
        if isinstance(value, int):
            # YAML reads 17:00 as a number to the base of sixty.
            msg = f'write it in quotes: "{value // 60:02}:{value % 60:02}"'
            raise ValueError(msg)  # noqa: TRY004 - pydantic turns this one into a problem
        return value


class Schedule(StrictModel):
    """The section ``schedule``: when releases are cut, closed and shipped."""

    time_zone: str = "UTC"
    cut: Weekday = "monday"
    every_weeks: int = Field(default=2, ge=1, le=52)
    picks_close: Moment = Field(default_factory=lambda: Moment(weekday="wednesday"))
    ships: Moment = Field(default_factory=lambda: Moment(weekday="friday"))

    @field_validator("time_zone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        try:
            ZoneInfo(name)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            msg = "no time zone that this machine knows; write it as Europe/Berlin"
            raise ValueError(msg) from error
        return name
