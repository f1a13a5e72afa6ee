"""Whether a server is ready: it says so, and it has answered one real request."""

import json
import threading
from collections.abc import Callable

import httpx

from gauntlet.harness.engines.identity import NO_ROUTE

_PROMPT = "Hello"


class RefusedError(Exception):
    """The server refuses a request that it will never accept."""


def health_problem(client: httpx.Client, path: str) -> str | None:
    """Ask for the health; return what is wrong, None where it is well."""
    try:
        response = client.get(path)
    except httpx.TransportError as error:
        return f"{type(error).__name__}: {error}"
    return None if response.is_success else f"GET {path} answers {response.status_code}"


def completion_problem(client: httpx.Client, model: str) -> str | None:
    """Have one token generated; return what went wrong, None where it came.

    A server without plain completions is asked to chat. Raises RefusedError where it will never
    answer such a request.
    """
    common = {"model": model, "max_tokens": 1, "temperature": 0}
    try:
        path = "/v1/completions"
        response = client.post(path, json={**common, "prompt": _PROMPT})
        if response.status_code in NO_ROUTE:
            path = "/v1/chat/completions"
            messages = [{"role": "user", "content": _PROMPT}]
            response = client.post(path, json={**common, "messages": messages})
    except httpx.TimeoutException:
        return f"no answer to a request in {client.timeout.read:g} s"
    except httpx.TransportError as error:
        return f"a completion of one token: {type(error).__name__}: {error}"
    said = f"POST {path} answers {response.status_code}: {response.text[:300]}"
    if 400 <= response.status_code < 500 and response.status_code not in {408, 425, 429}:
        raise RefusedError(said)
    if not response.is_success:
        return said
    try:
        return None if json.loads(response.content)["choices"] else f"{said} (no choices)"
    except (ValueError, LookupError, TypeError):
        return f"{said} (not a completion)"


class Attempt:
    """One question to a server, asked beside us, so that a death is seen while it is open.

    The total time of one is bounded by whoever waits for it; its thread ends with the client.
    """

    def __init__(self, ask: Callable[[], str | None]) -> None:
        self._ask = ask
        self._problem: str | None = None
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="engine-probe", daemon=True)
        self._thread.start()

    def done(self, within_s: float) -> bool:
        """Wait for the answer for at most so long."""
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def problem(self) -> str | None:
        """Return what the answer was; raises what asking raised."""
        if self._error is not None:
            raise self._error
        return self._problem

    def _run(self) -> None:
        try:
            self._problem = self._ask()
        except Exception as error:  # noqa: BLE001 - raised again by who waits
            self._error = error
