"""The process behind ``gauntlet hud``: imports what pages need, then serves.

Streamlit imports an application when its first viewer comes, who would wait for all libraries.
"""

import sys
from pathlib import Path

# Named, for what they cost the first viewer: charts, frames, the analyzer's numerics.
import altair as alt  # noqa: F401
import pandas as pd  # noqa: F401
import scipy.stats  # noqa: F401
from streamlit.web import cli

from gauntlet.hud import app


def main(arguments: list[str]) -> None:
    """Serve the pages; ``arguments`` are Streamlit's options, ``--``, and the warehouse."""
    sys.argv = ["streamlit", "run", str(Path(app.__file__)), *arguments]
    cli.main()


if __name__ == "__main__":
    main(sys.argv[1:])
