"""An engine in a container of the local Docker daemon, through the ``docker`` SDK.

Tested against a hand-written fake of the SDK's client only: no daemon that could run containers was
at hand. Needs the extra ``docker``.
"""

import os
import platform
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypedDict

from gauntlet.core.supervisor import BoundedLog
from gauntlet.harness.engines.errors import EngineError
from gauntlet.harness.engines.launch import Container, LaunchSpec
from gauntlet.harness.engines.ports import check_port, free_port
from gauntlet.harness.engines.runtime import TAIL_LINES, Address, Ended
from gauntlet.harness.engines.runtimes.docker_api import (
    DockerClient,
    DockerContainer,
    connect,
    docker_errors_ignored,
    is_of_docker,
)
from gauntlet.harness.engines.tails import file_tail

_OWNER_HOST = "gauntlet.host"
_OWNER_PID = "gauntlet.pid"
_OWNER_STARTED = "gauntlet.pid-started"
_LOOK_EVERY_S = 0.5


class ContainerPlan(TypedDict, total=False):
    """Options of ``containers.run``, under the SDK's names."""

    detach: bool
    environment: dict[str, str]
    ports: dict[str, tuple[str, int]]
    volumes: dict[str, dict[str, str]]
    ipc_mode: str
    init: bool
    labels: dict[str, str]
    ulimits: list[dict[str, object]]
    log_config: dict[str, object]
    device_requests: list[dict[str, object]]
    devices: list[str]
    group_add: list[str]
    security_opt: list[str]
    entrypoint: list[str]


def plan_container(
    spec: LaunchSpec, where: Container, *, port: int, labels: Mapping[str, str]
) -> ContainerPlan:
    """Options of the container; ``port`` is the one of this machine that leads to it.

    It shares the host's IPC, as the workers of an engine talk through shared memory, and keeps
    its exit status until it is removed.
    """
    plan: ContainerPlan = {
        "detach": True,
        "environment": dict(spec.env),
        "ports": {f"{where.container_port}/tcp": (spec.host, port)},
        "volumes": {
            str(mount.source.resolve()): {
                "bind": mount.target,
                "mode": "ro" if mount.read_only else "rw",
            }
            for mount in where.mounts
        },
        "ipc_mode": "host",
        "init": True,
        "labels": dict(labels),
        "ulimits": [{"name": "nofile", "soft": where.open_files, "hard": where.open_files}],
        "log_config": {"type": "json-file", "config": {"max-size": "32m", "max-file": "2"}},
    }
    if where.entrypoint:
        plan["entrypoint"] = list(where.entrypoint)
    if spec.gpus and spec.vendor == "nvidia":
        devices = list(spec.gpus)
        plan["device_requests"] = [
            {"driver": "nvidia", "device_ids": devices, "capabilities": [["gpu"]]}
        ]
    elif spec.gpus:
        plan["devices"] = ["/dev/kfd", "/dev/dri"]
        plan["group_add"] = ["video"]
        plan["security_opt"] = ["seccomp=unconfined"]
        plan["environment"] = {**spec.device_variables, **spec.env}
    return plan


