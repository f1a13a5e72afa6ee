"""An engine as a supervised process: started, waited for, watched, stopped."""

import time
from pathlib import Path
from typing import NoReturn

import httpx

from gauntlet.core.errors import InfrastructureError
from gauntlet.core.proc import Service
from gauntlet.core.scoped import Scoped
from gauntlet.harness.engines.launch import Endpoint, LaunchSpec

_POLL_S = 0.05
_REQUEST_TIMEOUT_S = 5.0


class EngineError(InfrastructureError):
    """An engine did not start, did not become healthy, or died."""


class Engine(Scoped):
    """One engine: launched, waited for, watched, and stopped when it is closed."""

    def __init__(self, spec: LaunchSpec, *, side: str, log: Path) -> None:
        self.spec = spec
        self.side = side
        self._log = log
        self._service: Service | None = None
        self._endpoint: Endpoint | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where the engine answers. Raises EngineError before it is ready."""
        if self._endpoint is None:
            raise EngineError(f"the {self.side} engine ({self.spec.label}) is not ready")
        return self._endpoint

    def launch(self) -> None:
        """Start the process without waiting for it, so that several may start at once."""
        if self.spec.port_file is not None:
            self.spec.port_file.unlink(missing_ok=True)
        self._service = Service(self.spec.argv, log=self._log, env=self.spec.env or None)

    def start(self) -> None:
        """Start the process if need be, and wait until it answers.

        Raises EngineError, with the end of its log, where it dies or stays unhealthy.
        """
        if self._service is None:
            self.launch()
        deadline = time.monotonic() + self.spec.ready_timeout_s
        try:
            port = self._wait_port(deadline)
            with httpx.Client(
                base_url=f"http://{self.spec.host}:{port}",
                timeout=_REQUEST_TIMEOUT_S,
                trust_env=False,  # a proxy for the outside world must not see loopback
            ) as client:
                self._wait_healthy(client, deadline)
                self._endpoint = self._describe(client, port)
        except BaseException:
            self.close()
            raise

    def ensure_alive(self, doing: str, *, settle_s: float = 0.0) -> None:
        """Raise EngineError where the process ended; ``doing`` says what was going on.

        ``settle_s`` is how long to wait for an end that is only just happening.
        """
        deadline = time.monotonic() + settle_s
        while self._service is not None:
            if self._service.returncode is not None:
                self._died(self._service, doing)
            if time.monotonic() >= deadline:
                return
            time.sleep(_POLL_S)

    def close(self) -> None:
        """Stop the engine and everything it started. Safe to call again."""
        if self._service is not None:
            self._service.close()

    def _wait_port(self, deadline: float) -> int:
        if self.spec.port is not None:
            return self.spec.port
        port_file = self.spec.port_file
        while time.monotonic() < deadline:
            if port_file is not None and port_file.exists():
                return int(port_file.read_text(encoding="ascii"))
            self.ensure_alive("while it started")
            time.sleep(_POLL_S)
        raise self._unhealthy("it never said on which port it listens")

    def _wait_healthy(self, client: httpx.Client, deadline: float) -> None:
        reason = "it never answered"
        while time.monotonic() < deadline:
            self.ensure_alive("while it started")
            try:
                response = client.get("/health")
            except httpx.TransportError as error:
                reason = f"{type(error).__name__}: {error}"
            else:
                if response.is_success:
                    return
                reason = f"GET /health answers {response.status_code}"
            time.sleep(_POLL_S)
        raise self._unhealthy(reason)

    def _describe(self, client: httpx.Client, port: int) -> Endpoint:
        try:
            models = client.get("/v1/models").raise_for_status().json()["data"]
            version = client.get("/version").raise_for_status().json().get("version")
            return Endpoint(host=self.spec.host, port=port, model=models[0]["id"], version=version)
        except (httpx.HTTPError, ValueError, LookupError) as error:
            msg = f"the {self.side} engine is healthy, but does not say its model: {error!r}"
            raise EngineError(msg) from error

    def _died(self, service: Service, doing: str) -> NoReturn:
        status = service.returncode
        msg = f"the {self.side} engine ({self.spec.label}) ended with status {status} {doing}"
        raise EngineError(self._with_log(msg), hint=self._log_hint())

    def _unhealthy(self, reason: str) -> EngineError:
        limit = self.spec.ready_timeout_s
        msg = f"the {self.side} engine ({self.spec.label}) was not healthy in {limit:g} s: {reason}"
        return EngineError(self._with_log(msg), hint=self._log_hint())

    def _with_log(self, message: str) -> str:
        tail = self._service.log_tail() if self._service is not None else ""
        return f"{message}\n--- end of its log\n{tail}" if tail else message

    def _log_hint(self) -> str:
        return f"its whole log is {self._log}; its settings: {self.spec.configuration}"
