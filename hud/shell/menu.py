"""The menu of pages, as one list of links that a keyboard and a screen reader can walk. Pure."""

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import Protocol

from gauntlet.hud.shell.links import link


class Entry(Protocol):
    """What the menu needs of a page."""

    @property
    def path(self) -> str: ...  # noqa: D102
    @property
    def title(self) -> str: ...  # noqa: D102
    @property
    def icon(self) -> str: ...  # noqa: D102
    @property
    def section(self) -> str: ...  # noqa: D102


def menu_html(pages: Sequence[Entry], current: str, kept: Mapping[str, str]) -> str:
    """HTML of the menu; ``current`` is the path of the page that is shown."""
    parts = []
    for section, entries in groupby(pages, key=lambda page: page.section):
        items = "".join(_item(page, current, kept) for page in entries)
        parts.append(f"<div class='menu-section'>{escape(section)}</div><ul>{items}</ul>")
    return f"<nav class='menu' aria-label='Pages'>{''.join(parts)}</nav>"


def _item(page: Entry, current: str, kept: Mapping[str, str]) -> str:
    here = " aria-current='page'" if page.path == current else ""
    icon = f"<span class='menu-icon' aria-hidden='true'>{escape(page.icon)}</span>"
    address = escape(link(page.path, kept))
    return f"<li><a href='{address}'{here}>{icon}{escape(page.title)}</a></li>"