class DockerRuntime:
    """Adapter for a container; ``client`` is the SDK's, opened at the start where none is given."""

    def __init__(
        self, spec: LaunchSpec, where: Container, log: Path, *, client: DockerClient | None = None
    ) -> None:
        self._spec = spec
        self._where = where
        self._log = log
        self._client = client
        self._container: DockerContainer | None = None
        self._port: int | None = None
        self._ended: Ended | None = None
        self._next_look_s = 0.0
        self._follower: threading.Thread | None = None
        self.log_problem: str | None = None
        self.image_digest: str | None = None

    def start(self) -> None:
        """Remove what owners that are gone left behind, then start the container."""
        client = self._client = self._client or connect()
        _remove_orphans(client)
        self._port = self._spec.port or free_port(self._spec.host)
        check_port(self._spec.host, self._port, who=self._spec.label)
        labels = {
            _OWNER_HOST: platform.node(),
            _OWNER_PID: str(os.getpid()),
            _OWNER_STARTED: _process_start(os.getpid()) or "",
        }
        plan = plan_container(self._spec, self._where, port=self._port, labels=labels)
        try:
            container = client.containers.run(self._where.image, list(self._spec.argv), **plan)
        except Exception as error:
            if not is_of_docker(error):
                raise
            _remove_unstarted(client)
            msg = f"{self._spec.label}: the image {self._where.image} cannot be run: {error}"
            raise EngineError(
                msg, hint="docker pull it, and check its name and the GPUs"
            ) from error
        self._container = container
        self.image_digest = _digest_of(container)
        self._follower = threading.Thread(
            target=self._follow, args=(container,), name="container-log", daemon=True
        )
        self._follower.start()

    def answered(self) -> None:
        """Do nothing: its end is seen without asking the server."""

    def ended(self) -> Ended | None:
        """Ask the daemon, at most twice a second, or at once where the output has ended."""
        container = self._container
        if container is None or self._ended is not None:
            return self._ended
        silent = self._follower is not None and not self._follower.is_alive()
        if time.monotonic() < self._next_look_s and not silent:
            return None
        self._next_look_s = time.monotonic() + _LOOK_EVERY_S
        try:
            container.reload()
        except Exception as error:
            if not is_of_docker(error):
                raise
            if type(error).__name__ == "NotFound":
                self._ended = Ended(status=None, reason="the container was removed")
            return self._ended  # a daemon that does not answer for a moment is no death
        if container.status in {"exited", "dead"}:
            self._ended = container_end(container.attrs)
            if self._follower is not None:
                self._follower.join(1.0)
        return self._ended

    def address(self) -> Address | None:
        """Return the port of this machine that leads into the container."""
        return None if self._port is None else Address(host=self._spec.host, port=self._port)

    def progress(self) -> str:
        """The container's state in the daemon's word."""
        return "" if self._container is None else f"the container is {self._container.status}"

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of the container's output."""
        return file_tail(self._log, lines)

    def stop(self) -> None:
        """Stop the container as the daemon does (TERM, KILL after the grace) and remove it."""
        container, self._container = self._container, None
        if container is None:
            return
        with docker_errors_ignored():
            container.stop(timeout=max(1, round(self._spec.stop_grace_s)))
        with docker_errors_ignored():
            container.remove(force=True)
        if self._follower is not None:
            self._follower.join(2.0)
        self._ended = self._ended or Ended(status=None, reason="stopped")

    @property
    def root_pid(self) -> int | None:
        """The container's first process as the host sees it; None where the daemon is elsewhere."""
        pid = _state(self._container).get("Pid") if self._container is not None else None
        return pid if isinstance(pid, int) and Path(f"/proc/{pid}").exists() else None

    def _follow(self, container: DockerContainer) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        log = BoundedLog(self._log, limit=self._spec.log_limit, on_problem=self._note_problem)
        try:
            # The stream breaks where the daemon goes away; what came until then is kept.
            with docker_errors_ignored():
                for chunk in container.logs(stream=True, follow=True):
                    log.write(chunk)
        finally:
            log.close()

    def _note_problem(self, reason: str) -> None:
        self.log_problem = reason


def container_end(attrs: Mapping[str, Mapping[str, object]]) -> Ended:
    """Read how a container ended from what the daemon says of it."""
    state = attrs.get("State", {})
    status = state.get("ExitCode")
    reason = "OOMKilled" if state.get("OOMKilled") else str(state.get("Error") or "")
    return Ended(status=status if isinstance(status, int) else None, reason=reason)


def _state(container: DockerContainer) -> Mapping[str, object]:
    return container.attrs.get("State", {})


def _remove_orphans(client: DockerClient) -> None:
    """Remove containers of owners on this host that were killed before they could."""
    found = client.containers.list(all=True, filters={"label": f"{_OWNER_HOST}={platform.node()}"})
    for container in found:
        pid = container.labels.get(_OWNER_PID, "")
        started = container.labels.get(_OWNER_STARTED, "")
        if not pid.isdigit() or _process_start(int(pid)) != started:
            with docker_errors_ignored():
                container.remove(force=True)


def _remove_unstarted(client: DockerClient) -> None:
    """Remove what was created for us but could not be started."""
    for container in client.containers.list(
        all=True, filters={"label": f"{_OWNER_PID}={os.getpid()}"}
    ):
        if container.status == "created":
            with docker_errors_ignored():
                container.remove(force=True)


def _digest_of(container: DockerContainer) -> str | None:
    """Digest by which a registry knows the image; its local id where none does."""
    found: list[str] = []
    with docker_errors_ignored():
        image = container.image
        pulled = [name.rpartition("@")[2] for name in image.attrs.get("RepoDigests", ())]
        found = [*pulled, image.id]
    return next(iter(found), None)


def _process_start(pid: int) -> str | None:
    """When a process started, in ticks since boot: with its id, a name that is not reused."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return None
    return stat.rpartition(")")[2].split()[19]
