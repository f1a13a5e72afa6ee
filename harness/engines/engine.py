"""An engine under test: started, waited for, watched, stopped, wherever it runs."""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import httpx

from gauntlet.core.scoped import Scoped
from gauntlet.harness.engines.errors import EngineDeath, EngineError
from gauntlet.harness.engines.failures import Failure, classify
from gauntlet.harness.engines.identity import NO_ROUTE, EngineIdentity, ask_identity
from gauntlet.harness.engines.launch import Endpoint, External, LaunchSpec
from gauntlet.harness.engines.ports import is_loopback
from gauntlet.harness.engines.readiness import (
    Attempt,
    RefusedError,
    completion_problem,
    health_problem,
)
from gauntlet.harness.engines.running import OnDeath
from gauntlet.harness.engines.runtime import JUDGED_LINES, Address, Ended, Runtime
from gauntlet.harness.engines.runtimes.choose import runtime_for

_LOGGER = logging.getLogger(__name__)
_POLL_S = 0.05
_WATCH_S = 0.2
_REQUEST_TIMEOUT_S = 5.0
_WATCHER_ENDS_S = 30.0


class Engine(Scoped):
    """One engine: launched, waited for, watched, and stopped when it is closed.

    A thread looks five times a second whether it still runs; ``on_death`` hears of its end.
    """

    def __init__(
        self, spec: LaunchSpec, *, side: str, log: Path, runtime: Runtime | None = None
    ) -> None:
        """Describe an engine. ``runtime`` is the adapter for ``spec.where`` if not given.

        Raises UsageError for a bad URL.
        """
        self.spec = spec
        self.side = side
        self._log = log
        self._runtime = runtime_for(spec, log) if runtime is None else runtime
        self.launched = False
        self._address: Address | None = None
        self._identity: EngineIdentity | None = None
        self._look_lock = threading.Lock()
        self._listen_lock = threading.Lock()
        self._listeners: list[OnDeath] = []
        self._death: EngineDeath | None = None
        self._stop_watching = threading.Event()
        self._watcher: threading.Thread | None = None

    @property
    def endpoint(self) -> Endpoint:
        """Where the engine answers. Raises EngineError before it is ready."""
        identity, address = self.identity, self._address
        if address is None:
            raise EngineError(f"{self._who} is not ready")
        return Endpoint(
            host=address.host,
            port=address.port,
            scheme=address.scheme,
            model=identity.model,
            version=identity.version,
        )

    @property
    def identity(self) -> EngineIdentity:
        """What the engine says of itself. Raises EngineError before it is ready."""
        if self._identity is None:
            raise EngineError(f"{self._who} is not ready")
        return self._identity

    @property
    def root_pids(self) -> tuple[int, ...]:
        """The engine's first process on this machine, where it has one."""
        pid = self._runtime.root_pid
        return () if pid is None else (pid,)

    @property
    def servers(self) -> Mapping[str, str]:
        """Root URL of the only server. Raises EngineError before it is ready."""
        return {"": self.endpoint.base_url}

    def launch(self) -> None:
        """Start it without waiting for it, so that several may start at once.

        Raises EngineError where its port is taken or its platform refuses it.
        """
        self._runtime.start()
        self.launched = True
        self._watcher = threading.Thread(target=self._watch, name=f"watch-{self.side}", daemon=True)
        self._watcher.start()

    def start(self) -> None:
        """Start it if need be, and wait until it is healthy and has answered one real request.

        Raises EngineDeath where it ends meanwhile, EngineError where it stays unready or serves
        another model than the one asked for; both with the end of its log.
        """
        deadline = time.monotonic() + self.spec.ready_timeout_s
        try:
            if not self.launched:
                self.launch()
            self._address = self._wait_address(deadline)
            with self._client(_REQUEST_TIMEOUT_S) as client:
                path = self.spec.health_path
                self._until(deadline, lambda: health_problem(client, path), _REQUEST_TIMEOUT_S)
                with self._look_lock:
                    self._runtime.answered()
                identity = self._ask_identity(client)
            limit_s = self.spec.request_timeout_s
            with self._client(limit_s) as client:
                self._until(deadline, lambda: completion_problem(client, identity.model), limit_s)
            self._identity = identity
        except BaseException:
            self.close()
            raise

    def ensure_alive(self, doing: str, *, settle_s: float = 0.0) -> None:
        """Raise EngineDeath where it ended; ``doing`` says what was going on.

        ``settle_s`` is how long to wait for an end that is only just happening.
        """
        deadline = time.monotonic() + settle_s
        while self.launched:
            if (ended := self._look()) is not None:
                raise self._died(ended, doing)
            if time.monotonic() >= deadline:
                return
            time.sleep(_POLL_S)

    @contextlib.contextmanager
    def on_death(self, callback: OnDeath) -> Iterator[None]:
        """Have ``callback`` called once, from the watcher's thread, as soon as the end is seen.

        Inside the block only; at once where the engine has ended already.
        """
        with self._listen_lock:
            self._listeners.append(callback)
            death = self._death
        try:
            if death is not None:
                callback(death)
            yield
        finally:
            with self._listen_lock:
                self._listeners.remove(callback)

    def reset_prefix_cache(self) -> bool:
        """Ask the server to forget its prefix cache; whether it confirmed that it did.

        vLLM has the route where it runs with VLLM_SERVER_DEV_MODE=1. Raises EngineError where the
        server does not answer.
        """
        try:
            with self._client(self.spec.request_timeout_s) as client:
                response = client.post("/reset_prefix_cache")
        except httpx.TransportError as error:
            self.ensure_alive("while its prefix cache was reset", settle_s=1.0)
            msg = f"{self._who} does not answer POST /reset_prefix_cache: {error!r}"
            raise EngineError(msg, hint=self._log_hint()) from error
        if not response.is_success and response.status_code not in NO_ROUTE:
            _LOGGER.warning("%s: POST /reset_prefix_cache: %d", self._who, response.status_code)
        return response.is_success

    def close(self) -> None:
        """Stop the engine and everything it started. Safe to call again."""
        self._stop_watching.set()
        watcher = self._watcher
        if watcher is not None and watcher is not threading.current_thread():
            watcher.join(_WATCHER_ENDS_S)
        with self._look_lock:
            self._runtime.stop()

    @property
    def _who(self) -> str:
        return f"the {self.side} engine ({self.spec.label})"

    def _look(self) -> Ended | None:
        with self._look_lock:
            return self._runtime.ended()

    def _watch(self) -> None:
        told = False
        while not self._stop_watching.wait(_WATCH_S):
            ended = self._look()
            if not told and (problem := self._runtime.log_problem) is not None:
                told = True
                _LOGGER.warning("%s: its log %s is incomplete: %s", self._who, self._log, problem)
            if ended is not None:
                self._tell(self._died(ended, "while it was watched"))
                return

    def _tell(self, death: EngineDeath) -> None:
        with self._listen_lock:
            self._death = death
            listeners = list(self._listeners)
        for listener in listeners:
            listener(death)

    def _client(self, timeout_s: float) -> httpx.Client:
        if self._address is None:
            raise EngineError(f"{self._who} is not ready")
        # A proxy for the outside world must not see what is ours.
        outside = isinstance(self.spec.where, External) and not is_loopback(self._address.host)
        return httpx.Client(base_url=self._address.url, timeout=timeout_s, trust_env=outside)

    def _wait_address(self, deadline: float) -> Address:
        while time.monotonic() < deadline:
            self.ensure_alive("while it started")
            with self._look_lock:
                address = self._runtime.address()
            if address is not None:
                return address
            time.sleep(_POLL_S)
        raise self._unready(self._runtime.progress() or "its address is not known")

    def _until(self, deadline: float, ask: Callable[[], str | None], limit_s: float) -> None:
        """Ask again and again until nothing is wrong; each time for at most ``limit_s``."""
        reason: str | None = "it never answered"
        while time.monotonic() < deadline:
            attempt = Attempt(ask)
            give_up = min(deadline, time.monotonic() + limit_s)
            while not (done := attempt.done(_POLL_S)) and time.monotonic() < give_up:
                self.ensure_alive("while it started")
            # A connection breaks a moment before the process that held it has ended.
            self.ensure_alive("while it started")
            if not done:
                reason = f"no answer to a request in {limit_s:g} s"
                continue
            try:
                reason = attempt.problem()
            except RefusedError as error:
                msg = f"{self._who} is healthy, but refuses a request: {error}"
                raise EngineError(self._with_log(msg), hint=self._log_hint()) from error
            if reason is None:
                return
            time.sleep(_POLL_S)
        raise self._unready(reason or "")

    def _ask_identity(self, client: httpx.Client) -> EngineIdentity:
        try:
            return ask_identity(
                client,
                self.spec.model,
                image_digest=self._runtime.image_digest or self.spec.image_digest,
            )
        except LookupError as error:
            msg = f"{self._who} serves the wrong model: {error.args[0]}"
            hint = f"ask for one that it serves, or start it with another; {self._log_hint()}"
            raise EngineError(msg, hint=hint) from error
        except (httpx.HTTPError, ValueError) as error:
            self.ensure_alive("while it started", settle_s=1.0)
            msg = f"{self._who} is healthy, but does not say its model: {error}"
            raise EngineError(msg, hint=self._log_hint()) from error

    def _died(self, ended: Ended, doing: str) -> EngineDeath:
        failure = classify(self._runtime.log_tail(JUDGED_LINES), ended)
        failure = failure or Failure(failure="unknown", rule="none", why="its log does not say why")
        msg = f"{self._who} ended {ended} {doing}: {failure}"
        return EngineDeath(
            msg,
            hint=self._log_hint(),
            ended=ended,
            failure=failure,
            log_tail=self._runtime.log_tail(),
        )

    def _unready(self, reason: str) -> EngineError:
        limit = self.spec.ready_timeout_s
        msg = f"{self._who} was not healthy in {limit:g} s: {reason}"
        return EngineError(self._with_log(msg), hint=self._log_hint())

    def _with_log(self, message: str) -> str:
        tail = self._runtime.log_tail()
        return f"{message}\n--- end of its log\n{tail}" if tail else message

    def _log_hint(self) -> str:
        problem = self._runtime.log_problem
        place = f"its whole log is {self._log}"
        if problem is not None:
            place = f"its log {self._log} is incomplete ({problem})"
        return f"{place}; its settings: {self.spec.configuration}"
