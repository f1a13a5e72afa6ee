"""The raw event log of a load: its records, and what a request's end is called.

A worker writes two files: ``events`` (records of :data:`RECORD`) and ``bytes`` (all that was read,
in the order of the READ records). Together they hold everything that the client saw; metrics are
computed from them afterwards. Only the standard library here: this module is imported by workers,
whose start-up and memory are part of what a client costs.

Record: kind u8, outcome u8, HTTP status u16, request u32, bytes u32, monotonic ns i64, and the
kernel's receive stamp as a raw ``timespec`` (seconds i64, nanoseconds i64, CLOCK_REALTIME; zero
where there is none). Little endian, packed: 36 bytes.
"""

import struct
from enum import IntEnum

RECORD = struct.Struct("<BBHIIq16s")
NO_STAMP = bytes(16)

# Offset of the record's fields for numpy, which reads the whole file at once.
FIELDS = (
    ("kind", "u1"),
    ("outcome", "u1"),
    ("status", "<u2"),
    ("request", "<u4"),
    ("size", "<u4"),
    ("user_ns", "<i8"),
    ("kernel_s", "<i8"),
    ("kernel_ns", "<i8"),
)


class Kind(IntEnum):
    """What a record tells."""

    SENT = 1
    READ = 2
    ENDED = 3
    # The connection was found closed before a byte of the answer came; sent again on a new one.
    RESENT = 4


class Outcome(IntEnum):
    """How an exchange ended, below the level of its content."""

    COMPLETE = 0
    CONNECTION_CLOSED = 1
    CONNECTION_RESET = 2
    REFUSED = 3
    CONNECT_TIMEOUT = 4
    STALLED = 5
    DEADLINE = 6
    PROTOCOL_ERROR = 7
    CANCELLED = 8

    @property
    def label(self) -> str:
        """The class under which a failure is counted."""
        return self.name.lower().replace("_", "-")
