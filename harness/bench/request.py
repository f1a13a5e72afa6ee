"""What one ``gauntlet bench run`` was asked to do."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Runtime = Literal["process", "docker", "kubernetes", "simulator"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineOptions:
    """Where engines come from, beyond what the recipe says.

    ``base_url`` is a server that runs already (``candidate_url``: the other side of a
    comparison). ``environment`` is the virtual environment that holds ``vllm``. ``lock`` is what
    the engine's Python should have. ``simulator`` are settings for an engine that the recipe
    leaves open.
    """

    base_url: str | None = None
    candidate_url: str | None = None
    runtime: Runtime | None = None
    environment: Path = Path(".venv-engine")
    lock: Path | None = None
    simulator: str = "baseline"
    devices: tuple[str, ...] = ()
    namespace: str = "default"
    context: str | None = None
    ready_timeout_s: float | None = None
    proxy: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """All options of ``gauntlet bench run``, resolved."""

    recipe: str
    settings: tuple[str, ...] = ()
    point: str | None = None
    out: Path
    warehouse: str
    seed: int = 1
    resume: bool = False
    workers: int | None = None
    calibration: bool = True
    build_id: str | None = None
    command: tuple[str, ...] = ()
    engines: EngineOptions = field(default_factory=EngineOptions)
