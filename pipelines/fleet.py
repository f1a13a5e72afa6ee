"""Devices, the queues that serve them, and what a job gets there, from ``fleet.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property
from importlib import resources

from gauntlet.core.errors import Problem, nearest
from gauntlet.core.yaml_file import parse_yaml, validate_model
from gauntlet.pipelines.definitions.job import Job, Transport
from gauntlet.pipelines.fleet_file import (
    Arch,
    BuilderModel,
    DeviceModel,
    DockerOption,
    FleetModel,
    PodTemplate,
    ProfileModel,
    RetryRule,
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Device:
    """One kind of device with everything that its profile adds. None means unknown.

    ``gpus`` None: the job says how many it needs. ``memory_gib`` and ``cost_per_hour`` (US dollars)
    are per accelerator or slice, or of the machine where there is no accelerator; ``slots`` is how
    many jobs run at once at most.
    """

    name: str
    queue: str
    queues: Mapping[int, str]
    vendor: str
    accelerator: str | None
    memory_gib: float | None
    slice: str | None
    gpus: int | None
    host_gpus: int | None
    slots: int | None
    cost_per_hour: float | None
    arch: Arch
    transport: Transport
    image: str
    retry: tuple[RetryRule, ...]
    priority: int | None
    timeout_in_minutes: int
    setup: tuple[str, ...]
    wrapper: str | None
    docker: Mapping[str, DockerOption] | None
    pod: PodTemplate | None

    def queue_for(self, count: int) -> str:
        """Queue of the agents that have ``count`` of this device."""
        return self.queues.get(count, self.queue)

    def offers(self, transport: Transport) -> bool:
        """Whether a job can get its environment in this way here."""
        sections = {"docker": self.docker is not None, "kubernetes": self.pod is not None}
        return sections.get(transport, True)


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one job runs; ``gpus`` is how many accelerators it gets, 0 for none."""

    device: Device
    queue: str
    gpus: int
    transport: Transport

    @property
    def cost_per_hour(self) -> float | None:
        """What the job costs while it runs, in US dollars; None where that is unknown."""
        each = self.device.cost_per_hour
        return None if each is None else each * max(self.gpus, 1)


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """All devices by the name that definitions use, and what all of them share.

    ``variables``: names that the environment of the uploading job has. ``images``: what each
    variant of the image is called where its digest is not known.
    """

    default_device: str
    plain_device: str
    docker_plugin: str
    kubernetes_plugin: str
    variables: tuple[str, ...]
    images: Mapping[str, str]
    retry: Mapping[str, tuple[RetryRule, ...]]
    builders: tuple[BuilderModel, ...]
    devices: Mapping[str, Device]

    @property
    def plain_queue(self) -> str:
        """Queue for steps of our own."""
        return self.devices[self.plain_device].queue

    @cached_property
    def queues(self) -> frozenset[str]:
        """Every queue that serves some device."""
        return frozenset(
            queue
            for device in self.devices.values()
            for queue in (device.queue, *device.queues.values())
        )

    def device_name(self, job: Job) -> str:
        """Name of the device of a job, also where its definition leaves it out."""
        if job.device:
            return job.device
        for builder in self.builders:
            if any(fnmatchcase(job.key, pattern) for pattern in builder.keys):
                return builder.device
        return self.default_device

    def place(self, job: Job) -> Placement | Problem:
        """Find where a job runs, or say what keeps it from running anywhere."""
        name = self.device_name(job)
        device = self.devices.get(name)
        if device is None:
            return self._unknown(job, name)
        transport = job.transport or device.transport
        if not device.offers(transport):
            message = f"the device {name} offers no {transport} environment"
            return Problem(file=job.file, line=job.line, key=job.key, message=message)
        wanted = job.num_devices or 1
        limit = device.host_gpus if device.gpus is None else device.gpus
        if job.num_devices and limit and job.num_devices > limit:
            return Problem(
                file=job.file,
                line=job.line,
                key=f"{job.key}.num_devices",
                message=f"the device {name} has {limit} at most",
                value=str(job.num_devices),
            )
        gpus = (wanted if device.gpus is None else device.gpus) if job.needs_accelerator else 0
        return Placement(device, device.queue_for(wanted), gpus, transport)

    def problem(self, job: Job) -> Problem | None:
        """What is wrong with where a job wants to run, or None."""
        found = self.place(job)
        return found if isinstance(found, Problem) else None

    def _unknown(self, job: Job, name: str) -> Problem:
        return Problem(
            file=job.file,
            line=job.line,
            key=f"{job.key}.device",
            message="unknown device",
            value=repr(name),
            nearest=nearest(name, self.devices),
            allowed=tuple(sorted(self.devices)),
        )


def fleet_text() -> str:
    """Text of the built-in fleet, as it is kept in a decision's parameters."""
    return resources.files("gauntlet.pipelines").joinpath("fleet.yaml").read_text("utf-8")


def parse_fleet(text: str, *, file: str = "fleet.yaml") -> Fleet:
    """Parse a fleet. Raises ConfigError with every problem in it."""
    model = validate_model(parse_yaml(text, file=file), FleetModel)
    devices = {
        name: _device(name, device, model.profiles[device.profile], model)
        for name, device in model.devices.items()
    }
    return Fleet(
        default_device=model.defaults.device,
        plain_device=model.defaults.plain_device,
        docker_plugin=model.plugins.docker,
        kubernetes_plugin=model.plugins.kubernetes,
        variables=model.variables,
        images=model.images,
        retry=model.retry,
        builders=model.builders,
        devices=devices,
    )


def _device(name: str, device: DeviceModel, profile: ProfileModel, model: FleetModel) -> Device:
    return Device(
        name=name,
        queue=device.queue,
        queues=device.queues,
        vendor=profile.vendor,
        accelerator=device.accelerator,
        memory_gib=device.memory_gib,
        slice=device.slice,
        gpus=device.gpus,
        host_gpus=device.host_gpus,
        slots=device.slots,
        cost_per_hour=device.cost_per_hour,
        arch=profile.arch,
        transport=profile.transport,
        image=profile.image,
        retry=model.retry[profile.retry],
        priority=profile.priority,
        timeout_in_minutes=profile.timeout_in_minutes or model.defaults.timeout_in_minutes,
        setup=profile.setup,
        wrapper=profile.wrapper,
        docker=profile.docker,
        pod=profile.pod,
    )
