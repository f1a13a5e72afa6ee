"""The store behind one small interface: embedded chDB in a folder, or a ClickHouse server.

Both are driven by the same client library with the same SQL. chDB admits one process to a folder,
so that an embedded warehouse is reached through a local server that speaks ClickHouse's protocol;
it is found or started on demand and ends when it is idle.
"""

import re
import secrets
import time
from collections.abc import Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError, unknown_name
from gauntlet.core.scoped import Scoped
from gauntlet.warehouse.batch import NO_DAY, Batch, Block, batch_number, join_sections
from gauntlet.warehouse.engine_errors import first_line, refused_rows, translated
from gauntlet.warehouse.migrations import (
    Applied,
    check_target,
    load_migrations,
    on_cluster,
    pending,
)
from gauntlet.warehouse.named_queries import load_query
from gauntlet.warehouse.retention import load_retention, ttl_statements
from gauntlet.warehouse.rows.base import Row
from gauntlet.warehouse.tables import ROW_MODELS, TABLES

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

_READS = re.compile(r"\s*(SELECT|WITH|SHOW|DESCRIBE|DESC|EXPLAIN|EXISTS)\b", re.IGNORECASE)
_LEDGER = """CREATE TABLE IF NOT EXISTS schema_migrations
(number UInt32, name String, reads_from UInt32, applied_at DateTime64(3, 'UTC'))
ENGINE = MergeTree ORDER BY number"""
# A batch is one block, so that its rows of one part appear at once or not at all.
_INSERT_SETTINGS = {
    "async_insert": 0,
    "insert_deduplicate": 1,
    "max_insert_block_size": 10_000_000,
    "input_format_parallel_parsing": 0,
    "date_time_input_format": "best_effort",
    "input_format_skip_unknown_fields": 0,
    # Merges replace rows of one identity; looking for them in each block too takes half the time.
    "optimize_on_insert": 0,
}
# A query that somebody waits for must leave room for the inserts beside it.
CLIENT_SETTINGS = {"session_timezone": "UTC", "max_memory_usage": 4_000_000_000}
_INSERT_ENDS_S = 60.0
_VERSIONS_AT_ONCE = 2_000


