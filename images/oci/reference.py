"""Where images are: a registry or a folder of layouts, a repository in it, a tag or a digest."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Self

from gauntlet.core.errors import UsageError

_REGISTRY = "docker://"
_LAYOUTS = "oci:"
_TAG = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_HOST = re.compile(r"[A-Za-z0-9.-]+(:[0-9]+)?|\[[0-9A-Fa-f:]+\](:[0-9]+)?")
_ALLOWED = "docker://HOST[:PORT][/PATH] or oci:FOLDER"


@dataclass(frozen=True, slots=True)
class Place:
    """What holds repositories: ``docker://HOST[/PATH]``, or ``oci:FOLDER`` with a layout each."""

    text: str

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read a place; raises UsageError for anything else."""
        if text.startswith(_REGISTRY):
            host = text.removeprefix(_REGISTRY).partition("/")[0]
            if "@" in host:
                # A password would end up in logs and in the record of the release.
                msg = "the address of a registry carries a name or a password"
                raise UsageError(msg, hint="log in with: skopeo login HOST")
            if _HOST.fullmatch(host):
                return cls(text.rstrip("/"))
        elif text.startswith(_LAYOUTS) and text != _LAYOUTS and ":" not in text[len(_LAYOUTS) :]:
            return cls(text.rstrip("/") or text)
        raise UsageError(f"no place for images: {text!r}", hint=f"write {_ALLOWED}")

    @property
    def host(self) -> str:
        """The registry's host and port; empty for a folder of layouts."""
        if not self.text.startswith(_REGISTRY):
            return ""
        return self.text.removeprefix(_REGISTRY).partition("/")[0]

    @property
    def is_loopback(self) -> bool:
        """Whether the registry is on this machine, and nobody can listen in between."""
        name = self.host.rpartition(":")[0] if self.host.count(":") else self.host
        try:
            return name == "localhost" or ip_address(name.strip("[]")).is_loopback
        except ValueError:
            return False

    def at(self, repository: str, *, tag: str = "", digest: str = "") -> "Reference":
        """Name an image in here by its tag or its digest."""
        return Reference(place=self, repository=repository, tag=tag, digest=digest)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """One image or manifest list: in a repository, by exactly one of tag and digest."""

    place: Place
    repository: str
    tag: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        if bool(self.tag) == bool(self.digest):
            raise ValueError("a reference has a tag or a digest, and not both")
        if self.tag and not _TAG.fullmatch(self.tag):
            raise UsageError(f"{self.tag!r} is no tag", hint="letters, digits, and . _ - only")
        if self.digest and not _DIGEST.fullmatch(self.digest):
            raise UsageError(f"{self.digest!r} is no digest", hint="write sha256: and 64 digits")

    @property
    def layout(self) -> Path | None:
        """The folder of its layout; None where it is in a registry."""
        if self.place.host:
            return None
        return Path(self.place.text.removeprefix(_LAYOUTS)) / self.repository

    def __str__(self) -> str:
        name = f"{self.place}/{self.repository}"
        return f"{name}:{self.tag}" if self.tag else f"{name}@{self.digest}"
