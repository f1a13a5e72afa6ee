"""Requests to services: the one place that waits, retries and gives up.

Bounded in every way: requests a minute, time and bytes of an answer, tries of a request, time of
all requests together.
"""

import json
import logging
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NoReturn

import httpx

from gauntlet import __version__
from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.core.scoped import Scoped
from gauntlet.services.limits import RateLimiter, Ticker

_LOGGER = logging.getLogger(__name__)
_LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})
_SAID = 200
# A service that says "wait" for longer than its own window is not believed.
_LONGEST_WAIT_S = 120.0

Parameters = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long and how often to try; times in seconds."""

    tries: int = 6
    first_pause_s: float = 0.5
    longest_pause_s: float = 30.0
    request_s: float = 60.0
    total_s: float = 3600.0
    answer_bytes: int = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Service:
    """What a service is called, and what may be wrong with a token that it refuses."""

    name: str
    reading: str
    writing: str
    missing: str


BUILDKITE = Service(
    name="Buildkite",
    reading="the token needs the scope read_builds, and access to the organisation",
    writing="the token needs the scope write_builds, and access to the organisation",
    missing="check the slugs of organisation and pipeline, and what the token may see",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A good answer: its JSON, the address asked, and the query of the next page, if any."""

    value: object
    address: str
    next_query: str | None


class NotFoundError(UsageError):
    """There is nothing at this address, or we may not know of it."""


