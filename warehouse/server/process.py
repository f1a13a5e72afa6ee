"""The server's process: takes the folder, listens, says where, and ends when nobody needs it."""

import asyncio
import contextlib
import errno
import logging
import os
import resource
import secrets
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import uvicorn
import uvloop

from gauntlet.core.errors import ExitCode, InfrastructureError
from gauntlet.warehouse.folder_lock import lock_folder
from gauntlet.warehouse.server.app import App
from gauntlet.warehouse.server.endpoint import HOST, Endpoint
from gauntlet.warehouse.server.engine import Engine
from gauntlet.warehouse.server.state import (
    own_state,
    remove_state,
    scratch_folder,
    write_state,
)

_LOGGER = logging.getLogger(__name__)
_BACKLOG = 256
_MOST_REQUESTS = 256
_OPEN_FILES = 65_536
_KEEP_ALIVE_S = 60
_QUIET_S = 1.0
_GRACE_S = 3
"""How long what runs may go on once the server is told to end."""
_STUCK_S = 5.0
"""How long after that the engine may take to let go."""


def serve(
    folder: Path,
    *,
    port: int,
    idle_s: float,
    wait_s: float,
    announce: Callable[[Endpoint], None],
) -> None:
    """Serve a folder until nobody asked anything for ``idle_s``, or SIGTERM or SIGINT.

    Waits ``wait_s`` seconds at most for another process that has the folder. ``announce`` is
    called once requests are taken.

    Raises InfrastructureError where the folder, the port or the engine cannot be had, UsageError
    where chDB is not installed.
    """
    # Times without a zone mean UTC in every warehouse, wherever this machine stands.
    os.environ["TZ"] = "UTC"
    time.tzset()
    _allow_open_files()
    with (
        lock_folder(folder, wait_s),
        listening(port) as listener,
        _scratch(folder) as scratch,
        Engine(folder, scratch) as engine,
        asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner,
    ):
        token = secrets.token_urlsafe(32)
        endpoint = Endpoint(port=listener.getsockname()[1], token=token)
        app = App(engine, token, ident=str(os.getpid()))
        state = own_state(folder, endpoint)

        def ready() -> None:
            write_state(folder, state)
            announce(endpoint)

        def ending() -> None:
            # Before anything is closed: who looks for a server from now on starts another.
            remove_state(folder, state)
            _end_at_last()

        try:
            runner.run(_serve(app, engine, listener, idle_s=idle_s, ready=ready, ending=ending))
        finally:
            remove_state(folder, state)
            app.close()


def _allow_open_files() -> None:
    """Take as many as we may: the engine opens some for every thread and every part of a table."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < _OPEN_FILES:
        wanted = _OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, _OPEN_FILES)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


@contextlib.contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """Listen on a port of this machine alone; 0 takes any free one.

    Raises InfrastructureError where the port is taken.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen(_BACKLOG)
        except OSError as error:
            taken = error.errno == errno.EADDRINUSE
            msg = f"cannot listen on port {port}: {'it is taken' if taken else error.strerror}"
            hint = "choose another --port, or --port 0 for any free one"
            raise InfrastructureError(msg, hint=hint) from error
        yield listener


@contextlib.contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """An empty folder for what is on its way; a server that was killed may have left things."""
    scratch = scratch_folder(folder)
    shutil.rmtree(scratch, ignore_errors=True)
    try:
        scratch.mkdir(mode=0o700)
    except OSError as error:
        raise InfrastructureError(f"cannot make {scratch}: {error.strerror}") from error
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class _Server(uvicorn.Server):
    """uvicorn without its signals: after them it would end us by the same signal again."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


async def _serve(
    app: App,
    engine: Engine,
    listener: socket.socket,
    *,
    idle_s: float,
    ready: Callable[[], None],
    ending: Callable[[], None],
) -> None:
    # Every fault of ours is logged by the application; the rest is about broken clients.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        app,
        http="httptools",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        backlog=_BACKLOG,
        limit_concurrency=_MOST_REQUESTS,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=_GRACE_S,
    )
    server = _Server(config)

    def end() -> None:
        if not app.draining:
            app.draining = True
            ending()
            server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, end)
    ready()
    rest = asyncio.create_task(_rest(app, engine, idle_s))
    # However that ends, nobody would end the server later.
    rest.add_done_callback(lambda _: end())
    try:
        await server.serve(sockets=[listener])
    finally:
        rest.cancel()


async def _rest(app: App, engine: Engine, idle_s: float) -> None:
    """Give memory back when nobody asks anything; return when nobody did for ``idle_s``."""
    purged = False
    while (idle := app.idle_s) < idle_s:
        if idle < _QUIET_S:
            purged = False
        elif not purged:
            await asyncio.to_thread(engine.purge)
            purged = True
        await asyncio.sleep(min(_QUIET_S, idle_s - idle))


def _end_at_last() -> None:
    """Leave by force where the engine does not let go; a killed store is whole as well."""

    def leave() -> None:
        _LOGGER.warning("the engine did not end in time: leaving without it")
        os._exit(ExitCode.OK)

    timer = threading.Timer(_GRACE_S + _STUCK_S, leave)
    timer.daemon = True
    timer.start()
