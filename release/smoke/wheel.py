"""Smoke test of a wheel: a clean environment, the import, one completion."""

import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from packaging.tags import sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from gauntlet.core.clock import Stopwatch, utc_now
from gauntlet.core.errors import UsageError
from gauntlet.core.findings import Finding
from gauntlet.core.proc import CommandError, run
from gauntlet.release.artifacts import Artifact
from gauntlet.release.smoke.result import SmokeResult, Tried, host_platform
from gauntlet.release.smoke.serve import Server, free_port, serve_once
from gauntlet.release.smoke.settings import SmokeSettings
from gauntlet.release.version import ReleaseVersion

_VENV_S = 300.0
_IMPORT = """
import importlib, importlib.metadata, json, sys
module = importlib.import_module(sys.argv[1])
print("\\n" + json.dumps({
    "metadata": importlib.metadata.version(sys.argv[2]),
    "module": getattr(module, "__version__", None),
}))
"""
# Names that would bring in what the machine has, or what a user set for pip.
_FOREIGN = ("PYTHON", "PIP_", "VIRTUAL_ENV", "CONDA", "UV_")


@dataclass(frozen=True, slots=True, kw_only=True)
class WheelTrial:
    """The wheel to try; ``dependencies`` is a folder of wheels that it may take, and no other."""

    path: Path
    artifact: Artifact
    package: str
    version: ReleaseVersion
    settings: SmokeSettings = field(default_factory=SmokeSettings)
    dependencies: Path | None = None


def try_wheel(trial: WheelTrial) -> SmokeResult:
    """Install a wheel in an environment with nothing else, import it, serve it, ask it once.

    Raises UsageError where the file is no wheel, or not the artifact that it is said to be.
    """
    watch, at = Stopwatch(), utc_now()
    artifact = trial.artifact
    digest = _digest(trial.path)
    if digest != artifact.digest:
        msg = f"{trial.path}: it is {digest}, and the artifact is {artifact.digest}"
        raise UsageError(msg, hint="collect the artifacts again")
    if reason := _cannot_run(trial.path):
        finding = Finding(check="smoke-platform", subject=trial.path.name, message=reason)
        tried = Tried([finding], missing=True)
    else:
        with tempfile.TemporaryDirectory(prefix="gauntlet-smoke-") as folder:
            tried = _try(trial, Path(folder))
    return SmokeResult.of(
        "wheel",
        artifact.cell,
        trial.path.name,
        digest,
        tried=tried,
        seconds=watch.seconds,
        at=at,
    )


def _digest(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return f"sha256:{hashlib.file_digest(stream, 'sha256').hexdigest()}"
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", hint="build or collect it first") from error


def _cannot_run(path: Path) -> str:
    """Why this machine cannot install a wheel; empty where it can."""
    try:
        tags = parse_wheel_filename(path.name)[3]
    except InvalidWheelFilename as error:
        raise UsageError(f"{path.name}: {error}", hint="build it again") from error
    if tags.isdisjoint(sys_tags()):
        python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        wanted = ", ".join(sorted(map(str, tags)))
        return f"it is for {wanted}, and this is {host_platform()} with {python}: not tried"
    return ""


def _try(trial: WheelTrial, folder: Path) -> Tried:
    python = folder / "venv" / "bin" / "python"
    environment = {
        **{k: v for k, v in os.environ.items() if not k.startswith(_FOREIGN)},
        "PIP_CONFIG_FILE": os.devnull,
        "PYTHONNOUSERSITE": "1",
        "HOME": str(folder),
        **trial.settings.environment,
    }
    try:
        _install(trial, folder, python, environment)
    except CommandError as error:
        return _failed(trial, "smoke-install", f"it cannot be installed: {error.message}")
    if finding := _import(trial, folder, python, environment):
        return Tried([finding])
    port = free_port()
    return serve_once(
        Server(
            subject=trial.path.name,
            argv=trial.settings.filled(trial.settings.command, port=port, python=str(python)),
            port=port,
            folder=folder,
            environment=environment,
            log=folder / "server.log",
        ),
        trial.settings,
    )


def _install(trial: WheelTrial, folder: Path, python: Path, environment: Mapping[str, str]) -> None:
    venv = [sys.executable, "-I", "-m", "venv", str(folder / "venv")]
    run(venv, timeout=_VENV_S, cwd=folder, env=environment, supervised=True)
    found = ["--find-links", str(trial.dependencies.absolute())] if trial.dependencies else []
    pip = [str(python), "-I", "-m", "pip", "install", "--no-input", "--no-compile"]
    pip += trial.settings.pip
    run(
        [*pip, "--disable-pip-version-check", *found, str(trial.path.absolute())],
        timeout=trial.settings.install_s,
        cwd=folder,
        env=environment,
        supervised=True,
    )


def _import(
    trial: WheelTrial, folder: Path, python: Path, environment: Mapping[str, str]
) -> Finding | None:
    module = trial.settings.module or trial.package.replace("-", "_")
    try:
        done = run(
            [str(python), "-I", "-c", _IMPORT, module, trial.package],
            timeout=trial.settings.import_s,
            cwd=folder,
            env=environment,
            supervised=True,
        )
        told = json.loads(done.stdout.strip().splitlines()[-1])
    except CommandError as error:
        said = error.result.stderr.strip() if error.result else error.message
        why = said.splitlines()[-1] if said else error.message.splitlines()[0]
        return _finding(trial, "smoke-import", f"import {module}: {why}")
    except (ValueError, LookupError) as error:
        return _finding(trial, "smoke-import", f"import {module}: it ended without a word: {error}")
    return _version(trial, module, told["metadata"], told["module"])


def _version(trial: WheelTrial, module: str, metadata: str, own: object) -> Finding | None:
    """Both versions have to be the release's; the label of a variant may stand behind it."""
    wanted = trial.version.final.python
    if Version(metadata).public != wanted:
        return _finding(trial, "smoke-version", f"it is installed as {metadata}, not {wanted}")
    if own is not None and str(own).partition("+")[0] != wanted:
        return _finding(trial, "smoke-version", f"{module}.__version__ is {own!r}, not {wanted}")
    return None


def _finding(trial: WheelTrial, check: str, message: str) -> Finding:
    return Finding(check=check, subject=trial.path.name, message=message)


def _failed(trial: WheelTrial, check: str, message: str) -> Tried:
    return Tried([_finding(trial, check, message)])
