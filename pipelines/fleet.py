"""Devices and the queues that serve them, from ``fleet.yaml``."""

from fnmatch import fnmatchcase
from importlib import resources
from typing import Annotated, Literal

from pydantic import Field

from gauntlet.core.errors import Problem, nearest
from gauntlet.core.yaml_file import StrictModel, parse_yaml, validate_model
from gauntlet.pipelines.definitions.job import Job


class Device(StrictModel):
    """One kind of device; ``gpus`` None means that the job says how many it needs."""

    queue: str
    queues: dict[int, str] = Field(default_factory=dict)
    vendor: str
    gpus: Annotated[int, Field(ge=0)] | None = None
    slice: str | None = None
    transport: Literal["docker", "kubernetes", "bare"]

    def queue_for(self, count: int) -> str:
        """Queue of the agents that have ``count`` of this device."""
        return self.queues.get(count, self.queue)


class Builder(StrictModel):
    """Where image builds run that name no device."""

    keys: tuple[str, ...]
    device: str


class Fleet(StrictModel):
    """All devices by the name that definitions use."""

    default_device: str
    plain_device: str
    builders: tuple[Builder, ...] = ()
    devices: dict[str, Device]

    @property
    def plain_queue(self) -> str:
        """Queue for steps of our own."""
        return self.devices[self.plain_device].queue

    def device_name(self, job: Job) -> str:
        """Name of the device of a job, also where its definition leaves it out."""
        if job.device:
            return job.device
        for builder in self.builders:
            if any(fnmatchcase(job.key, pattern) for pattern in builder.keys):
                return builder.device
        return self.default_device

    def problem(self, job: Job) -> Problem | None:
        """What is wrong with the device of a job, or None."""
        name = self.device_name(job)
        if name in self.devices:
            return None
        return Problem(
            file=job.file,
            key=f"{job.key}.device",
            message="unknown device",
            value=repr(name),
            nearest=nearest(name, self.devices),
            allowed=tuple(sorted(self.devices)),
        )


def fleet_text() -> str:
    """Text of the built-in fleet, as it is kept in a decision's parameters."""
    return resources.files("gauntlet.pipelines").joinpath("fleet.yaml").read_text("utf-8")


def parse_fleet(text: str) -> Fleet:
    """Parse a fleet. Raises ConfigError with every problem in it."""
    return validate_model(parse_yaml(text, file="fleet.yaml"), Fleet)
