"""Serve an aiohttp application on loopback, in a thread of its own."""

import asyncio
import threading
from contextlib import contextmanager

from aiohttp import web


@contextmanager
def served(service, path="/"):
    """Serve ``service.application()`` until the end; sets its ``url``."""
    loop = asyncio.new_event_loop()

    async def start():
        runner = web.AppRunner(service.application(), access_log=None, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        service.url = f"http://127.0.0.1:{runner.addresses[0][1]}{path}"
        return runner

    runner = loop.run_until_complete(start())
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    try:
        yield service
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.run_until_complete(runner.cleanup())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
