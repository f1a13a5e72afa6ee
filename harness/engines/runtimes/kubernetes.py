"""An engine in a pod, driven through the ``kubectl`` binary.

Tested against a fake ``kubectl`` only: no cluster was at hand. A container's end is seen at once,
as the command that follows its log ends with it; a node that is lost is seen when the cluster says
so, which is asked every ten seconds.
"""

import json
import shutil
import time
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.proc import CommandError, Completed, Service, run
from gauntlet.harness.engines.errors import EngineError
from gauntlet.harness.engines.launch import LaunchSpec, Pod
from gauntlet.harness.engines.ports import free_port
from gauntlet.harness.engines.runtime import TAIL_LINES, Address, Ended
from gauntlet.harness.engines.runtimes.manifest import CONTAINER, PodState, pod_manifest, read_pod
from gauntlet.harness.engines.tails import file_tail

_CALL_TIMEOUT_S = 15.0
_LOOK_WHILE_PENDING_S = 1.0
_LOOK_WHILE_RUNNING_S = 10.0
# Between the end of the log and the status that explains it.
_LOOK_AGAIN_S = 0.3
_DELETE_SLACK_S = 20.0


class KubernetesRuntime:
    """Adapter for a pod."""

    root_pid: int | None = None

    def __init__(self, spec: LaunchSpec, where: Pod, log: Path) -> None:
        self._spec = spec
        self._where = where
        self._log = log
        self._state: PodState | None = None
        self._next_look_s = 0.0
        self._applied = False
        self._follower: Service | None = None
        self._forward: Service | None = None
        self._local_port: int | None = None

    def start(self) -> None:
        """Apply the manifest. Raises UsageError without kubectl, EngineError where refused."""
        if shutil.which("kubectl") is None:
            hint = "install it, and choose a cluster: kubectl config use-context NAME"
            raise UsageError("engines in pods need kubectl, which is not on PATH", hint=hint)
        manifest = json.dumps(pod_manifest(self._spec, self._where))
        try:
            self._kubectl("apply", "--filename=-", stdin=manifest.encode())
        except CommandError as error:
            msg = f"{self._spec.label}: the cluster refuses the pod {self._name}: {error.message}"
            hint = "kubectl auth can-i create pods; kubectl get nodes"
            raise EngineError(msg, hint=hint) from error
        self._applied = True

    def answered(self) -> None:
        """Do nothing: its end is seen without asking the server."""

    def ended(self) -> Ended | None:
        """How the pod ended; asks the cluster seldom while the log goes on."""
        if not self._applied:
            return None
        if self._state is not None and self._state.ended is not None:
            return self._state.ended
        silent = self._follower is not None and self._follower.returncode is not None
        if silent:
            self._next_look_s = min(self._next_look_s, time.monotonic() + _LOOK_AGAIN_S)
        if time.monotonic() >= self._next_look_s:
            self._look()
            if silent and self._state is not None and self._state.ended is None:
                self._follow()  # the connection broke, not the container
        if self._forward is not None and self._forward.returncode is not None:
            self._start_forward()
        return self._state.ended if self._state is not None else None

    def address(self) -> Address | None:
        """The forwarded local port, or the pod's own; None until the pod runs."""
        if self._state is None or not self._state.running:
            return None
        if self._where.reach == "pod-ip":
            ip = self._state.address
            return None if ip is None else Address(host=ip, port=self._where.container_port)
        if self._forward is None:
            self._local_port = self._spec.port or free_port()
            self._start_forward()
        if self._local_port is None:
            return None
        return Address(host="127.0.0.1", port=self._local_port)

    def progress(self) -> str:
        """What the cluster says the pod waits for."""
        return "" if self._state is None else self._state.progress

    def log_tail(self, lines: int = TAIL_LINES) -> str:
        """Return the last lines of the container's output."""
        return file_tail(self._log, lines)

    def stop(self) -> None:
        """Delete the pod and wait until it is gone.

        Raises EngineError where the cluster does not confirm it: the GPUs may still be taken.
        """
        for service in (self._forward, self._follower):
            if service is not None:
                service.close()
        if not self._applied:
            return
        self._applied = False
        grace = max(1, round(self._spec.stop_grace_s))
        try:
            self._kubectl(
                "delete",
                "pod",
                self._where.name,
                "--ignore-not-found",
                f"--grace-period={grace}",
                "--wait=true",
                f"--timeout={grace + _DELETE_SLACK_S:g}s",
                timeout=grace + 2 * _DELETE_SLACK_S,
            )
        except CommandError as error:
            msg = f"{self._spec.label}: the pod {self._name} may still run: {error.message}"
            hint = f"kubectl -n {self._where.namespace} delete pod {self._where.name} --force"
            raise EngineError(msg, hint=hint) from error

    @property
    def image_digest(self) -> str | None:
        """Digest of the image that the node really runs."""
        return None if self._state is None else self._state.image_digest

    @property
    def log_problem(self) -> str | None:
        """Why its log is incomplete."""
        return None if self._follower is None else self._follower.log_problem

    @property
    def _name(self) -> str:
        return f"{self._where.namespace}/{self._where.name}"

    def _look(self) -> None:
        result = self._kubectl(
            "get", "pod", self._where.name, "--output=json", "--ignore-not-found", check=False
        )
        if result.returncode == 0 and not result.stdout.strip():
            gone = Ended(status=None, reason="the pod was deleted")
            self._state = PodState(
                running=False, address=None, progress="", image_digest=None, ended=gone
            )
        elif result.returncode == 0:
            self._state = read_pod(result.stdout)
        # A cluster that does not answer for a moment is no death.
        running = self._state is not None and self._state.running
        pause = _LOOK_WHILE_RUNNING_S if running else _LOOK_WHILE_PENDING_S
        self._next_look_s = time.monotonic() + pause
        if running and self._follower is None:
            self._follow()

    def _follow(self) -> None:
        resumed = [] if self._follower is None else ["--since=2s"]
        self._follower = Service(
            self._command(
                "logs", "--follow", f"--container={CONTAINER}", *resumed, self._where.name
            ),
            log=self._log,
            log_limit=self._spec.log_limit,
        )

    def _start_forward(self) -> None:
        ports = f"{self._local_port}:{self._where.container_port}"
        self._forward = Service(
            self._command("port-forward", f"pod/{self._where.name}", ports, "--address=127.0.0.1"),
            log=self._log.with_suffix(".forward.log"),
            log_limit=1 << 20,
        )

    def _kubectl(
        self,
        *arguments: str,
        stdin: bytes | None = None,
        timeout: float = _CALL_TIMEOUT_S,
        check: bool = True,
    ) -> Completed:
        return run(self._command(*arguments), timeout=timeout, stdin=stdin, check=check)

    def _command(self, *arguments: str) -> list[str]:
        context = [f"--context={self._where.context}"] if self._where.context else []
        return ["kubectl", *context, f"--namespace={self._where.namespace}", *arguments]
