"""What every page is drawn with: ``from gauntlet.hud import shell``."""

from gauntlet.hud.shell.choices import choose, choose_of_many, unknown, warn_unless_known
from gauntlet.hud.shell.page import Page, Viewer, draw, errors_said, newest_note, section, viewer
from gauntlet.hud.shell.parts import (
    AltairChart,
    Columns,
    answered,
    badge,
    chart,
    download,
    facts,
    link_column,
    links,
    nothing,
    number,
    own_html,
    table,
    tiles,
    time_column,
)
from gauntlet.hud.shell.words import plain

__all__ = [
    "AltairChart",
    "Columns",
    "Page",
    "Viewer",
    "answered",
    "badge",
    "chart",
    "choose",
    "choose_of_many",
    "download",
    "draw",
    "errors_said",
    "facts",
    "link_column",
    "links",
    "newest_note",
    "nothing",
    "number",
    "own_html",
    "plain",
    "section",
    "table",
    "tiles",
    "time_column",
    "unknown",
    "viewer",
    "warn_unless_known",
]