class MaybeDoneError(ExternalServiceError):
    """Whether a request that changes something was carried out is not known: look, then decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
    """What went wrong with one try; ``wait_s`` where the service says how long to wait."""

    reason: str
    wait_s: float | None = None
    surely_undone: bool = False


class Transport(Scoped):
    """Requests for JSON from one service, with one token."""

    def __init__(
        self,
        url: str,
        *,
        authorization: str | None,
        service: Service = BUILDKITE,
        secret_address: bool = False,
        limiter: RateLimiter | None = None,
        patience: Patience | None = None,
        ticker: Ticker | None = None,
        jitter: random.Random | None = None,
    ) -> None:
        """Ask the service at ``url``; ``authorization`` is the whole header, and never shown.

        With ``secret_address`` the address is not shown either, and plain text is an answer: so
        are webhooks. The time for all requests together starts now. Raises UsageError for what is
        no URL.
        """
        self._url = url
        self._service = service
        self._secret = secret_address
        self._ticker = ticker or Ticker()
        self._limiter = limiter or RateLimiter(ticker=self._ticker)
        self._patience = patience or Patience()
        # It spreads retries and guards nothing.
        self._jitter = jitter or random.Random()  # noqa: S311
        self._deadline = self._ticker.monotonic() + self._patience.total_s
        self.requests = 0
        host = _host(url, service)
        headers = {"Accept": "application/json", "User-Agent": f"gauntlet/{__version__}"}
        if authorization is not None:
            headers["Authorization"] = authorization
        self._client = httpx.Client(
            base_url=url,
            headers=headers,
            timeout=self._patience.request_s,
            follow_redirects=False,
            trust_env=host not in _LOOPBACK,
        )

    def close(self) -> None:
        """Close connections. Safe to call again."""
        self._client.close()

    def get(self, path: str, parameters: Parameters = ()) -> Answer:
        """Ask until there is a good answer.

        Tries again, later each time, after 429, 5xx, timeouts, broken connections and answers
        that are no JSON. Raises ExternalServiceError when tries or time run out and for every
        other refusal, UsageError where the token is not good enough, NotFoundError for 404.
        """
        return self._ask("GET", path, parameters, None)

    def send(
        self, method: Literal["POST", "PUT", "PATCH"], path: str, body: Mapping[str, object]
    ) -> Answer:
        """Ask for a change, and never for the same one twice.

        Tries again only where the request surely changed nothing: after 429, and where no
        connection came about. Raises MaybeDoneError where it may have arrived, and else as ``get``.
        """
        return self._ask(method, path, (), body)

    def _ask(
        self, method: str, path: str, parameters: Parameters, body: Mapping[str, object] | None
    ) -> Answer:
        address = self._shown(path)
        failure = _Failure(reason="it was never asked")
        for number in range(self._patience.tries):
            if number:
                pause = self._pause_s(number, failure)
                _LOGGER.info("%s: %s; again in %.1f s", address, failure.reason, pause)
                self._sleep(pause, address, failure.reason)
            self._sleep(self._limiter.wait_s(), address, "the rate limit is used up")
            self._limiter.count()
            self.requests += 1
            outcome = self._try(method, path, parameters, body, address)
            if isinstance(outcome, Answer):
                return outcome
            failure = outcome
            if body is not None and not failure.surely_undone:
                msg = f"{method} {address}: {failure.reason}: whether it was done is not known"
                raise MaybeDoneError(msg, hint="look before it is asked for again")
        msg = f"{address}: {failure.reason} ({self._patience.tries} tries)"
        raise ExternalServiceError(msg, hint="run it again later: it continues where it stopped")

    def _shown(self, path: str) -> str:
        base = self._client.base_url
        return (
            f"{base.scheme}://{base.host}/…" if self._secret else str(base.join(path.lstrip("/")))
        )

    def _try(
        self,
        method: str,
        path: str,
        parameters: Parameters,
        sent: Mapping[str, object] | None,
        address: str,
    ) -> Answer | _Failure:
        started = self._ticker.monotonic()
        try:
            # A base address gets a slash at its end, which a webhook does not know.
            where = path or self._url
            with self._client.stream(method, where, params=list(parameters), json=sent) as response:
                body = self._read(response, started)
                self._heed(response)
        except httpx.TransportError as error:
            unsent = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
            reason = f"{type(error).__name__}: {error}".rstrip(": ")
            return _Failure(reason=reason, surely_undone=unsent)
        if isinstance(body, _Failure):
            return body
        if response.status_code == httpx.codes.TOO_MANY_REQUESTS:
            wait_s = _seconds(response, "Retry-After") or _seconds(response, "RateLimit-Reset")
            return _Failure(reason="429: too many requests", wait_s=wait_s, surely_undone=True)
        if response.is_server_error:
            return _Failure(reason=_said(response, body))
        if not response.is_success:
            _refuse(response, body, address, self._service)
        return self._answer(response, body, address)

    def _answer(self, response: httpx.Response, body: bytes, address: str) -> Answer | _Failure:
        if response.status_code == httpx.codes.NO_CONTENT:
            return Answer(value=None, address=address, next_query=None)
        try:
            value = json.loads(body)
        except (ValueError, RecursionError) as error:
            if not self._secret:
                return _Failure(reason=f"the answer is no JSON: {error}")
            value = body.decode(errors="replace")
        return Answer(value=value, address=address, next_query=_next_query(response))

    def _read(self, response: httpx.Response, started: float) -> bytes | _Failure:
        """Read a body whose size and time are bounded, however slowly it drips."""
        data = bytearray()
        for chunk in response.iter_bytes():
            data += chunk
            if len(data) > self._patience.answer_bytes:
                where = self._shown(response.url.path)
                msg = f"{where}: the answer is larger than {self._patience.answer_bytes} bytes"
                raise ExternalServiceError(msg, hint="ask for less at once")
            if self._ticker.monotonic() - started > self._patience.request_s:
                return _Failure(reason=f"no whole answer in {self._patience.request_s:g} s")
        return bytes(data)

    def _heed(self, response: httpx.Response) -> None:
        """Stop asking for as long as the service says that its window is used up."""
        if response.headers.get("RateLimit-Remaining") == "0":
            self._limiter.close_for(_seconds(response, "RateLimit-Reset") or 1.0)

    def _pause_s(self, number: int, failure: _Failure) -> float:
        if failure.wait_s is not None:
            return failure.wait_s
        pause = self._patience.first_pause_s * 2.0 ** (number - 1)
        return min(pause, self._patience.longest_pause_s) * self._jitter.uniform(0.5, 1.0)

    def _sleep(self, seconds: float, address: str, reason: str) -> None:
        """Wait, unless the time for all requests would be over before that."""
        if self._ticker.monotonic() + seconds > self._deadline:
            msg = f"{address}: gave up after {self._patience.total_s:g} s: {reason}"
            raise ExternalServiceError(msg, hint="run it again: it continues where it stopped")
        if seconds > 0:
            self._ticker.sleep(seconds)


def _host(url: str, service: Service) -> str:
    try:
        parsed = httpx.URL(url)
    except httpx.InvalidURL as error:
        raise UsageError(f"the address of {service.name} is no URL: {error}") from error
    if parsed.scheme not in {"http", "https"} or not parsed.host:
        msg = f"the address of {service.name} is no URL of a service"
        raise UsageError(msg, hint="it starts with https://")
    return parsed.host


def _refuse(response: httpx.Response, body: bytes, address: str, service: Service) -> NoReturn:
    msg = f"{address}: {_said(response, body)}"
    match response.status_code:
        case httpx.codes.UNAUTHORIZED:
            raise UsageError(msg, hint="the token is not valid (any more): make a new one")
        case httpx.codes.FORBIDDEN:
            reads = response.request.method == "GET"
            raise UsageError(msg, hint=service.reading if reads else service.writing)
        case httpx.codes.NOT_FOUND:
            raise NotFoundError(msg, hint=service.missing)
        case _:
            raise ExternalServiceError(msg, hint=f"is this the address of {service.name}'s API?")


def _said(response: httpx.Response, body: bytes) -> str:
    """The status, and what the service says of it."""
    try:
        value = json.loads(body)
    except ValueError:
        value = None
    said = value.get("message") if isinstance(value, Mapping) else None
    phrase = said if isinstance(said, str) and said else response.reason_phrase
    return f"{response.status_code} {phrase}"[:_SAID]


def _seconds(response: httpx.Response, header: str) -> float | None:
    """A number of seconds in a header; None where there is none that can be meant."""
    value = response.headers.get(header, "")
    return min(float(value), _LONGEST_WAIT_S) if value.isdecimal() else None


def _next_query(response: httpx.Response) -> str | None:
    """The query of the next page.

    No more of the link is used: a token goes to the address that it was given for, and a proxy
    stays in between.
    """
    link = response.links.get("next", {}).get("url")
    return httpx.URL(link).query.decode() if link else None
