"""Start the built-in engine simulator."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gauntlet.core.ids import file_digest
from gauntlet.harness.engines.launch import LaunchSpec


def simulator_launch(
    config: Path,
    *,
    workdir: Path,
    side: str,
    seed: int,
    knowledge: Sequence[Path] = (),
    ready_timeout_s: float = 20.0,
) -> LaunchSpec:
    """Describe a simulator with the settings of ``config`` and its answers from ``knowledge``."""
    port_file = workdir / f"{side}.port"
    argv = [sys.executable, "-m", "gauntlet", "simulator", "--config", str(config)]
    argv += ["--port", "0", "--port-file", str(port_file), "--set", f"seed={seed}"]
    for path in knowledge:
        argv += ["--knowledge", str(path.resolve())]
    return LaunchSpec(
        kind="simulator",
        label=config.stem,
        argv=tuple(argv),
        port_file=port_file,
        ready_timeout_s=ready_timeout_s,
        commit=file_digest(config),
        configuration=str(config),
    )
