"""What ClickHouse says went wrong, as our errors: the statement, the rows, or the store."""

import re

from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError

# What ClickHouse says when the store is at fault, not the statement: time-outs, limits, network,
# memory, space, too many parts, a lost keeper.
_STORE_ERRORS = re.compile(
    r"Code: (159|160|198|201|202|209|210|225|236|241|242|243|252|279|319|394|439|999)\b"
)
# What it says when the rows of an insert are wrong: text, numbers, times, enums, NULLs, types.
_ROW_ERRORS = re.compile(r"Code: (6|26|27|33|38|41|53|69|70|72|117|130|190|349|376|467|469|691)\b")
_AROUND = re.compile(r"^Received ClickHouse exception.*?(?=Code: )|\s*\(for url [^)]*\)$")
_DISK_FULL = re.compile(r"NOT_ENOUGH_SPACE|No space left", re.IGNORECASE)


class RefusedRowsError(UsageError):
    """The store is well, but does not take these rows."""


def first_line(error: Exception) -> str:
    """What the engine said, without what the client puts around it."""
    text = str(error).strip()
    line = text.splitlines()[0] if text else type(error).__name__
    return _AROUND.sub("", line)


def translated(error: Exception, doing: str) -> Exception:
    """Make our error of the engine's: a wrong query is the caller's, the rest the store's."""
    text = first_line(error)
    if _DISK_FULL.search(str(error)):
        return InfrastructureError(f"warehouse, {doing}: {text}", hint="free some disk space")
    if doing == "query" and "Code: " in text and not _STORE_ERRORS.search(text):
        return UsageError(f"warehouse, {doing}: {text}")
    return ExternalServiceError(f"warehouse, {doing}: {text}")


def refused_rows(error: Exception, table: str) -> Exception:
    """Make our error of a failed insert: RefusedRowsError where the rows are at fault."""
    if _ROW_ERRORS.search(str(error)):
        return RefusedRowsError(f"table {table}: {first_line(error)}")
    return translated(error, f"insert into {table}")
