"""The store behind one small interface: embedded chDB in a folder, or a ClickHouse server.

Both are driven by the same client library with the same SQL. chDB allows one process per folder,
so a store is opened for a piece of work and closed again; an open waits for its turn.
"""

import fcntl
import re
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError
from gauntlet.core.scoped import Scoped
from gauntlet.warehouse.migrations import load_migrations, pending
from gauntlet.warehouse.queries import load_query
from gauntlet.warehouse.records import TABLES, Batch, Row

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

# Syntax, unknown identifier, function, table or setting: the statement is wrong, not the store.
_STATEMENT_ERRORS = re.compile(r"Code: (36|42|46|47|60|62|115|456)\b")
_DISK_FULL = re.compile(r"NOT_ENOUGH_SPACE|No space left", re.IGNORECASE)
_LEDGER = """CREATE TABLE IF NOT EXISTS schema_migrations
(number UInt32, name String, applied_at DateTime64(3, 'UTC'))
ENGINE = MergeTree ORDER BY number"""


class Store(Scoped):
    """An open warehouse; use as a context manager."""

    def __init__(self, client: "Client", location: str, lock: IO[bytes] | None = None) -> None:
        self._client = client
        self._lock = lock
        self.location = location

    def close(self) -> None:
        """Release the store, so that another process may open it."""
        self._client.close()
        if self._lock is not None:
            self._lock.close()

    def applied(self) -> list[int]:
        """Numbers of the migrations that this store has."""
        self._command(_LEDGER)
        return [row["number"] for row in self.sql("SELECT number FROM schema_migrations")]

    def migrate(self) -> list[int]:
        """Apply what is missing; return the numbers applied. Raises UsageError on a downgrade."""
        done = []
        for migration in pending(load_migrations(), self.applied()):
            for statement in migration.statements:
                # A process killed between two statements leaves tables without a ledger row.
                self._command(statement.replace("CREATE TABLE ", "CREATE TABLE IF NOT EXISTS ", 1))
            self._client.insert(
                "schema_migrations",
                [[migration.number, migration.name, utc_now()]],
                column_names=["number", "name", "applied_at"],
            )
            done.append(migration.number)
        return done

    def insert(self, batch: Batch) -> None:
        """Insert a batch. Sent twice, it is stored once: the batch id is the token."""
        for table, rows in batch.by_table().items():
            self._insert(table, rows, token=f"{batch.batch_id}/{table}")

    def _insert(self, table: str, rows: Sequence[Row], *, token: str) -> None:
        columns = list(TABLES[table].model_fields)
        values = [[getattr(row, column) for column in columns] for row in rows]
        try:
            self._client.insert(
                table,
                values,
                column_names=columns,
                settings={"insert_deduplication_token": token},
            )
        except Exception as error:
            raise _translated(error, f"insert into {table}") from error

    def query(self, name: str, **parameters: object) -> list[dict[str, Any]]:
        """Run a named query; return its rows as plain dicts, times aware and in UTC.

        Raises UsageError for an unknown query or a missing parameter.
        """
        query = load_query(name)
        missing = sorted(set(query.parameters) - set(parameters))
        if missing:
            raise UsageError(f"query {name} needs the parameters {', '.join(missing)}")
        return self.sql(query.sql, parameters)

    def sql(self, text: str, parameters: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
        """Run one SELECT; return its rows as plain dicts, times aware and in UTC."""
        try:
            result = self._client.query(text, parameters=dict(parameters or {}))
        except Exception as error:
            raise _translated(error, "query") from error
        names = result.column_names
        return [dict(zip(names, map(_aware, row), strict=True)) for row in result.result_rows]

    def _command(self, statement: str) -> None:
        try:
            self._client.command(statement)
        except Exception as error:
            raise _translated(error, "schema") from error


def _aware(value: object) -> object:
    """Every time column is UTC; the client hands it out without a zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


def _translated(error: Exception, doing: str) -> Exception:
    text = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if _DISK_FULL.search(str(error)):
        return InfrastructureError(f"warehouse, {doing}: {text}", hint="free some disk space")
    if _STATEMENT_ERRORS.search(text):
        return UsageError(f"warehouse, {doing}: {text}")
    return ExternalServiceError(f"warehouse, {doing}: {text}")


def open_store(location: str, *, wait_s: float = 15.0) -> Store:
    """Open (and bring up to date) the warehouse at a folder or an ``http(s)://`` URL.

    An embedded store that another process holds is waited for, ``wait_s`` seconds at most.

    Raises InfrastructureError where it stays locked or cannot be opened, UsageError where chDB
    is not installed or the store is newer than this program.
    """
    import clickhouse_connect

    if location.startswith(("http://", "https://")):
        try:
            store = Store(clickhouse_connect.get_client(dsn=location), location)
        except Exception as error:
            raise ExternalServiceError(f"no ClickHouse server at {location}: {error}") from error
    else:
        client, lock = _embedded(Path(location).resolve(), wait_s)
        store = Store(client, location, lock)
    try:
        store.migrate()
    except BaseException:
        store.close()
        raise
    return store


def _embedded(folder: Path, wait_s: float) -> tuple["Client", IO[bytes]]:
    """Open the folder once it is ours; the returned lock must stay open as long as the client."""
    import clickhouse_connect

    lock = _lock(folder, wait_s)
    try:
        return clickhouse_connect.get_client(interface="chdb", path=str(folder)), lock
    except ImportError as error:
        lock.close()
        msg = "the embedded warehouse needs chDB"
        raise UsageError(msg, hint="pip install 'gauntlet[embedded]'") from error
    except Exception as error:
        lock.close()
        msg = f"cannot open the warehouse {folder}: {str(error).splitlines()[0]}"
        hint = "is another program using this folder, or is it no warehouse?"
        raise InfrastructureError(msg, hint=hint) from error


def _lock(folder: Path, wait_s: float) -> IO[bytes]:
    """Take the folder's lock, which ends with its process, however that ends.

    A lock of our own, because chDB reports a held one only on the process's standard error.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = folder.with_name(f"{folder.name}.lock").open("ab")
    except OSError as error:
        msg = f"cannot open the warehouse {folder}: {error.strerror}"
        raise InfrastructureError(msg) from error
    deadline = time.monotonic() + wait_s
    while True:
        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            if time.monotonic() > deadline:
                stream.close()
                msg = f"the warehouse {folder} is in use by another process"
                hint = "wait for the other command, or choose another folder"
                raise InfrastructureError(msg, hint=hint) from error
            time.sleep(0.1)
        else:
            return stream
