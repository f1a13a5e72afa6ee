"""Start a server, wait for its health, have it say something, stop it: all within bounds."""

import json
import socket
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from gauntlet.core.clock import Stopwatch
from gauntlet.core.findings import Finding
from gauntlet.core.proc import Service
from gauntlet.release.smoke.result import Tried
from gauntlet.release.smoke.settings import SmokeSettings

_PAUSE_S = 0.1
_HEALTH_S = 5.0
_DYING_S = 1.0
_LOG_BYTES = 4 << 20
_SHOWN = 300


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """How a server is started, and what it is called in findings."""

    subject: str
    argv: Sequence[str]
    port: int
    folder: Path
    environment: Mapping[str, str]
    log: Path


class _FailedError(Exception):
    """The server is not as it should be: a check's name, and what is wrong."""

    def __init__(self, check: str, message: str) -> None:
        super().__init__(message)
        self.check = check


def serve_once(server: Server, settings: SmokeSettings) -> Tried:
    """Serve and ask once. Whatever happens, nothing is left running."""
    with Service(
        server.argv,
        log=server.log,
        cwd=server.folder,
        env=server.environment,
        log_limit=_LOG_BYTES,
    ) as service:
        url = f"http://127.0.0.1:{server.port}"
        try:
            # Proxies of the environment are for the network, not for this machine.
            with httpx.Client(base_url=url, trust_env=False, timeout=_HEALTH_S) as client:
                _await_health(client, service, settings)
                said = _ask(client, service, settings)
        except _FailedError as error:
            tail = service.log_tail()
            message = f"{error}\n{tail}" if tail else str(error)
            return Tried([Finding(check=error.check, subject=server.subject, message=message)])
    return Tried(said=said)


def free_port() -> int:
    """A port of this machine that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _await_health(client: httpx.Client, service: Service, settings: SmokeSettings) -> None:
    watch, answer = Stopwatch(), "it does not listen"
    while watch.seconds < settings.startup_s:
        _ensure_alive(service, "before it was healthy")
        try:
            response = client.get(settings.health)
            if response.is_success:
                return
            answer = f"GET {settings.health} answers {response.status_code}"
        except httpx.TransportError as error:
            answer = f"{type(error).__name__}: {error}"
        time.sleep(_PAUSE_S)
    raise _FailedError("smoke-health", f"not healthy in {settings.startup_s:g} s: {answer}")


def _ensure_alive(service: Service, when: str) -> None:
    if service.returncode is not None:
        raise _FailedError("smoke-server", f"it ended with {service.returncode} {when}")


def _ask(client: httpx.Client, service: Service, settings: SmokeSettings) -> str:
    """One completion, asked beside us: an answer that drips for ever is no answer either."""
    outcome: list[str | _FailedError] = []

    def ask() -> None:
        try:
            outcome.append(_complete(client, settings))
        except _FailedError as error:
            outcome.append(error)

    thread = threading.Thread(target=ask, name="smoke-completion", daemon=True)
    watch = Stopwatch()
    thread.start()
    while thread.is_alive() and watch.seconds < settings.request_s:
        thread.join(_PAUSE_S)
        if service.returncode is not None and not outcome:
            thread.join(_PAUSE_S)
            _ensure_alive(service, "when it was asked")
    if not outcome:
        raise _no_answer(settings)
    if isinstance(outcome[0], _FailedError):
        _wait_for_end(service)
        _ensure_alive(service, "when it was asked")
        raise outcome[0]
    return outcome[0]


def _no_answer(settings: SmokeSettings) -> _FailedError:
    return _FailedError("smoke-completion", f"no answer in {settings.request_s:g} s")


def _wait_for_end(service: Service) -> None:
    """A server that dies breaks the connection first, and is gone a moment later."""
    watch = Stopwatch()
    while service.returncode is None and watch.seconds < _DYING_S:
        time.sleep(_PAUSE_S)


def _complete(client: httpx.Client, settings: SmokeSettings) -> str:
    common = {"max_tokens": settings.max_tokens, "temperature": 0, "model": settings.model}
    try:
        if not settings.model:
            common["model"] = _first_model(client.get("/v1/models"))
        wait_s = settings.request_s
        body: dict[str, object] = {**common, "prompt": settings.prompt}
        response = client.post("/v1/completions", json=body, timeout=wait_s)
        if response.status_code in {404, 405}:
            body = {**common, "messages": [{"role": "user", "content": settings.prompt}]}
            response = client.post("/v1/chat/completions", json=body, timeout=wait_s)
    except httpx.TimeoutException as error:
        raise _no_answer(settings) from error
    except httpx.TransportError as error:
        said = f"{type(error).__name__}: {error}"
        raise _FailedError("smoke-completion", f"asked for a completion: {said}") from error
    if not response.is_success:
        said = f"{response.status_code}: {response.text[:_SHOWN]}"
        raise _FailedError("smoke-completion", f"a completion is answered with {said}")
    return _text(response)


def _first_model(response: httpx.Response) -> str:
    try:
        return str(json.loads(response.content)["data"][0]["id"])
    except (ValueError, LookupError, TypeError) as error:
        said = f"GET /v1/models names no model: {response.text[:_SHOWN]}"
        raise _FailedError("smoke-completion", said) from error


def _text(response: httpx.Response) -> str:
    try:
        choice = json.loads(response.content)["choices"][0]
        text = choice["text"] if "text" in choice else choice["message"]["content"]
    except (ValueError, LookupError, TypeError) as error:
        said = f"what it answers is no completion: {response.text[:_SHOWN]}"
        raise _FailedError("smoke-completion", said) from error
    if not isinstance(text, str) or not text.strip():
        raise _FailedError("smoke-completion", f"the completion is empty: {text!r}")
    return text
