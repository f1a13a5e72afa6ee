"""Which driver this machine has."""

import shutil
from collections.abc import Mapping

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.proc import CommandError, run
from gauntlet.images.drivers.buildah import Buildah
from gauntlet.images.drivers.buildx import Buildx
from gauntlet.images.drivers.port import Driver

_ASK_S = 30.0
NAMES = ("buildx", "buildah")


def choose_driver(wanted: str = "") -> tuple[str, str]:
    """Name of the driver and why it; an empty name where nothing here can build."""
    if wanted and wanted not in NAMES:
        raise UsageError(f"no driver {wanted!r}", hint=f"one of: {', '.join(NAMES)}")
    problems: list[str] = []
    for name, missing in (("buildx", _no_buildx), ("buildah", _no_buildah)):
        if wanted in ("", name):
            problem = missing()
            if not problem:
                return name, "; ".join(problems) or ("asked for" if wanted else "a daemon answers")
            problems.append(problem)
    return "", "; ".join(problems)


def driver_of(name: str, reason: str, variables: Mapping[str, str]) -> Driver:
    """The driver of that name. Raises InfrastructureError where there is none."""
    if name == "buildx":
        return Buildx(variables)
    if name == "buildah":
        return Buildah()
    msg = f"nothing here can build: {reason}"
    raise InfrastructureError(msg, hint="install buildah and skopeo, or docker with buildx")


def _no_buildx() -> str:
    if shutil.which("docker") is None:
        return "no docker"
    for command in (["docker", "buildx", "version"], ["docker", "version"]):
        try:
            done = run(command, timeout=_ASK_S, check=False)
        except CommandError:
            return f"{' '.join(command)} gives no answer"
        if done.returncode != 0:
            return "no buildx" if "buildx" in command else "no docker daemon answers"
    return ""


def _no_buildah() -> str:
    missing = [program for program in ("buildah", "skopeo") if shutil.which(program) is None]
    return f"no {' and no '.join(missing)}" if missing else ""
