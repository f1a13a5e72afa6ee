"""The HTTP server: vLLM's paths over the simulated engine, on one event loop."""

import asyncio
import errno
import gc
import json
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass

from aiohttp import web

from gauntlet.core.errors import InfrastructureError
from gauntlet.harness.simulator import tokens as tokeniser
from gauntlet.harness.simulator.answers import Answerer, CallToken, Reply
from gauntlet.harness.simulator.config import SimulatorConfig
from gauntlet.harness.simulator.engine import Engine
from gauntlet.harness.simulator.faults import Fault, FaultPlan
from gauntlet.harness.simulator.knowledge import Knowledge
from gauntlet.harness.simulator.protocol import (
    ApiError,
    Served,
    Work,
    parse_chat,
    parse_completion,
)
from gauntlet.harness.simulator.responses import DONE, Response, StreamedResponse

_MAX_BODY_BYTES = 64 << 20
_BACKLOG = 1024
_STARTING = "The engine is starting."
_OVERLOADED = "The engine is overloaded."
_STREAM_HEADERS = {
    "Content-Type": "text/event-stream; charset=utf-8",
    "Cache-Control": "no-cache",
}

Parser = Callable[[bytes, Served], Work]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where a server listens."""

    host: str
    port: int


def bind(host: str, port: int) -> socket.socket:
    """Open the listening socket; port 0 takes any free one.

    Raises InfrastructureError where the port is taken or the address is not this machine's.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        msg = f"cannot resolve --host {host}: {error.strerror or error}"
        raise InfrastructureError(msg, hint="try --host 127.0.0.1") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(_BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        taken = isinstance(error, OSError) and error.errno == errno.EADDRINUSE
        reason = "the port is taken" if taken else str(error)
        msg = f"cannot listen on {host} port {port}: {reason}"
        hint = "choose another --port, or --port 0 for any free one"
        raise InfrastructureError(msg, hint=hint) from error
    return listener


def serve(
    config: SimulatorConfig,
    knowledge: Knowledge,
    listener: socket.socket,
    on_listening: Callable[[Listening], None],
) -> None:
    """Serve until SIGTERM or SIGINT, then drop what is open and return within a second."""
    import uvloop

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(config, knowledge, listener, on_listening))


async def _serve(
    config: SimulatorConfig,
    knowledge: Knowledge,
    listener: socket.socket,
    on_listening: Callable[[Listening], None],
) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    simulator = Simulator(config, knowledge, loop)
    runner = web.AppRunner(
        simulator.app(), access_log=None, handler_cancellation=True, shutdown_timeout=0.1
    )
    await runner.setup()
    await web.SockSite(runner, listener, backlog=_BACKLOG).start()
    # What exists now lives to the end; collections that walk it would only add jitter.
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    host, port = listener.getsockname()[:2]
    on_listening(Listening(host=host, port=port))
    await stop.wait()
    simulator.engine.close()
    await runner.cleanup()


