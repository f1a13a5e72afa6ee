"""Draws the page Nightly."""

from gauntlet.hud import shell
from gauntlet.hud.shell.view import View


def draw(view: View) -> None:
    """Draw the page."""
    del view
    shell.nothing("Nothing here yet.", "")
