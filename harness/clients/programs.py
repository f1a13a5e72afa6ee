"""Where other clients' programs are, and which version they say they have."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from gauntlet.core.proc import CommandError, run

_VERSION_S = 60.0
_SITE = "lib/python3*/site-packages"


def find_program(name: str, place: Path | None, inside: Iterable[str] = ()) -> Path | None:
    """Find a program.

    ``place`` is the program itself, an environment, or a folder that holds it at one of ``inside``
    (glob patterns); None: it is looked for on PATH.
    """
    if place is None:
        found = shutil.which(name)
        return Path(found) if found else None
    if place.is_file():
        return place.absolute()
    for pattern in (f"bin/{name}", name, *inside):
        for candidate in sorted(place.glob(pattern)):
            if candidate.is_file():
                return candidate.absolute()
    return None


def version_of(program: Path, distribution: str) -> str:
    """Version of what is installed beside ``program``, else what the program itself says.

    The metadata first: some of these programs import for ten seconds to tell their version.
    """
    prefix = f"{distribution}-"
    for folder in sorted(program.parent.parent.glob(f"{_SITE}/{prefix}*.dist-info")):
        return folder.name.removeprefix(prefix).removesuffix(".dist-info")
    try:
        said = run([str(program), "--version"], timeout=_VERSION_S, check=False).stdout
    except CommandError:
        return ""
    return next((word for word in said.split() if word[0].isdigit()), "")
