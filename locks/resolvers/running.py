"""What running uv and running pip-compile have in common."""

import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from gauntlet.core.errors import ConfigError, ExternalServiceError, InfrastructureError, Problem
from gauntlet.core.proc import CommandError, Completed, run
from gauntlet.locks.lock_file import Pin, parse_lock
from gauntlet.locks.overlay import overlay
from gauntlet.locks.resolver import Resolution

_LONGEST_REASON = 12
_LOOSEN = "loosen one of the requirements that it names"
_URL = re.compile(r"[a-z+]+://[^\s`'\")]+")
_NO_ANSWER = re.compile(
    r"error sending request|failed to fetch|could not connect|connection (refused|reset|broken)"
    r"|dns error|operation timed out|max retries exceeded|NewConnectionError|ConnectTimeout"
    r"|status (code|client error|server error)|HTTP error|ProxyError|SSLError",
    re.IGNORECASE,
)
_UNREADABLE = re.compile(
    r"File not found|failed to read from file|Couldn't parse requirement|Invalid requirement|"
    r"Could not open requirements file",
    re.IGNORECASE,
)
# What a machine's own settings say about indexes: nothing of it counts where only a folder may.
_SETTINGS = re.compile(r"(PIP|UV)_")


def find_program(name: str, *, remedy: str) -> str:
    """Path of a program: beside this Python, or on PATH. Raises InfrastructureError."""
    beside = Path(sys.executable).with_name(name)
    found = str(beside) if beside.exists() else shutil.which(name)
    if found is None:
        msg = f"{name} is not installed"
        raise InfrastructureError(msg, hint=remedy)
    return found


def environment(*, offline: bool) -> dict[str, str]:
    """Environment of a resolver; with ``offline`` none of the machine's settings of indexes."""
    kept = dict(os.environ)
    if offline:
        kept = {key: value for key, value in kept.items() if not _SETTINGS.match(key)}
        kept["PIP_CONFIG_FILE"] = os.devnull
    elif "UV_INDEX_URL" not in kept and "PIP_INDEX_URL" in kept:
        kept.setdefault("UV_DEFAULT_INDEX", kept["PIP_INDEX_URL"])
    return {**kept, "NO_COLOR": "1", "UV_NO_PROGRESS": "1", "LC_ALL": "C.UTF-8"}


def seed(resolution: Resolution) -> str:
    """Pins to start from, without hashes: uv would keep those that are there, true or not."""
    if resolution.upgrade_all or not resolution.present:
        return ""
    lock = parse_lock(resolution.present, file=resolution.file)
    return "".join(
        f"{requirement(pin)}\n" for pin in lock.pins if pin.name not in resolution.upgrade
    )


def requirement(pin: Pin) -> str:
    """A pin as one requirement."""
    extras = f"[{','.join(pin.extras)}]" if pin.extras else ""
    return f"{pin.name}{extras}=={pin.version}" + (f" ; {pin.marker}" if pin.marker else "")


def body_of(
    resolution: Resolution, argv: Sequence[str], env: Mapping[str, str], present: str
) -> str:
    """Run a resolver in a view of the repository; what it wrote to the lock.

    Raises ConfigError where it finds no answer, ExternalServiceError where an index gives none.
    """
    folder = Path(resolution.file).parent.as_posix()
    with overlay(resolution.root, folder) as view:
        output = view / resolution.file
        output.unlink(missing_ok=True)
        if present:
            output.write_text(present, encoding="utf-8")
        try:
            done = run(
                argv, timeout=resolution.timeout_s, cwd=view, env=env, check=False, supervised=True
            )
        except CommandError as error:
            if error.result is None:
                raise
            msg = f"{resolution.file}: {argv[0].rpartition('/')[2]} found no end"
            raise InfrastructureError(
                f"{msg} in {resolution.timeout_s:g} s", hint="pin more of its inputs, or use uv"
            ) from error
        if done.returncode != 0:
            raise _failure(resolution, done, view)
        return output.read_text(encoding="utf-8")


def _failure(resolution: Resolution, done: Completed, view: Path) -> Exception:
    said = f"{done.stderr}\n{done.stdout}"
    reason = _reason(said, view, resolution)
    if not resolution.offline and _NO_ANSWER.search(said):
        msg = f"{resolution.file}: the package index does not answer: {reason}"
        return ExternalServiceError(msg, hint="try again; is the index that pip uses reachable?")
    if _UNREADABLE.search(said):
        problem = Problem(file=resolution.file, message=f"an input cannot be read: {reason}")
        return ConfigError([problem], hint="mend the file or the line that it names")
    message = f"the requirements do not fit together: {reason}"
    problem = Problem(file=resolution.file, message=message)
    # pip says no more than this of a name that nobody has, and of an index that is silent.
    unknown = "from versions: none" in said and not resolution.offline
    hint = "is the name right, and does the index answer?" if unknown else _LOOSEN
    return ConfigError([problem], hint=hint)


def _reason(said: str, view: Path, resolution: Resolution) -> str:
    """The resolver's own reason: its last lines, without folders of this machine and hosts."""
    told, _, _ = said.partition("Traceback (most recent call last)")
    lines = [_DRAWN.sub("", line).strip() for line in told.splitlines()]
    kept = [line for line in lines if line and not line.startswith(_NOISE)]
    start = next((n for n, line in enumerate(kept) if line.startswith(_STARTS)), None)
    chosen = kept[-_LONGEST_REASON:] if start is None else kept[start : start + _LONGEST_REASON]
    text = " ".join([*chosen, _conflict(said)])
    for folder in (view, *resolution.find_links, resolution.root):
        text = text.replace(f"{folder}/", "").replace(str(folder), "the folder")
    return _URL.sub("the index", text).strip()


def _conflict(said: str) -> str:
    """What pip-compile tells of a conflict only in the exception that it dies of."""
    found = dict.fromkeys(
        f"{wanted}, which {by} wants" if by else wanted for wanted, by in _WANTED.findall(said)
    )
    return f"They want {'; '.join(found)}." if found else ""


_WANTED = re.compile(
    r"requirement=SpecifierRequirement\('([^']+)'\), parent=(?:None|\w+\('[^']*/([^/' ]+))"
)
_DRAWN = re.compile(r"^(?:[\s\u00d7\u2570\u2500\u25b6\u2502\u251c]|hint:|error:|cause:)+")
_NOISE = "No solution found when"
_STARTS = ("Because", "ERROR: Cannot install", "ERROR: Could not find", "Could not find")
