"""The script that Streamlit runs for every look at a page; started by ``gauntlet hud``."""

import sys
from functools import partial
from pathlib import Path

import streamlit as st

from gauntlet.hud.acting.actors import Actors
from gauntlet.hud.pages import PAGES
from gauntlet.hud.reading import shared_reader
from gauntlet.hud.shell import page

# A file of our own: Streamlit would fetch its icons from the network.
ICON = Path(page.__file__).with_name("icon.svg")


@st.cache_resource
def actors(header: str, allowed: tuple[str, ...], secret_file: str) -> Actors:
    """Who may act; read once, so that a secret's file can be taken away."""
    return Actors.of(header, allowed, Path(secret_file) if secret_file else None)


def main(location: str, header: str = "", secret_file: str = "", *allowed: str) -> None:
    """Draw the page of the present address over the warehouse at ``location``."""
    st.set_page_config(page_title="Gauntlet", page_icon=str(ICON), layout="wide")
    shared = shared_reader(location)
    by = page.viewer(actors(header, allowed, secret_file))
    pages = [
        st.Page(
            partial(page.draw, each, shared, by, PAGES),
            title=each.title,
            url_path=each.path,
            default=not each.path,
        )
        for each in PAGES
    ]
    # Streamlit's own menu puts headings between the items of one list, which is none then.
    st.navigation(pages, position="hidden").run()


if __name__ == "__main__":
    main(*sys.argv[1:])
