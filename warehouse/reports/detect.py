"""Any test report that is known here, told apart by how it begins."""

import zlib
from collections.abc import Iterable
from datetime import datetime
from itertools import chain

from gauntlet.warehouse.reports.junit import parse_junit
from gauntlet.warehouse.reports.pytest_json import parse_pytest_json
from gauntlet.warehouse.reports.report import Limits, Report
from gauntlet.warehouse.reports.source import GZIP, SNIFF


def parse_report(
    chunks: Iterable[bytes],
    *,
    origin: str = "report",
    now: datetime | None = None,
    limits: Limits | None = None,
) -> Report:
    """Read a report whatever its format: JSON begins with a brace, all else is taken for JUnit.

    Raises UnreadableReportError where it is neither.
    """
    chunks = iter(chunks)
    head = b""
    for chunk in chunks:
        head += chunk
        if len(head) >= SNIFF:
            break
    parse = parse_pytest_json if _begins(head).startswith(b"{") else parse_junit
    return parse(chain([head], chunks), origin=origin, now=now, limits=limits)


def _begins(head: bytes) -> bytes:
    """The first bytes that are no blanks; unpacked where they are gzip."""
    if head.startswith(GZIP):
        try:
            head = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress(head, SNIFF)
        except zlib.error:
            return b""
    return head.lstrip()
