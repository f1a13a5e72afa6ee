"""A wheel's ``RECORD``: the hash and size that each member must have."""

import base64
import csv
import io
from collections.abc import Iterable, Iterator
from typing import NamedTuple

# A signature of RECORD cannot be named in it.
_UNLISTED = frozenset({"RECORD", "RECORD.jws", "RECORD.p7s"})


class Hashed(NamedTuple):
    """One member as it was read."""

    name: str
    sha256: bytes
    size_bytes: int


def record_problems(dist_info: str, record: bytes, members: Iterable[Hashed]) -> tuple[str, ...]:
    """Compare ``RECORD`` with what is there; one sentence for each difference."""
    try:
        rows = list(csv.reader(io.StringIO(record.decode(), newline=""), strict=True))
    except (UnicodeDecodeError, csv.Error) as error:
        return (f"RECORD cannot be read: {error}",)
    wrong = [row for row in rows if row and len(row) != 3]
    if wrong:
        return tuple(f"RECORD: a row has 3 columns, not {len(row)}: {row[0]!r}" for row in wrong)
    listed = {row[0]: (row[1], row[2]) for row in rows if row}
    return tuple(_differences(dist_info, listed, {member.name: member for member in members}))


def encoded(sha256: bytes) -> str:
    """A hash as RECORD writes it."""
    return "sha256=" + base64.urlsafe_b64encode(sha256).rstrip(b"=").decode()


def _differences(
    dist_info: str, listed: dict[str, tuple[str, str]], members: dict[str, Hashed]
) -> Iterator[str]:
    for name in sorted(listed.keys() - members.keys()):
        yield f"{name} is listed and not there"
    for name, member in sorted(members.items()):
        folder, _, base = name.rpartition("/")
        if folder == dist_info and base in _UNLISTED:
            continue
        if name not in listed:
            yield f"{name} is there and not listed"
            continue
        digest, size = listed[name]
        if not digest.startswith("sha256="):
            yield f"{name} has the hash {digest or 'none'!r}; sha256 is needed"
        elif digest.rstrip("=") != encoded(member.sha256):
            yield f"{name} was changed: its hash is not the one that is listed"
        elif size and size != str(member.size_bytes):
            yield f"{name} has {member.size_bytes} bytes, {size} are listed"
