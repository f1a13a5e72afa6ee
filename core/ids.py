"""Identities: of runs (sortable by time) and of content (digests)."""

import hashlib
import json
import secrets
from datetime import datetime
from pathlib import Path

from gauntlet.core.clock import utc_now


def new_run_id(now: datetime | None = None) -> str:
    """Make a run id that sorts by start time, such as ``20261130-011310-3fa9c1``."""
    return f"{now or utc_now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def canonical_json(value: object) -> str:
    """Serialise plain data so that equal values give equal bytes on every machine."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def digest(value: object) -> str:
    """SHA-256 (hex) of plain data in canonical form."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 (hex) of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
