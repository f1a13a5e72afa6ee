"""Own an engine until somebody kills us; started by the test of orphans."""

import sys
import time
from pathlib import Path

from gauntlet.harness.engines.engine import Engine
from gauntlet.harness.engines.simulator import simulator_launch

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    spec = simulator_launch(folder / "engine.yaml", workdir=folder, side="single", seed=1)
    with Engine(spec, side="single", log=folder / "log") as engine:
        engine.start()
        (folder / "ready").touch()
        time.sleep(60)
