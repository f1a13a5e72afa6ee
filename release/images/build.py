"""Build one image on this machine, so that built again it has the same digest.

Every time in it is that of the commit, labels are given, and nothing is cached. What the
Dockerfile itself brings in (a clock, the network, compiled Python) is for the Dockerfile to avoid.
"""

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.images.drivers.buildah import Invocation, run_logged
from gauntlet.images.oci.manifest import Manifest
from gauntlet.images.oci.reference import Reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.images.oci.storage import build_storage
from gauntlet.release.artifacts import Artifact
from gauntlet.release.matrix.model import ImageCell
from gauntlet.release.version import ReleaseVersion

_OCI = "org.opencontainers.image"
WHEEL_CONTEXT = "wheel"


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBuild:
    """What to build one image of.

    ``base`` takes the place of the Dockerfile's first FROM, where it is not empty. The Dockerfile
    finds the wheel, alone, in the context named ``wheel``. ``out`` is a tag in an OCI layout;
    ``work`` has room for a few copies of the image while it is built.
    """

    cell: ImageCell
    context: Path
    dockerfile: Path
    wheel: Path
    wheel_digest: str
    created: datetime
    out: Reference
    work: Path
    base: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None


def image_labels(
    version: ReleaseVersion, commit: str, *, source: str, created: datetime
) -> dict[str, str]:
    """Labels that say of an image what it is; the version is the final one."""
    return {
        f"{_OCI}.version": version.final.python,
        f"{_OCI}.revision": commit,
        f"{_OCI}.source": source,
        f"{_OCI}.created": created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    }


def build_image(build: ImageBuild, store: ImageStore | None = None) -> Artifact:
    """Build an image into its layout, within the cell's time, and return what came out.

    Raises UsageError for what is not there, CommandError (with buildah's last lines) where it
    fails or takes too long, InfrastructureError where the image is for another platform.
    """
    store = store or Skopeo()
    layout = build.out.layout
    if layout is None or not build.out.tag:
        raise UsageError(f"{build.out} is no tag in a layout", hint="build to oci:FOLDER")
    for path in (build.context, build.dockerfile, build.wheel):
        if not path.exists():
            raise UsageError(f"image {build.cell.id}: {path} is not there")
    layout.mkdir(parents=True, exist_ok=True)
    with (
        build_storage(build.work) as storage,
        tempfile.TemporaryDirectory(prefix="gauntlet-wheel-", dir=build.work) as alone,
    ):
        # A hard link would do, but for file systems that have none.
        shutil.copyfile(build.wheel, Path(alone) / build.wheel.name)
        base = build.base
        if base.startswith("oci:"):
            base = storage.load(base, "base", timeout=build.cell.timeout_minutes * 60)
        arguments = _invocation(build, layout, Path(alone), base).arguments()
        timeout_s = build.cell.timeout_minutes * 60
        run_logged(storage, arguments, timeout_s=timeout_s, log=build.log)
    return image_artifact(build, store)


def _invocation(build: ImageBuild, layout: Path, wheel: Path, base: str) -> Invocation:
    cell = build.cell
    return Invocation(
        platform=cell.platform,
        created=build.created,
        context=build.context,
        dockerfile=build.dockerfile,
        layout=layout,
        tag=build.out.tag,
        target=cell.target,
        base=base,
        args={"WHEEL": build.wheel.name, **cell.build_args},
        labels=build.labels,
        contexts={WHEEL_CONTEXT: wheel},
    )


def image_artifact(build: ImageBuild, store: ImageStore) -> Artifact:
    """Describe the image that was built. Raises InfrastructureError where it is another platform's.

    None at all is an error as well: it was built a moment ago.
    """
    manifest = store.manifest(build.out)
    if manifest is None:
        raise InfrastructureError(f"{build.out}: buildah ended well, and there is no image")
    config = store.config(build.out)
    if config.platform != build.cell.platform:
        msg = f"image {build.cell.id}: it became {config.platform}, not {build.cell.platform}"
        raise InfrastructureError(msg, hint="give a base image of the cell's platform")
    return Artifact(
        kind="image",
        cell=build.cell.id,
        name=build.cell.repository,
        digest=manifest.digest,
        size_bytes=_size(manifest),
        platform=config.platform,
        wheel_digest=build.wheel_digest,
    )


def _size(manifest: Manifest) -> int:
    """Bytes that whoever pulls the image receives."""
    own = manifest.document.config.size if manifest.document.config else 0
    return len(manifest.raw) + own + sum(layer.size for layer in manifest.layers)