class Simulator:
    """Handlers of all paths."""

    def __init__(
        self, config: SimulatorConfig, knowledge: Knowledge, loop: asyncio.AbstractEventLoop
    ) -> None:
        self.config = config
        self.engine = Engine(config, loop)
        self._served = Served(model=config.model, max_model_len=config.max_model_len)
        self._faults = FaultPlan(config.faults)
        self._answerer = Answerer(
            config.answers,
            knowledge,
            seed=config.seed,
            wrong_call_every=config.faults.wrong_tool_call_every,
        )
        self._started = time.time()
        self._ready_s = time.monotonic() + config.timing.startup_s + config.faults.slow_start_s

    def app(self) -> web.Application:
        """Make the application with every path that is served."""
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.router.add_get("/health", self._health)
        app.router.add_route("*", "/ping", self._health)
        app.router.add_get("/version", self._version)
        app.router.add_get("/v1/models", self._models)
        app.router.add_get("/metrics", self._metrics)
        app.router.add_get("/simulator/state", self._state)
        if self.config.dev_mode:
            app.router.add_get("/server_info", self._server_info)
            app.router.add_post("/reset_prefix_cache", self._reset_prefix_cache)
        app.router.add_post("/v1/completions", self._completions)
        app.router.add_post("/v1/chat/completions", self._chat)
        return app

    @property
    def healthy(self) -> bool:
        """Whether start-up is over."""
        return not self.config.faults.never_healthy and time.monotonic() >= self._ready_s

    async def _health(self, _request: web.Request) -> web.Response:
        return web.Response(status=200 if self.healthy else 503)

    async def _version(self, _request: web.Request) -> web.Response:
        return web.json_response({"version": self.config.name})

    async def _models(self, _request: web.Request) -> web.Response:
        model = {
            "id": self.config.model,
            "object": "model",
            "created": int(self._started),
            "owned_by": "vllm",
            "root": self.config.model,
            "parent": None,
            "max_model_len": self.config.max_model_len,
            "permission": [],
        }
        return web.json_response({"object": "list", "data": [model]})

    async def _metrics(self, _request: web.Request) -> web.Response:
        text = self.engine.metrics.render(
            self.engine.scheduler, model=self.config.model, started=self._started
        )
        return web.Response(text=text, headers={"Content-Type": "text/plain; version=0.0.4"})

    async def _state(self, _request: web.Request) -> web.Response:
        """Tell what no engine would: how true the simulation is to its configuration."""
        engine = self.engine
        state = {
            "steps": engine.steps,
            "max_step_lag_ms": engine.max_lag_s * 1000,
            "requests": self._faults.requests,
            "running": len(engine.scheduler.running),
            "waiting": len(engine.scheduler.waiting),
            "free_blocks": engine.scheduler.cache.free_blocks,
            "cpu_s": time.process_time(),
        }
        return web.json_response(state)

    async def _server_info(self, _request: web.Request) -> web.Response:
        return web.json_response({"simulator_config": self.config.model_dump(mode="json")})

    async def _reset_prefix_cache(self, _request: web.Request) -> web.Response:
        self.engine.reset_prefix_cache()
        return web.Response()

    async def _completions(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, parse_completion)

    async def _chat(self, request: web.Request) -> web.StreamResponse:
        return await self._generate(request, parse_chat)

    async def _generate(self, request: web.Request, parse: Parser) -> web.StreamResponse:
        arrival = time.monotonic()
        try:
            if not self.healthy:
                raise _unavailable(_STARTING)
            fault = self._faults.next()
            if fault is Fault.REFUSE:
                await _close_unanswered(request)
            if fault is Fault.HTTP_503:
                raise _unavailable(_OVERLOADED)
            work = parse(await request.read(), self._served)
            if fault is Fault.EMPTY and work.stream:
                return await _empty_stream(request)
            return await self._respond(request, work, fault, arrival)
        except ApiError as error:
            return web.json_response(error.body, status=error.status)

    async def _respond(
        self, request: web.Request, work: Work, fault: Fault | None, arrival: float
    ) -> web.StreamResponse:
        if request.transport is None:
            # The client left while its request was being read.
            raise asyncio.CancelledError
        kind = StreamedResponse if work.stream else Response
        response = kind(
            chat=work.chat,
            model=self.config.model,
            transport=request.transport,
            abort=self.engine.abort,
            fault=fault,
        )
        for prompt in work.prompts:
            reply = self._answerer.reply(prompt.ask)
            if fault is Fault.TRUNCATE:
                reply = reply.truncated()
            elif fault is Fault.EMPTY:
                reply = Reply(tokens=("",), finish="stop")
            response.add(reply, prompt.token_ids, _reply_ids(reply), arrival)
        try:
            if isinstance(response, StreamedResponse):
                response.include_usage = work.include_usage
                return await self._stream(request, response)
            return await self._whole(response)
        finally:
            response.abort()

    async def _stream(self, request: web.Request, response: StreamedResponse) -> web.StreamResponse:
        http = web.StreamResponse(headers=_STREAM_HEADERS)
        http.enable_chunked_encoding()
        await http.prepare(request)
        self._submit(response)
        await response.done
        await http.write_eof()
        return http

    async def _whole(self, response: Response) -> web.Response:
        self._submit(response)
        await response.done
        if response.failed:
            raise ApiError(500, "simulated engine error", kind="InternalServerError")
        return web.json_response(response.body(), dumps=_dumps)

    def _submit(self, response: Response) -> None:
        for choice in response.choices:
            self.engine.submit(choice.generation)


def _reply_ids(reply: Reply) -> list[int]:
    texts = (
        f"{token.name or ''}{token.arguments}" if isinstance(token, CallToken) else token
        for token in reply.tokens
    )
    return tokeniser.ids(texts)


async def _close_unanswered(request: web.Request) -> None:
    """Close the connection without a byte of an answer; ends by cancellation."""
    if request.transport is not None:
        request.transport.close()
    await asyncio.get_running_loop().create_future()


async def _empty_stream(request: web.Request) -> web.StreamResponse:
    http = web.StreamResponse(headers=_STREAM_HEADERS)
    await http.prepare(request)
    await http.write(DONE)
    await http.write_eof()
    return http


def _unavailable(reason: str) -> ApiError:
    return ApiError(503, reason, kind="ServiceUnavailableError")


def _dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
