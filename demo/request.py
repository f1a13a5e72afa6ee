"""What a demo run was asked to do."""

from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Literal

from gauntlet.core.errors import UsageError, nearest

EngineKind = Literal["simulator", "vllm"]
BUILT_IN = ("baseline", "slower-and-worse")


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoRequest:
    """All options of ``gauntlet demo``, resolved."""

    run_id: str
    engine: EngineKind
    baseline: Path
    candidate: Path
    recipe: str
    seed: int
    engine_version: str
    engine_source: Path | None
    example: str
    diff_from: str | None
    warehouse: str
    workdir: Path
    cache: Path | None
    engine_venv: Path
    model: Path
    engine_args: tuple[str, ...]
    candidate_args: tuple[str, ...]
    ready_timeout_s: float


def engine_settings(name: str) -> Path:
    """Path of simulator settings: ``baseline``, ``same`` (as it), another built-in, or a file.

    Raises UsageError where there is neither such a name nor such a file.
    """
    if name.endswith((".yaml", ".yml")):
        path = Path(name)
        if not path.is_file():
            raise UsageError(f"no such settings file: {name}")
        return path
    wanted = "baseline" if name == "same" else name
    if wanted not in BUILT_IN:
        close = nearest(name, ["same", *BUILT_IN])
        msg = f"unknown engine settings {name!r}"
        hint = f"use same, {', '.join(BUILT_IN)} or the path of a .yaml file"
        raise UsageError(f"{msg}; did you mean {close!r}?" if close else msg, hint=hint)
    return Path(str(files("gauntlet.demo").joinpath("settings", f"{wanted}.yaml")))
