"""The process behind ``gauntlet hud``: imports what pages need, then serves.

Streamlit imports an application when its first viewer comes, who would wait for all libraries.
"""

import logging
import sys
import threading
from importlib import import_module
from pathlib import Path

# Named, for what they cost the first viewer: charts, frames, the analyzer's numerics.
import altair as alt  # noqa: F401
import pandas as pd  # noqa: F401
import scipy.stats  # noqa: F401
from streamlit.web import cli

from gauntlet.core.errors import GauntletError
from gauntlet.hud import app
from gauntlet.hud.pages import PAGES
from gauntlet.warehouse.store import open_store

_LOGGER = logging.getLogger(__name__)


def main(arguments: list[str]) -> None:
    """Serve the pages; ``arguments`` are Streamlit's options, ``--``, and the script's own."""
    location = arguments[arguments.index("--") + 1]
    for page in PAGES:
        import_module(f"gauntlet.hud.{page.path or 'main'}.page")
    threading.Thread(target=_wake, args=(location,), name="wake", daemon=True).start()
    sys.argv = ["streamlit", "run", str(Path(app.__file__)), *arguments]
    cli.main()


def _wake(location: str) -> None:
    """Have the warehouse's server running, and its schema looked at, when somebody comes."""
    try:
        open_store(location).close()
    except GauntletError as error:
        # Every page says it too, until it is over.
        _LOGGER.warning("the warehouse cannot be opened now: %s", error.message)


if __name__ == "__main__":
    main(sys.argv[1:])