class Store(Scoped):
    """An open warehouse; use as a context manager."""

    def __init__(self, client: "Client", location: str, *, cluster: str | None = None) -> None:
        self._client = client
        self._cluster = cluster
        self.location = location

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    # Schema

    def applied(self) -> list[Applied]:
        """Migrations that this store has, in order."""
        if not self.sql("EXISTS TABLE schema_migrations")[0]["result"]:
            return []
        rows = self.sql(
            "SELECT DISTINCT number, name, reads_from FROM schema_migrations"
            " WHERE number > 0 ORDER BY number"
        )
        return [Applied(**row) for row in rows]

    def migrate(self, *, target: int | None = None) -> list[int]:
        """Apply what is missing; return the numbers applied. Raises UsageError on a downgrade."""
        known = load_migrations()
        applied = self.applied()
        missing = pending(known, applied)
        if target is not None:
            check_target(target, applied)
            missing = tuple(each for each in missing if each.number <= target)
        if missing:
            self.command(on_cluster(_LEDGER, self._cluster))
        for migration in missing:
            for statement in migration.statements:
                # A process killed between two statements leaves tables without a ledger row.
                repeatable = re.sub(
                    r"^CREATE (TABLE|VIEW) (?!IF)", r"CREATE \1 IF NOT EXISTS ", statement
                )
                self.command(on_cluster(repeatable, self._cluster))
            self._note_migration(migration.number, migration.name, migration.reads_from)
        if target is None:
            self._apply_retention()
        return [migration.number for migration in missing]

    def _apply_retention(self) -> None:
        """Give tables their TTL, once for each edition of the rules."""
        retention = load_retention()
        newest = self.sql(
            "SELECT argMax(name, applied_at) AS name FROM schema_migrations WHERE number = 0"
        )[0]["name"]
        if newest == retention.name:
            return
        for statement in ttl_statements(retention):
            self.command(statement)
        self._note_migration(0, retention.name, 0)

    def _note_migration(self, number: int, name: str, reads_from: int) -> None:
        self._client.insert(
            "schema_migrations",
            [[number, name, reads_from, utc_now()]],
            column_names=["number", "name", "reads_from", "applied_at"],
        )

    # Rows in

    def insert(self, *batches: Batch) -> None:
        """Insert batches at once, without the spool. Sent twice, they are stored once."""
        known = self.known_batches(batches)
        fresh = [batch for batch in batches if batch.number not in known]
        for block in join_sections(fresh):
            self.insert_block(block)
        self.note_batches(fresh)

    def insert_block(self, block: Block, *, fresh_token: bool = False) -> None:
        """Insert rows of one table.

        ``fresh_token`` is for rows whose token the store remembers although it lost the rows.
        Raises RefusedRowsError where the rows are at fault, ExternalServiceError or
        InfrastructureError where the store is.
        """
        token = f"{block.token}/{secrets.token_hex(4)}" if fresh_token else block.token
        try:
            self._client.raw_insert(
                block.table,
                column_names=block.columns,
                insert_block=block.payload,
                settings=_INSERT_SETTINGS | {"insert_deduplication_token": token},
                fmt=block.format,
            )
        except Exception as error:
            raise refused_rows(error, block.table) from error

    def known_batches(self, batches: Sequence[Batch]) -> set[int]:
        """Numbers of those batches of which the ledger says that they arrived whole."""
        if not batches:
            return set()
        rows = self.sql(
            "SELECT DISTINCT batch FROM batches"
            " WHERE table_name IN {tables: Array(String)} AND day IN {days: Array(Date)}"
            " AND batch IN {numbers: Array(UInt64)}",
            {
                "tables": sorted({table for batch in batches for table in batch.table_rows()}),
                "days": sorted({day for batch in batches for day in batch.days or (NO_DAY,)}),
                "numbers": [batch.number for batch in batches],
            },
        )
        return {row["batch"] for row in rows}

    def note_batches(self, batches: Sequence[Batch]) -> None:
        """Write into the ledger that batches arrived whole."""
        now = utc_now()
        lines = [
            [table, day, batch.number, batch.batch_id, batch.source, 0 if index else rows, now]
            for batch in batches
            for table, rows in batch.table_rows().items()
            for index, day in enumerate(batch.days or (NO_DAY,))
        ]
        if not lines:
            return
        columns = ["table_name", "day", "batch", "batch_id", "source", "rows", "shipped_at"]
        try:
            self._client.insert("batches", lines, column_names=columns)
        except Exception as error:
            raise translated(error, "insert into batches") from error

    def known_of_source(self, source: str) -> set[int]:
        """Numbers of all batches of one source of which the ledger says that they arrived whole."""
        rows = self.sql(
            "SELECT DISTINCT batch FROM batches WHERE source = {source: String}", {"source": source}
        )
        return {row["batch"] for row in rows}

    def note_statements(self, table: str, batch_days: Mapping[str, date], *, source: str) -> int:
        """Write into the ledger what statements made inside the store; return their rows.

        ``batch_days`` gives the day of each batch, by its id; each batch is one statement's.
        """
        numbers = {batch_id: batch_number(batch_id) for batch_id in batch_days}
        days = {day for day in batch_days.values() if day != NO_DAY}
        counts = self.batch_counts(table, list(numbers.values()), days)
        now = utc_now()
        lines = [
            [table, day, numbers[name], name, source, counts.get(numbers[name], 0), now]
            for name, day in batch_days.items()
        ]
        columns = ["table_name", "day", "batch", "batch_id", "source", "rows", "shipped_at"]
        self._client.insert("batches", lines, column_names=columns)
        return sum(counts.values())

    def await_insert(self, block: Block) -> None:
        """Wait until no earlier insert of these rows still runs on the server.

        Raises ExternalServiceError where one does not end.
        """
        deadline = time.monotonic() + _INSERT_ENDS_S
        while self.sql(
            "SELECT count() AS n FROM system.processes"
            " WHERE Settings['insert_deduplication_token'] = {token: String}"
            " AND query_kind = 'Insert'",
            {"token": block.token},
        )[0]["n"]:
            if time.monotonic() > deadline:
                msg = f"an insert into {block.table} that was begun earlier does not end"
                raise ExternalServiceError(msg, hint="try again later")
            time.sleep(0.2)

    def batch_counts(
        self, table: str, numbers: Collection[int], days: Collection[date]
    ) -> dict[int, int]:
        """How many rows of each batch a table holds."""
        where, parameters = _of_batches(table, numbers, days)
        rows = self.sql(
            f"SELECT batch, count() AS n FROM {table} WHERE {where} GROUP BY batch",  # noqa: S608
            parameters,
        )
        return {row["batch"]: row["n"] for row in rows}

    def forget(self, table: str, numbers: Collection[int], days: Collection[date]) -> None:
        """Remove what is there of batches that did not arrive whole."""
        where, parameters = _of_batches(table, numbers, days)
        self.command(
            f"DELETE FROM {table} WHERE {where} SETTINGS lightweight_deletes_sync = 2",  # noqa: S608
            parameters,
        )

    def versions(
        self, model: type[Row], rows: Sequence[Mapping[str, Any]]
    ) -> dict[tuple[str, ...], int]:
        """Return the highest stored version by identity, for those of ``rows`` that are stored."""
        found: dict[tuple[str, ...], int] = {}
        names = ", ".join(f"toString({name}) AS id_{name}" for name in model.identity)
        key = ", ".join(f"id_{name}" for name in model.identity)
        types = ", ".join("String" for _ in model.identity)
        for start in range(0, len(rows), _VERSIONS_AT_ONCE):
            some = rows[start : start + _VERSIONS_AT_ONCE]
            identities = [tuple(str(row[name]) for name in model.identity) for row in some]
            text = (
                f"SELECT {names}, max({model.order}) AS newest FROM {model.table}"  # noqa: S608
                f" WHERE ({key}) IN (SELECT arrayJoin({{ids: Array(Tuple({types}))}})"
                f"{_untuple(len(model.identity))})"
            )
            parameters: dict[str, Any] = {"ids": identities}
            if model.day is not None:
                days = sorted(str(row[model.day]) for row in some)
                instant = "parseDateTime64BestEffort({%s: String}, 3, 'UTC')"
                text += f" AND {model.day} BETWEEN {instant % 'first'} AND {instant % 'last'}"
                parameters |= {"first": days[0], "last": days[-1]}
            for row in self.sql(f"{text} GROUP BY {key}", parameters):
                found[tuple(row[f"id_{name}"] for name in model.identity)] = row["newest"]
        return found

    # Rows out

    def query(self, name: str, **parameters: object) -> list[dict[str, Any]]:
        """Run a named query; return its rows as plain dicts, times aware and in UTC.

        Raises UsageError for an unknown query, and for a parameter that is unknown or missing.
        """
        query = load_query(name)
        return self.sql(query.sql, query.values(parameters))

    def sql(
        self,
        text: str,
        parameters: Mapping[str, Any] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> list[dict[str, Any]]:
        """Run one SELECT; return its rows as plain dicts, times aware and in UTC."""
        try:
            result = self._client.query(
                text, parameters=dict(parameters or {}), settings=dict(settings or {})
            )
        except Exception as error:
            raise translated(error, "query") from error
        names = result.column_names
        return [dict(zip(names, map(_aware, row), strict=True)) for row in result.result_rows]

    def read_only(self, text: str) -> list[dict[str, Any]]:
        """Run a statement of somebody's own. Raises UsageError where it would change something."""
        if not _READS.match(text):
            msg = "only statements that read: SELECT, WITH, SHOW, DESCRIBE, EXPLAIN, EXISTS"
            raise UsageError(msg)
        return self.sql(text, settings={"readonly": 2})

    def count(self, table: str) -> int:
        """Rows of one table, all versions."""
        return int(self.sql(f"SELECT count() AS n FROM {_known(table)}")[0]["n"])  # noqa: S608

    def command(self, statement: str, parameters: Mapping[str, Any] | None = None) -> None:
        """Run one statement that returns nothing."""
        try:
            self._client.command(statement, parameters=dict(parameters or {}))
        except Exception as error:
            raise translated(error, "statement") from error


def _untuple(width: int) -> str:
    """A tuple of one is no tuple in ClickHouse's IN."""
    return ".1" if width == 1 else ""


def _known(table: str) -> str:
    if table not in TABLES:
        raise unknown_name("table", table, TABLES)
    return table


def _of_batches(
    table: str, numbers: Collection[int], days: Collection[date]
) -> tuple[str, dict[str, Any]]:
    """Condition that finds batches' rows; their days keep other parts of the table unread."""
    _known(table)
    where, parameters = "batch IN {batches: Array(UInt64)}", {"batches": sorted(numbers)}
    model = ROW_MODELS.get(table)
    day = "started_at" if table == "test_results" else model.day if model else None
    if day is None or not days:
        return where, parameters
    return f"toDate({day}) IN {{days: Array(Date)}} AND {where}", parameters | {
        "days": sorted(days)
    }


def _aware(value: object) -> object:
    """Every time column is UTC; the client hands it out without a zone."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    return value


def open_store(location: str, *, wait_s: float = 30.0, migrate: bool = True) -> Store:
    """Open (and bring up to date) the warehouse at a folder or an ``http(s)://`` URL.

    ``?cluster=NAME`` on a URL creates replicated tables on that cluster. For a folder, its local
    server is found or started.

    Raises InfrastructureError where the folder cannot be opened within ``wait_s``,
    ExternalServiceError where no server answers, UsageError where chDB is not installed or the
    store is too new for this program.
    """
    if location.startswith(("http://", "https://")):
        url, cluster = split_cluster(location)
        store = Store(_connect(url), location, cluster=cluster)
        return _migrated(store) if migrate else store
    from gauntlet.warehouse.server.endpoint import connect
    from gauntlet.warehouse.server.launch import find_or_start

    endpoint = find_or_start(Path(location), wait_s=wait_s)
    store = Store(connect(endpoint, CLIENT_SETTINGS), location)
    return _migrated(store) if migrate else store


def open_embedded(folder: Path) -> Store:
    """Open a folder in this process; the caller holds its lock.

    Raises UsageError where chDB is not installed, InfrastructureError where it cannot be opened.
    """
    import clickhouse_connect

    try:
        client = clickhouse_connect.get_client(
            interface="chdb", path=str(folder), settings=dict(CLIENT_SETTINGS)
        )
    except ImportError as error:
        msg = "the embedded warehouse needs chDB"
        raise UsageError(msg, hint="pip install 'gauntlet[embedded]'") from error
    except Exception as error:
        msg = f"cannot open the warehouse {folder}: {first_line(error)}"
        hint = "is another program using this folder, or is it no warehouse?"
        raise InfrastructureError(msg, hint=hint) from error
    return _migrated(Store(client, str(folder)))


def split_cluster(location: str) -> tuple[str, str | None]:
    """Take ``cluster=NAME`` out of a URL's query."""
    parts = urlsplit(location)
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    cluster = next((value for key, value in pairs if key == "cluster"), None)
    rest = urlencode([(key, value) for key, value in pairs if key != "cluster"])
    return urlunsplit(parts._replace(query=rest)), cluster


def _connect(url: str) -> "Client":
    import clickhouse_connect

    try:
        client = clickhouse_connect.get_client(dsn=url, settings=dict(CLIENT_SETTINGS))
    except Exception as error:
        shown = urlsplit(url)
        where = f"{shown.scheme}://{shown.hostname}:{shown.port or ''}".rstrip(":")
        raise ExternalServiceError(
            f"no ClickHouse server at {where}: {first_line(error)}"
        ) from error
    return client


def _migrated(store: Store) -> Store:
    try:
        store.migrate()
    except BaseException:
        store.close()
        raise
    return store
