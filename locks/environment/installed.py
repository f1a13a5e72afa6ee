"""What is installed in a Python, package by package, with a fingerprint of all of it.

A version alone does not say which bytes are there: wheels are built again under one version, and
files are edited in place. So each package has a digest of what its RECORD lists, too.
"""

import hashlib
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Literal

from packaging.utils import canonicalize_name
from pydantic import BaseModel, ConfigDict

from gauntlet.core.errors import UsageError
from gauntlet.core.ids import digest
from gauntlet.core.json_file import parse_json_model
from gauntlet.core.proc import run

Source = Literal["index", "editable", "vcs", "url", "file"]

_TIMEOUT_S = 60.0
_LENGTH = 16
# Installers write these themselves, and each one others.
_OWN = frozenset({"INSTALLER", "REQUESTED", "RECORD", "direct_url.json", "uv_cache.json"})
_ASK = """
import json, os, platform, sys
v = sys.version_info
info = sys.implementation.version
tail = "" if info.releaselevel == "final" else info.releaselevel[0] + str(info.serial)
print(json.dumps({
    "path": [p for p in sys.path[1:] if p],
    "markers": {
        "implementation_name": sys.implementation.name,
        "implementation_version": "%d.%d.%d" % info[:3] + tail,
        "os_name": os.name,
        "platform_machine": platform.machine(),
        "platform_release": platform.release(),
        "platform_system": platform.system(),
        "platform_version": platform.version(),
        "python_full_version": platform.python_version(),
        "platform_python_implementation": platform.python_implementation(),
        "python_version": "%d.%d" % v[:2],
        "sys_platform": sys.platform,
    },
}))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One installed package by its canonical name.

    ``content`` is a digest of the files that came with it; empty where nobody can say (it is
    edited in place, or has no RECORD). ``where`` is the folder that it was found in.
    """

    name: str
    version: str
    source: Source = "index"
    content: str = ""
    where: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    """All packages of one Python, the ones that it would import; ``hidden`` lie behind others.

    ``markers`` is what markers of requirements are decided by.
    """

    markers: Mapping[str, str]
    packages: tuple[Package, ...]
    hidden: tuple[Package, ...] = ()
    by_name: Mapping[str, Package] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {each.name: each for each in self.packages})

    def fingerprint(self, *, without: Iterable[str] = ()) -> str:
        """Identify the environment: Python, machine, each package with its version and bytes.

        ``without`` names what is being measured, and so must not count. The same on every host
        with the same wheels; 16 hexadecimal digits.
        """
        left_out = {canonicalize_name(name) for name in without}
        about = ("platform_python_implementation", "python_full_version", "platform_machine")
        return digest(
            {
                "python": [self.markers.get(key, "") for key in about],
                "packages": [
                    [each.name, each.version, each.source, each.content]
                    for each in sorted(self.packages, key=lambda package: package.name)
                    if each.name not in left_out
                ],
            }
        )[:_LENGTH]


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    path: tuple[str, ...]
    markers: dict[str, str]


def read_python(python: Path, *, env: Mapping[str, str] | None = None) -> Installed:
    """Read what a Python would import, by asking it for its path.

    ``env`` are the variables that it is run with, as PYTHONPATH changes the answer. Raises
    UsageError for what is no Python, CommandError where it does not start or answer in time.
    """
    # By standard input: a message that names the command stays readable.
    done = run([str(python), "-"], timeout=_TIMEOUT_S, env=env, stdin=_ASK.encode(), check=False)
    if done.returncode != 0:
        said = (done.stderr.strip().splitlines() or [f"exit status {done.returncode}"])[-1]
        hint = "give the interpreter of an environment, such as .venv/bin/python"
        raise UsageError(f"{python} does not answer as a Python: {said}", hint=hint)
    lines = done.stdout.strip().splitlines()
    answer = parse_json_model(lines[-1] if lines else "", _Answer, file=str(python))
    return read_paths(answer.path, markers=answer.markers)


def read_paths(path: Sequence[str], *, markers: Mapping[str, str]) -> Installed:
    """Read what lies in folders of a search path; the first of a name is the one imported."""
    first: dict[str, Package] = {}
    hidden: list[Package] = []
    folders = dict.fromkeys(str(Path(entry).resolve()) for entry in path)
    for folder in folders:
        for package in sorted(_packages(folder), key=lambda each: (each.name, each.version)):
            if package.name in first:
                hidden.append(package)
            else:
                first[package.name] = package
    packages = tuple(first[name] for name in sorted(first))
    return Installed(markers=dict(markers), packages=packages, hidden=tuple(hidden))


def modified_files(installed: Installed) -> dict[str, tuple[str, ...]]:
    """Files that are not what was installed, other bytes or gone, by the name of their package.

    Reads all of them, which takes seconds for gigabytes. Compiled Python is left out, and so is
    a file that another package brought over it: that is how the two were installed.
    """
    claims: dict[Path, dict[str, str]] = {}
    for package in installed.packages:
        for path, value in _claimed(package):
            claims.setdefault(path, {})[package.name] = value
    found: dict[str, list[str]] = {}
    for path, claim in claims.items():
        if _hash_of(path) not in claim.values():
            for name in claim:
                found.setdefault(name, []).append(str(path))
    return {name: tuple(sorted(files)) for name, files in sorted(found.items())}


def _claimed(package: Package) -> Iterator[tuple[Path, str]]:
    """Files of a package with the hash (base64 as in RECORD) that each was installed with."""
    for distribution in distributions(path=[package.where]):
        if canonicalize_name(distribution.metadata["Name"] or "") != package.name:
            continue
        for file in distribution.files or ():
            sure = file.hash is not None and file.hash.mode == "sha256"
            if sure and file.hash and file.suffix != ".pyc" and file.name not in _OWN:
                yield Path(str(file.locate())), file.hash.value


def _packages(folder: str) -> Iterator[Package]:
    for distribution in distributions(path=[folder]):
        name = distribution.metadata["Name"]
        # A folder that a broken installation left has no name, and nothing imports it.
        if name:
            source = _source(distribution)
            yield Package(
                name=canonicalize_name(name),
                version=distribution.version,
                source=source,
                content="" if source == "editable" else _content(distribution),
                where=folder,
            )


def _source(distribution: Distribution) -> Source:
    text = distribution.read_text("direct_url.json")
    if text is None:
        return "index"
    try:
        told = json.loads(text)
    except ValueError:
        return "url"
    if not isinstance(told, dict):
        return "url"
    if "vcs_info" in told:
        return "vcs"
    about = told.get("dir_info")
    if isinstance(about, dict):
        return "editable" if about.get("editable") else "file"
    return "file" if str(told.get("url", "")).startswith("file:") else "url"


def _content(distribution: Distribution) -> str:
    """Digest of the files that a wheel brought, whoever installed it and wherever.

    Scripts are written anew for each interpreter, so only what lies beside the package counts.
    """
    files = distribution.files
    if files is None:
        return ""
    lines = sorted(
        f"{file}={file.hash.value}"
        for file in files
        if file.hash is not None
        and file.suffix != ".pyc"
        and file.name not in _OWN
        and not str(file).startswith("..")
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:_LENGTH] if lines else ""


def _hash_of(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            value = hashlib.file_digest(stream, "sha256").digest()
    except OSError:
        return ""
    return urlsafe_b64encode(value).rstrip(b"=").decode()
