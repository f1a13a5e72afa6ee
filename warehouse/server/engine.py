"""The embedded engine: every statement on a connection of its own, its result piece by piece.

chDB releases the interpreter lock while it works, so statements run side by side in threads. What
it does with a connection must not overlap, though: it ends the process where it does.
"""

import contextlib
import logging
import secrets
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.scoped import Scoped
from gauntlet.warehouse.server import body
from gauntlet.warehouse.server.job import Job
from gauntlet.warehouse.server.protocol import engine_refusal, preamble, quote
from gauntlet.warehouse.server.statement import Kind

if TYPE_CHECKING:
    from chdb.state.sqlitelike import Connection

_LOGGER = logging.getLogger(__name__)


class Engine(Scoped):
    """The embedded engine of one folder, open as long as this is."""

    def __init__(self, folder: Path, scratch: Path) -> None:
        """Open the folder; ``scratch`` is where results wait that are not sent as they come.

        Raises UsageError where chDB is not installed, InfrastructureError where it cannot open.
        """
        try:
            import chdb
        except ImportError as error:
            msg = "the embedded warehouse needs chDB"
            raise UsageError(msg, hint="pip install 'gauntlet[embedded]'") from error
        self._chdb = chdb
        self._path = str(folder)
        self.scratch = scratch
        try:
            # The engine lives as long as any connection does: this one is kept for that.
            self._root = self.connect()
        except Exception as error:
            msg = f"cannot open the warehouse {folder}: {str(error).splitlines()[0]}"
            raise InfrastructureError(msg, hint="is it a folder of this program?") from error
        self.timezone = self._root.query("SELECT timezone()", "TSV").bytes().decode().strip()

    def connect(self) -> "Connection":
        """Open another connection: some tenths of a millisecond."""
        return self._chdb.connect(self._path)

    def close(self) -> None:
        """Close the engine, once every other connection is closed."""
        self._root.close()

    def purge(self) -> None:
        """Give memory back that the engine keeps for later: after a large INSERT, a gigabyte."""
        try:
            with contextlib.closing(self.connect()) as connection:
                connection.query("SYSTEM JEMALLOC PURGE")
        except RuntimeError as error:
            _LOGGER.debug("the engine keeps its memory: %s", error)

    def kill(self, mark: str) -> None:
        """End the statement that runs under a mark; do nothing where none does.

        A connection must not be told itself: chDB would let that wait for the statement's end.
        """
        condition = f"endsWith(Settings['log_comment'], {quote(mark)})"
        try:
            with contextlib.closing(self.connect()) as connection:
                connection.query(f"KILL QUERY WHERE {condition} ASYNC")
        except RuntimeError as error:
            _LOGGER.warning("cannot end a statement: %s", error)


class Run:
    """One statement on its way. Its methods may be called from any thread, one at a time."""

    def __init__(self, engine: Engine, job: Job) -> None:
        self.mark = f"gauntlet-{secrets.token_hex(8)}"
        self.counts: dict[str, int] = {}
        self._engine = engine
        self._job = job
        self._pieces = self._run()
        self._result: body.Spool | None = None

    def read(self) -> bytes | None:
        """The next piece of the result, None after the last. Raises RefusedError."""
        return next(self._pieces, None)

    def read_all(self) -> body.Spool:
        """The whole result, in memory or on disk, until this is closed. Raises RefusedError."""
        self._result = spool = body.new_spool(self._engine.scratch)
        for piece in self._pieces:
            body.store(spool, piece)
        spool.seek(0)
        return spool

    def close(self) -> None:
        """Give up what is left of it."""
        self._pieces.close()
        if self._result is not None:
            self._result.close()

    def _run(self) -> Generator[bytes, None, None]:
        job = self._job
        try:
            with contextlib.closing(self._engine.connect()) as connection:
                for statement in preamble(job.request, comment=self.mark):
                    connection.query(statement)
                if job.statement.kind is Kind.INSERT:
                    self._insert(connection)
                elif job.statement.kind is not Kind.SELECT:
                    yield from self._whole(connection)
                elif job.streams:
                    yield from self._streamed(connection)
                else:
                    yield from self._through_file(connection)
        # What chDB raises: ChdbError where it reads, a plain RuntimeError where it inserts.
        except RuntimeError as error:
            raise engine_refusal(str(error)) from error

    def _streamed(self, connection: "Connection") -> Iterator[bytes]:
        with connection.send_query(self._job.statement.sql, self._job.format) as blocks:
            for block in blocks:
                self._count(
                    read_rows=block.storage_rows_read(),
                    read_bytes=block.storage_bytes_read(),
                    result_rows=block.rows_read(),
                    result_bytes=block.bytes_read(),
                )
                yield block.bytes()

    def _whole(self, connection: "Connection") -> Iterator[bytes]:
        result = connection.query(self._job.statement.sql, self._job.format)
        if self._job.statement.kind is Kind.COMMAND:
            self._count(written_rows=result.rows_written(), written_bytes=result.bytes_written())
        else:
            self._count(result_rows=result.rows_read(), result_bytes=result.bytes_read())
        data = result.bytes()
        if data:
            yield data

    def _through_file(self, connection: "Connection") -> Iterator[bytes]:
        """A result with a head or a foot: the engine writes it, piece by piece, into a file."""
        path = self._engine.scratch / f"{self.mark}.result"
        try:
            connection.query(into_file(self._job, path))
            with path.open("rb") as stream:
                while piece := stream.read(body.PIECE_BYTES):
                    yield piece
        finally:
            path.unlink(missing_ok=True)

    def _insert(self, connection: "Connection") -> None:
        with connection.send_insert(self._job.statement.sql, self._job.format) as inserter:
            for piece in self._job.data():
                inserter.append(piece)
            result = inserter.finish()
        self._count(written_rows=result.rows_written, written_bytes=result.bytes_written)

    def _count(self, **counts: int) -> None:
        for name, value in counts.items():
            self.counts[name] = self.counts.get(name, 0) + value


def into_file(job: Job, path: Path) -> bytes:
    """The query with its result sent into a file instead."""
    sql, at = job.statement.sql, job.statement.format_at
    target = f"\nINTO OUTFILE {quote(str(path))} ".encode()
    if at is None:
        return sql + target + b"FORMAT " + job.format.encode()
    return sql[:at] + target + sql[at:]
