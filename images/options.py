"""Options that ``plan`` and ``build`` share, and what is made of them."""

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypedDict, TypeVar

import click

from gauntlet.core.errors import UsageError

_CommandT = TypeVar("_CommandT", bound=Callable[..., Any])
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
ROOT = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Root of the repository.  [default: .]",
)
_SHARED = (
    click.argument("targets", nargs=-1),
    ROOT,
    click.option(
        "--place",
        default="",
        metavar="PLACE",
        help="docker://HOST/PATH or oci:FOLDER; what it has is not built.",
    ),
    click.option(
        "--platform",
        "platforms",
        multiple=True,
        metavar="OS/MACHINE",
        help="Only this platform; repeatable.",
    ),
    click.option(
        "--context",
        "contexts",
        multiple=True,
        metavar="NAME=FOLDER",
        help="A folder that the Dockerfile names.",
    ),
    click.option(
        "--base",
        "bases",
        multiple=True,
        metavar="NAME=IMAGE",
        help="Another base image than versions.json has.",
    ),
    click.option("--arg", "args", multiple=True, metavar="NAME=VALUE", help="A build argument."),
    click.option(
        "--mirror", default="", metavar="HOST/PATH", help="Where base images are taken from."
    ),
    click.option(
        "--driver", default="", help="buildx or buildah.  [default: the first that works]"
    ),
    click.option(
        "--main", default="main", show_default=True, help="The main branch, whose caches count."
    ),
    click.option(
        "--branch", default="", envvar="BUILDKITE_BRANCH", help="The branch that is built."
    ),
    click.option("--json", "as_json", is_flag=True, help="Print data."),
)


def shared(command: _CommandT) -> _CommandT:
    """Add the options of a plan to a command."""
    for option in reversed(_SHARED):
        command = option(command)
    return command


class Options(TypedDict):
    """The options as they were given, but for ``as_json``."""

    targets: tuple[str, ...]
    root: Path
    place: str
    platforms: tuple[str, ...]
    contexts: tuple[str, ...]
    bases: tuple[str, ...]
    args: tuple[str, ...]
    mirror: str
    driver: str
    main: str
    branch: str


def pairs(given: Iterable[str], option: str, form: str = "NAME=VALUE") -> dict[str, str]:
    """Read ``NAME=VALUE`` options, which ``form`` calls by name. Raises UsageError."""
    found = {}
    for text in given:
        name, sign, value = text.partition("=")
        if not (name and sign and value):
            raise UsageError(f"{option} {text!r}: it is no {form}")
        found[name] = value
    return found


def digests(given: Iterable[str], option: str) -> dict[str, str]:
    """Read ``DIGEST=WHY`` options. Raises UsageError for what would protect nothing."""
    found = pairs(given, option, form="DIGEST=WHY")
    for digest in found:
        if not _DIGEST.fullmatch(digest):
            raise UsageError(f"{option} {digest!r}: it is no digest, sha256: and 64 hex digits")
    return found


def secrets(given: Iterable[str]) -> dict[str, Path]:
    """Read ``id=NAME,src=FILE`` options. Raises UsageError."""
    found = {}
    for text in given:
        parts = dict(item.partition("=")[::2] for item in text.split(","))
        if set(parts) != {"id", "src"}:
            raise UsageError(f"--secret {text!r}: it is no id=NAME,src=FILE")
        path = Path(parts["src"])
        if not path.is_file():
            raise UsageError(f"--secret {parts['id']}: {path} is not there")
        found[parts["id"]] = path.absolute()
    return found
