"""Rows about the rows: what came in, and what did not get in."""

from typing import ClassVar

from pydantic import Field

from gauntlet.warehouse.rows.base import Row, UtcTime


class RejectedRow(Row):
    """Something that a source gave and the door refused, with its reasons; never just dropped.

    ``origin`` is the file or address, ``position`` the place in it, ``raw`` the thing itself, cut
    to a bounded length.
    """

    table: ClassVar[str] = "rejected_rows"
    identity = ("source", "origin", "position", "reasons")
    day = "at"

    source: str
    origin: str
    position: str
    target: str
    reasons: tuple[str, ...] = Field(min_length=1)
    raw: str
    at: UtcTime
