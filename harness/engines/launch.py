"""What it takes to start an engine: plain data, made by the module of each engine kind."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

GpuVendor = Literal["nvidia", "amd"]

# Which devices a process may use. Names as the vendors' runtimes read them.
VISIBLE_DEVICES: Mapping[GpuVendor, str] = {
    "nvidia": "CUDA_VISIBLE_DEVICES",
    "amd": "ROCR_VISIBLE_DEVICES",
}
_LOG_LIMIT = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProcess:
    """Beside us on this machine; ``argv`` is the whole command."""

    cwd: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A folder of the host, as a container sees it."""

    source: Path
    target: str
    read_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Container:
    """In a container of the local Docker daemon; ``argv`` are the arguments of its entry point."""

    image: str
    mounts: tuple[Mount, ...] = ()
    container_port: int = 8000
    entrypoint: tuple[str, ...] = ()
    open_files: int = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A persistent volume claim and where it is mounted."""

    name: str
    target: str
    read_only: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """In a pod of a Kubernetes cluster, reached through kubectl.

    ``total_deadline_s`` ends the pod even where nobody is left to delete it. ``reach`` says how
    clients get there: through a forwarded local port, or by the pod's own address.
    """

    image: str
    name: str
    namespace: str = "default"
    context: str | None = None
    container_port: int = 8000
    command: tuple[str, ...] = ()
    claims: tuple[Claim, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    service_account: str | None = None
    shared_memory_gib: int = 16
    total_deadline_s: int = 4 * 3600
    reach: Literal["port-forward", "pod-ip"] = "port-forward"


@dataclass(frozen=True, slots=True, kw_only=True)
class External:
    """Somebody else's running server: nothing is started, nothing is ever stopped."""

    url: str


Placement = LocalProcess | Container | Pod | External


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSpec:
    """One engine to start.

    ``port`` is None where the engine picks a free port itself and writes it to ``port_file``.
    ``env`` are the variables that are set beside those a local process inherits. ``model`` is the
    name that requests will ask for; None takes the first that the server names. ``gpus`` are
    indices or UUIDs; in a pod only their number counts. Times are in seconds: the whole start,
    the first real request, and between TERM and KILL. ``log_limit`` is in bytes. ``commit`` and
    ``image_digest`` say which build it is, where that is known.
    """

    kind: str
    label: str
    where: Placement = field(default_factory=LocalProcess)
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    port: int | None = None
    port_file: Path | None = None
    model: str | None = None
    gpus: tuple[str, ...] = ()
    vendor: GpuVendor = "nvidia"
    health_path: str = "/health"
    ready_timeout_s: float = 30.0
    request_timeout_s: float = 60.0
    stop_grace_s: float = 3.0
    log_limit: int = _LOG_LIMIT
    commit: str | None = None
    image_digest: str | None = None
    configuration: str = ""

    @property
    def environment(self) -> dict[str, str]:
        """All variables that the engine sees, as far as they are known here."""
        inherited = dict(os.environ) if isinstance(self.where, LocalProcess) else {}
        return {**inherited, **self.device_variables, **self.env}

    @property
    def device_variables(self) -> dict[str, str]:
        """The variable that limits the engine to its ``gpus``; none where they are not given."""
        return {VISIBLE_DEVICES[self.vendor]: ",".join(self.gpus)} if self.gpus else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A running engine as a client sees it."""

    host: str
    port: int
    model: str
    version: str | None
    scheme: str = "http"

    @property
    def base_url(self) -> str:
        """Root URL, without a trailing slash."""
        return f"{self.scheme}://{self.host}:{self.port}"
