"""What registries hold, as the OCI image specification writes it: manifests, indexes, configs.

Docker's older types have the same fields, and are read as well.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TypeVar

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError

from gauntlet.core.errors import ExternalServiceError
from gauntlet.core.yaml_file import StrictModel

OCI_INDEX = "application/vnd.oci.image.index.v1+json"
OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"
DOCKER_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_INDEXES = frozenset({OCI_INDEX, "application/vnd.docker.distribution.manifest.list.v2+json"})
_ATTESTATION = "vnd.docker.reference.type"

_ForeignT = TypeVar("_ForeignT", bound="_Foreign")


class _Foreign(BaseModel):
    """What others write may say more than is read here."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class _Platform(_Foreign):
    os: str
    architecture: str


class Descriptor(_Foreign):
    """One thing that a manifest points to, by its digest."""

    media_type: str = Field(default="", alias="mediaType")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size: int = Field(ge=0)
    platform: _Platform | None = None
    annotations: Mapping[str, str] | None = None

    @property
    def platform_name(self) -> str:
        """``linux/amd64``; empty where none is said, and for what is no image but tells of one."""
        if self.platform is None or _ATTESTATION in (self.annotations or {}):
            return ""
        return f"{self.platform.os}/{self.platform.architecture}"


class _Document(_Foreign):
    media_type: str = Field(default="", alias="mediaType")
    config: Descriptor | None = None
    layers: tuple[Descriptor, ...] = ()
    manifests: tuple[Descriptor, ...] | None = None


@dataclass(frozen=True)
class Manifest:
    """A manifest or an index, by its very bytes: their hash is what everything refers to."""

    raw: bytes
    document: _Document

    @classmethod
    def parse(cls, raw: bytes, *, of: str) -> "Manifest":
        """Read one; raises ExternalServiceError where it is none."""
        document = _foreign(raw, _Document, of)
        if document.manifests is None and document.config is None:
            raise ExternalServiceError(f"{of}: neither an image nor a list of images")
        return cls(raw, document)

    @cached_property
    def digest(self) -> str:
        """Of the bytes, whatever a registry's header says."""
        return digest_of(self.raw)

    @property
    def is_index(self) -> bool:
        """Whether it lists images, and is none itself."""
        return self.document.manifests is not None

    @property
    def media_type(self) -> str:
        """As it says itself; OCI's allows to leave it out."""
        return self.document.media_type or (OCI_INDEX if self.is_index else OCI_MANIFEST)

    @property
    def platforms(self) -> Mapping[str, str]:
        """Digest of the image of each platform; empty for a single image."""
        listed = self.document.manifests or ()
        return {entry.platform_name: entry.digest for entry in listed if entry.platform_name}

    @property
    def layers(self) -> Sequence[Descriptor]:
        """Layers of an image, the lowest first; sizes are those that are sent."""
        return self.document.layers


class _Run(_Foreign):
    user: str = Field(default="", alias="User")
    entrypoint: tuple[str, ...] | None = Field(default=None, alias="Entrypoint")
    command: tuple[str, ...] | None = Field(default=None, alias="Cmd")
    environment: tuple[str, ...] | None = Field(default=None, alias="Env")
    labels: Mapping[str, str] | None = Field(default=None, alias="Labels")
    folder: str = Field(default="", alias="WorkingDir")


class _Config(_Foreign):
    os: str = ""
    architecture: str = ""
    created: datetime | None = None
    run: _Run = Field(default_factory=_Run, validation_alias=AliasChoices("config", "run"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageConfig:
    """How an image is started, and what it says of itself."""

    platform: str
    user: str
    entrypoint: tuple[str, ...]
    command: tuple[str, ...]
    environment: Mapping[str, str]
    labels: Mapping[str, str]
    folder: str
    created: datetime | None

    @classmethod
    def parse(cls, raw: bytes, *, of: str) -> "ImageConfig":
        """Read one; raises ExternalServiceError where it is none."""
        found = _foreign(raw, _Config, of)
        run = found.run
        pairs = (item.partition("=") for item in run.environment or ())
        return cls(
            platform=f"{found.os}/{found.architecture}",
            user=run.user,
            entrypoint=run.entrypoint or (),
            command=run.command or (),
            environment={name: value for name, _, value in pairs},
            labels=run.labels or {},
            folder=run.folder,
            created=found.created,
        )


class IndexEntry(StrictModel):
    """One image of a manifest list."""

    platform: str = Field(pattern=r"^[a-z0-9]+/[a-z0-9_]+$")
    digest: str = Field(pattern=r"^sha256:[0-9a-f]{64}$")
    size_bytes: int = Field(ge=1)
    """Of its manifest, which is small; layers do not count here."""
    media_type: str = OCI_MANIFEST


def index_bytes(entries: Iterable[IndexEntry]) -> bytes:
    """Write a manifest list. The same images give the same bytes, in whatever order they come."""
    listed: list[dict[str, object]] = []
    for entry in sorted(entries, key=lambda entry: entry.platform):
        system, _, machine = entry.platform.partition("/")
        listed.append(
            {
                "mediaType": entry.media_type,
                "digest": entry.digest,
                "size": entry.size_bytes,
                "platform": {"architecture": machine, "os": system},
            }
        )
    index = {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": listed}
    return json.dumps(index, separators=(",", ":")).encode()


def digest_of(data: bytes) -> str:
    """Name bytes by their hash."""
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _foreign(raw: bytes, model: type[_ForeignT], of: str) -> _ForeignT:
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        msg = f"{of}: cannot be read: {where}: {first['msg']}"
        raise ExternalServiceError(msg, hint="is this an image at all?") from error
