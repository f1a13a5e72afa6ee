"""Addresses of pages: everything that a page shows is in its address, so that it can be pasted."""

from collections.abc import Mapping
from urllib.parse import urlencode, urlsplit


def link(page: str, kept: Mapping[str, str] | None = None, **parameters: object) -> str:
    """Address of a page relative to any other page; parameters that are None or empty are left out.

    ``kept`` says how the viewer reads: what stays the same from page to page.
    """
    given = {name: str(value) for name, value in parameters.items() if value not in (None, "")}
    query = urlencode({**(kept or {}), **given})
    return f"./{page}?{query}" if query else f"./{page}"


def web_address(url: str | None) -> str | None:
    """Return an address from outside only where it is one of the web: no scripts, no files."""
    if not url or urlsplit(url).scheme not in ("http", "https"):
        return None
    return url
