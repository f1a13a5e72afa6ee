"""A local server as its clients see it: where it is, whether it answers, how to talk to it."""

import functools
import http.client
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING

from gauntlet.core.errors import InfrastructureError
from gauntlet.warehouse.server.protocol import IDENT_HEADER

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client
    from urllib3 import PoolManager

HOST = "127.0.0.1"
_PING_S = 5.0
_CONNECTIONS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a local server listens, and the key to it, which no log should show."""

    port: int
    token: str = field(repr=False)

    @property
    def url(self) -> str:
        """Base URL, without the key."""
        return f"http://{HOST}:{self.port}"


def ping(endpoint: Endpoint) -> str | None:
    """Ask who is there; return the server's own identity, None where nobody takes the key.

    The server stays for as long again as after a query.
    """
    # Not httpx: it would read the certificates of the world first, which takes 30 ms.
    connection = http.client.HTTPConnection(HOST, endpoint.port, timeout=_PING_S)
    try:
        connection.request("GET", "/ping", headers={"X-ClickHouse-Key": endpoint.token})
        answer = connection.getresponse()
        return answer.headers[IDENT_HEADER] if answer.status == HTTPStatus.OK else None
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def connect(endpoint: Endpoint, settings: Mapping[str, object] | None = None) -> "Client":
    """Open a client that threads may share. Raises InfrastructureError where it gets no answer.

    Bodies go plain: over the loopback that is faster than any compression.
    """
    import clickhouse_connect

    try:
        return clickhouse_connect.get_client(
            host=HOST,
            port=endpoint.port,
            username="default",
            password=endpoint.token,
            settings=dict(settings or {}),
            compress=False,
            query_limit=0,
            # A session would take one query at a time.
            autogenerate_session_id=False,
            pool_mgr=_pool(os.getpid()),
        )
    except Exception as error:
        msg = f"the warehouse's server at {endpoint.url} does not answer: {error}"
        raise InfrastructureError(msg, hint="run the command again") from error


@functools.cache
def _pool(pid: int) -> "PoolManager":
    """Connections of this process (a fork must not share them), past any proxy."""
    from clickhouse_connect.driver.httputil import get_pool_manager

    del pid
    pool: PoolManager = get_pool_manager(maxsize=_CONNECTIONS)
    return pool
