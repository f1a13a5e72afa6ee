"""The script that Streamlit runs for every look at a page; started by ``gauntlet hud``."""

import sys
from functools import partial
from itertools import groupby

import streamlit as st

from gauntlet.hud.pages import PAGES
from gauntlet.hud.reading import Reader
from gauntlet.hud.shell import page


@st.cache_resource(on_release=Reader.close)
def reader(location: str) -> Reader:
    """The one reader of this process."""
    return Reader(location)


def main(location: str) -> None:
    """Draw the page of the present address over the warehouse at ``location``."""
    st.set_page_config(page_title="Gauntlet", page_icon=":material/verified:", layout="wide")
    shared = reader(location)
    menu = {
        section: [
            st.Page(
                partial(page.draw, each, shared),
                title=each.title,
                icon=each.icon,
                url_path=each.path,
                default=not each.path,
            )
            for each in pages
        ]
        for section, pages in groupby(PAGES, key=lambda each: each.section)
    }
    st.navigation(menu, expanded=True).run()


if __name__ == "__main__":
    main(sys.argv[1])
