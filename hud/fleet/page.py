"""Draws the page Fleet."""

from gauntlet.hud.shell import page
from gauntlet.hud.shell.view import View


def draw(view: View) -> None:
    """Draw the page."""
    del view
    page.nothing("Nothing here yet.", "")
