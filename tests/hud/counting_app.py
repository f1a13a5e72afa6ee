"""The HUD with a diary: every question that reaches the warehouse, and, if asked, a slow answer."""

import json
import os
import sys
import time
from pathlib import Path

from gauntlet.hud import app
from gauntlet.hud.reading import Reader

if not hasattr(Reader, "in_diary"):
    plain = Reader.__dict__["_ask"]

    def noted(self, query, parameters):
        """Write a line before the question is asked."""
        with Path(os.environ["HUD_DIARY"]).open("a") as diary:
            diary.write(f"{query} {json.dumps(parameters)}\n")
        time.sleep(float(os.environ.get("HUD_SLOW_S", "0")))
        return plain(self, query, parameters)

    Reader._ask = noted
    # On a slow machine a minute passes while ten browsers start.
    Reader.__init__.__kwdefaults__["ttl_s"] = 3600.0
    Reader.in_diary = True

app.main(*sys.argv[1:])
