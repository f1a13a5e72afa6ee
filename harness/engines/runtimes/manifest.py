"""The pod of an engine as Kubernetes wants it described, and what a pod's status says. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

from gauntlet.harness.engines.launch import GpuVendor, LaunchSpec, Pod
from gauntlet.harness.engines.runtime import Ended

CONTAINER = "engine"
_GPU_RESOURCE: Mapping[GpuVendor, str] = {"nvidia": "nvidia.com/gpu", "amd": "amd.com/gpu"}

# A pod that waits for one of these waits for ever.
_HOPELESS = frozenset(
    {
        "CreateContainerConfigError",
        "CreateContainerError",
        "ErrImageNeverPull",
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "RunContainerError",
    }
)

Json = str | int | float | bool | None | list["Json"] | dict[str, "Json"]


def pod_manifest(spec: LaunchSpec, where: Pod) -> dict[str, Json]:
    """Describe a pod of one container that is never restarted: that would be another engine.

    ``activeDeadlineSeconds`` ends it where nobody is left to delete it.
    """
    gpus: dict[str, Json] = {_GPU_RESOURCE[spec.vendor]: len(spec.gpus)} if spec.gpus else {}
    mounts: list[Json] = [{"name": "shared-memory", "mountPath": "/dev/shm"}]  # noqa: S108
    volumes: list[Json] = [
        {
            "name": "shared-memory",
            "emptyDir": {"medium": "Memory", "sizeLimit": f"{where.shared_memory_gib}Gi"},
        }
    ]
    for number, claim in enumerate(where.claims):
        name = f"claim-{number}"
        mounts.append({"name": name, "mountPath": claim.target, "readOnly": claim.read_only})
        volumes.append({"name": name, "persistentVolumeClaim": {"claimName": claim.name}})
    container: dict[str, Json] = {
        "name": CONTAINER,
        "image": where.image,
        "args": list(spec.argv),
        "env": [{"name": name, "value": value} for name, value in sorted(spec.env.items())],
        "ports": [{"containerPort": where.container_port}],
        "volumeMounts": mounts,
        "resources": {"limits": gpus},
    }
    if where.command:
        container["command"] = list(where.command)
    pod: dict[str, Json] = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": where.total_deadline_s,
        "terminationGracePeriodSeconds": max(1, round(spec.stop_grace_s)),
        "nodeSelector": dict(where.node_selector),
        "containers": [container],
        "volumes": volumes,
    }
    if where.service_account:
        pod["serviceAccountName"] = where.service_account
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": where.name,
            "namespace": where.namespace,
            "labels": {"app.kubernetes.io/managed-by": "gauntlet"},
        },
        "spec": pod,
    }


class _Part(BaseModel):
    """A part of a status of which we read some keys; a cluster says more, and more each version."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Waiting(_Part):
    reason: str = ""
    message: str = ""


class _Terminated(_Part):
    exit_code: int = Field(alias="exitCode")
    reason: str = ""
    message: str = ""


class _State(_Part):
    waiting: _Waiting | None = None
    terminated: _Terminated | None = None


class _ContainerStatus(_Part):
    name: str
    image_id: str = Field(default="", alias="imageID")
    state: _State = _State()


class _Condition(_Part):
    type: str
    status: str
    message: str = ""


class _Status(_Part):
    phase: str = "Pending"
    reason: str = ""
    message: str = ""
    pod_ip: str | None = Field(default=None, alias="podIP")
    conditions: tuple[_Condition, ...] = ()
    containers: tuple[_ContainerStatus, ...] = Field(default=(), alias="containerStatuses")


class _Pod(_Part):
    status: _Status = _Status()


@dataclass(frozen=True, slots=True, kw_only=True)
class PodState:
    """What matters of a pod's status."""

    running: bool
    address: str | None
    progress: str
    image_digest: str | None
    ended: Ended | None


def read_pod(text: str) -> PodState:
    """Read ``kubectl get pod -o json``. Raises ValueError for anything else."""
    status = _Pod.model_validate_json(text).status
    container = next((each for each in status.containers if each.name == CONTAINER), None)
    state = container.state if container is not None else _State()
    return PodState(
        running=status.phase == "Running" and state.terminated is None,
        address=status.pod_ip,
        progress=_progress(status, state.waiting),
        image_digest=_digest_of(container.image_id) if container is not None else None,
        ended=_end(status, state),
    )


def _progress(status: _Status, waiting: _Waiting | None) -> str:
    held = [c.message for c in status.conditions if c.status == "False" and c.message]
    if waiting is not None:
        held = [f"{waiting.reason}: {waiting.message}".rstrip(": ")]
    return f"the pod is {status.phase}" + (f" ({held[0]})" if held else "")


def _end(status: _Status, state: _State) -> Ended | None:
    if state.terminated is not None:
        reason = state.terminated.reason
        # Kubernetes' words for the two ordinary ends say nothing that the status does not.
        quiet = reason in {"Error", "Completed"}
        why = status.reason or ("" if quiet else reason)
        return Ended(status=state.terminated.exit_code, reason=why)
    if status.phase in {"Failed", "Succeeded"}:
        return Ended(status=None, reason=f"{status.reason} {status.message}".strip())
    if state.waiting is not None and state.waiting.reason in _HOPELESS:
        return Ended(status=None, reason=f"{state.waiting.reason}: {state.waiting.message}")
    return None


def _digest_of(image_id: str) -> str | None:
    """``repository@sha256:…`` without the repository; None while no image is there."""
    return image_id.rpartition("@")[2] or None
