"""The process behind ``gauntlet hud``: imports what pages need, then serves.

Streamlit imports an application when its first viewer comes, who would wait for all libraries.
"""

import logging
import sys
import threading
import time
from importlib import import_module
from pathlib import Path

# Named, for what they cost the first viewer: charts, frames, the analyzer's numerics.
import altair as alt  # noqa: F401
import pandas as pd  # noqa: F401
import scipy.stats  # noqa: F401
from streamlit import runtime
from streamlit.web import cli

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import ExternalServiceError, GauntletError, InfrastructureError
from gauntlet.hud import app
from gauntlet.hud.pages import PAGES
from gauntlet.hud.reading import shared_reader
from gauntlet.hud.shell.times import Zone
from gauntlet.hud.shell.view import View

_LOGGER = logging.getLogger(__name__)
_LOOKS_EVERY_S = 0.05
_NO_SESSION = "streamlit.runtime.scriptrunner_utils.script_run_context"


def main(arguments: list[str]) -> None:
    """Serve the pages; ``arguments`` are Streamlit's options, ``--``, and the script's own."""
    location = arguments[arguments.index("--") + 1]
    for page in PAGES:
        import_module(f"gauntlet.hud.{page.path or 'main'}.page")
    threading.Thread(target=_warm_up, args=(location,), name="warm-up", daemon=True).start()
    sys.argv = ["streamlit", "run", str(Path(app.__file__)), *arguments]
    cli.main()


def _warm_up(location: str) -> None:
    """Draw every page once for nobody, so that the first viewer finds answers, not questions.

    Outside of a session Streamlit's commands draw nothing, and say so in its log each time.
    """
    logging.getLogger(_NO_SESSION).addFilter(lambda record: "missing" not in record.getMessage())
    while not runtime.exists():
        time.sleep(_LOOKS_EVERY_S)  # before it serves, Streamlit takes this for a mistake
    reader = shared_reader(location)
    for page in PAGES:
        try:
            page.draw(View(reader, Zone(), utc_now()))
        except GauntletError as error:
            # Every page says it too, and what to do.
            _LOGGER.warning("%s cannot be drawn now: %s", page.title, error.message)
            if isinstance(error, InfrastructureError | ExternalServiceError):
                return
