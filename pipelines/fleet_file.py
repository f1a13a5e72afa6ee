"""The shape of ``fleet.yaml``: devices, the environments they give a job, retry policies, images.

``docs/reference/fleet.md`` says what each field means.
"""

from collections.abc import Mapping
from typing import Annotated, Literal, Self

from pydantic import Field, StrictBool, StrictInt, StringConstraints, model_validator

from gauntlet.core.yaml_file import StrictModel
from gauntlet.pipelines.definitions.job import Transport

Arch = Literal["x86_64", "aarch64"]
SignalReason = Literal[
    "agent_incompatible",
    "agent_refused",
    "agent_stop",
    "cancel",
    "none",
    "process_run_error",
    "signature_rejected",
    "stack_error",
]
DockerOption = StrictBool | StrictInt | str | tuple[str, ...]
Name = Annotated[str, StringConstraints(min_length=1)]
DockerName = Annotated[str, StringConstraints(pattern=r"^[a-z]+(-[a-z]+)*$")]
Count = Annotated[StrictInt, Field(ge=0)]
Positive = Annotated[StrictInt, Field(ge=1)]

# What a test runner ends with when a test fails, and what would cover that too.
_TEST_FAILURE = 1
# The renderer sets these from the job.
_OWN_DOCKER_OPTIONS = frozenset({"image", "command", "entrypoint", "mount-buildkite-agent"})


class RetryRule(StrictModel):
    """One class of failure that says nothing about the job, and how often it is tried again."""

    failure: Name
    exit_status: StrictInt | None = None
    signal_reason: SignalReason | None = None
    limit: Annotated[StrictInt, Field(ge=1, le=10)]

    @model_validator(mode="after")
    def _is_no_test_failure(self) -> Self:
        if self.exit_status is None and self.signal_reason is None:
            message = "give exit_status, signal_reason or both: a rule without covers test failures"
            raise ValueError(message)
        if self.exit_status == _TEST_FAILURE and self.signal_reason in {None, "none"}:
            message = "exit status 1 is a failed test, which no policy may retry"
            raise ValueError(message)
        return self


class PodTemplate(StrictModel):
    """What a pod gets; image and accelerators of its container come from the job.

    ``resource`` is the accelerator's name in Kubernetes, None where the pods have none.
    """

    resource: Name | None = None
    container: Mapping[str, object] = Field(default_factory=dict)
    spec: Mapping[str, object] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _leaves_the_container_to_the_job(self) -> Self:
        taken = sorted({"image", "resources"} & set(self.container))
        taken += ["containers"] if "containers" in self.spec else []
        if taken:
            message = f"the job sets {', '.join(taken)}"
            raise ValueError(message)
        return self


class ProfileModel(StrictModel):
    """How jobs on some devices get their environment."""

    vendor: Name
    arch: Arch = "x86_64"
    transport: Transport
    image: Name = "default"
    retry: Name = "default"
    priority: StrictInt | None = None
    timeout_in_minutes: Positive | None = None
    setup: tuple[str, ...] = ()
    wrapper: str | None = None
    docker: Mapping[DockerName, DockerOption] | None = None
    pod: PodTemplate | None = None

    @model_validator(mode="after")
    def _has_what_its_transport_needs(self) -> Self:
        missing = {"docker": self.docker is None, "kubernetes": self.pod is None, "bare": False}
        if missing[self.transport]:
            section = "docker" if self.transport == "docker" else "pod"
            message = f"the transport {self.transport} needs the section {section}"
            raise ValueError(message)
        taken = _OWN_DOCKER_OPTIONS & set(self.docker or {})
        if taken:
            message = f"the job sets the docker options {', '.join(sorted(taken))}"
            raise ValueError(message)
        return self


class DeviceModel(StrictModel):
    """One kind of device; ``gpus`` None means that the job says how many it needs."""

    profile: Name
    queue: Name
    queues: dict[Positive, Name] = Field(default_factory=dict)
    accelerator: Name | None = None
    memory_gib: Annotated[float, Field(gt=0)] | None = None
    slice: Name | None = None
    gpus: Count | None = None
    host_gpus: Positive | None = None
    slots: Positive | None = None
    cost_per_hour: Annotated[float, Field(ge=0)] | None = None


class BuilderModel(StrictModel):
    """Where image builds run that name no device."""

    keys: tuple[str, ...]
    device: Name


class DefaultsModel(StrictModel):
    """What applies where nothing more special does."""

    device: Name
    plain_device: Name
    timeout_in_minutes: Positive


class PluginsModel(StrictModel):
    """Buildkite plugins, with the version that is pinned."""

    docker: Annotated[str, StringConstraints(pattern=r"#v\d+\.\d+\.\d+$")]
    kubernetes: Name


class FleetModel(StrictModel):
    """All of ``fleet.yaml``."""

    defaults: DefaultsModel
    plugins: PluginsModel
    variables: tuple[str, ...] = ()
    images: dict[str, str]
    retry: dict[str, tuple[RetryRule, ...]]
    builders: tuple[BuilderModel, ...] = ()
    profiles: dict[str, ProfileModel]
    devices: dict[str, DeviceModel]

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        wrong = [*self._unknown_devices(), *self._unknown_parts()]
        if wrong:
            message = "; ".join(wrong)
            raise ValueError(message)
        return self

    def _unknown_devices(self) -> list[str]:
        named = [("defaults.device", self.defaults.device)]
        named += [("defaults.plain_device", self.defaults.plain_device)]
        named += [(f"builders[{n}].device", b.device) for n, b in enumerate(self.builders)]
        return [f"{where}: no device {name!r}" for where, name in named if name not in self.devices]

    def _unknown_parts(self) -> list[str]:
        wrong = [
            f"devices.{name}.profile: no profile {device.profile!r}"
            for name, device in self.devices.items()
            if device.profile not in self.profiles
        ]
        for name, profile in self.profiles.items():
            if profile.retry not in self.retry:
                wrong.append(f"profiles.{name}.retry: no retry policy {profile.retry!r}")
            if profile.image not in self.images:
                wrong.append(f"profiles.{name}.image: no image {profile.image!r}")
        return wrong
