"""What to run: the statement of a request, wherever that put it, and the data after it."""

from collections.abc import Iterator
from dataclasses import dataclass

from gauntlet.warehouse.server import body
from gauntlet.warehouse.server.form import merge_form
from gauntlet.warehouse.server.protocol import NOT_IMPLEMENTED, SYNTAX_ERROR, Request, refusal
from gauntlet.warehouse.server.statement import Kind, Statement, parse_statement

# An INSERT says within this much what it is; any other statement must not be longer.
_LONGEST_STATEMENT_BYTES = 4 << 20

# Formats without a head or a foot: the blocks of a result in them may follow one another.
_STREAMED = frozenset({"Native", "TabSeparated", "TSV", "CSV", "RowBinary"})
_WITH_TOTALS = frozenset({"TabSeparated", "TSV", "CSV"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A statement to run, the request that it came with, and the data of an INSERT.

    The data begins with ``inline``, what the statement's text holds of it, and goes on in ``rest``.
    """

    request: Request
    statement: Statement
    inline: bytes = b""
    rest: body.Spool | None = None

    @property
    def format(self) -> str:
        """Format of the result, or of the data."""
        return self.statement.format or self.request.default_format

    @property
    def streams(self) -> bool:
        """Whether the blocks of the result may be sent as they come."""
        totals = self.statement.has_totals or "extremes" in self.request.settings
        return self.format in _STREAMED and not (totals and self.format in _WITH_TOTALS)

    def data(self) -> Iterator[bytes]:
        """The data of an INSERT, a bounded piece at a time."""
        if self.inline:
            yield self.inline
        if self.rest is not None:
            yield from body.pieces(self.rest)


def read_job(request: Request, spool: body.Spool) -> Job:
    """Read the statement from the URL, the form or the body; the rest of the body is its data.

    Raises RefusedError where there is no statement that this server can run.
    """
    head = spool.read(_LONGEST_STATEMENT_BYTES + 1)
    rest: body.Spool | None = spool
    if request.boundary is not None:
        _check_length(head)
        request = merge_form(request, head)
        head, rest = b"", None
    in_url = request.query
    if in_url and head and not in_url.endswith(b"\n"):
        in_url += b"\n"
    text = in_url + head
    statement = parse_statement(text)
    if statement.kind is not Kind.INSERT:
        _check_length(text)
    if statement.for_session and request.in_session:
        reason = "nothing lasts from one request to the next: send settings with each of them"
        raise refusal(NOT_IMPLEMENTED, reason)
    if statement.data_at is None:
        return Job(request=request, statement=statement)
    if rest is not None:
        rest.seek(max(0, statement.data_at - len(in_url)))
    inline = in_url[statement.data_at :]
    return Job(request=request, statement=statement, inline=inline, rest=rest)


def _check_length(text: bytes) -> None:
    if len(text) > _LONGEST_STATEMENT_BYTES:
        limit = _LONGEST_STATEMENT_BYTES >> 20
        raise refusal(SYNTAX_ERROR, f"the statement is longer than {limit} MiB")
