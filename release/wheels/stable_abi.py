"""Python's stable ABI: which names an ``abi3`` extension may use, and since which version."""

from collections.abc import Iterable
from functools import cache
from pathlib import Path

_FILE = Path(__file__).with_name("stable_abi.txt")
KNOWN_TO = 13
"""Minor version of Python 3 up to which the names are known."""


def outside(names: Iterable[str], minor: int) -> list[str]:
    """Names that an extension for Python 3.``minor`` and later may not use.

    Later versions than are known may have added names: of those nothing is said.
    """
    if minor > KNOWN_TO:
        return []
    since = _since()
    return sorted(name for name in names if since.get(name, KNOWN_TO + 1) > minor)


@cache
def _since() -> dict[str, int]:
    lines = _FILE.read_text(encoding="ascii").splitlines()
    rows = (line.split() for line in lines if not line.startswith("#"))
    return {name: int(minor) for minor, name in rows}
