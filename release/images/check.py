"""Whether each image of a release is what it says, and holds the wheel that ships."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gauntlet.core.findings import Finding
from gauntlet.images.oci.manifest import ImageConfig, Manifest
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.release.artifacts import Artifact
from gauntlet.release.images.installed import differences, read_wheel
from gauntlet.release.images.settings import ImageSettings
from gauntlet.release.matrix.model import ImageCell, Matrix
from gauntlet.release.version import ReleaseVersion

_MB = 1_000_000
_ROOT = frozenset({"", "0", "root"})
_VERSION = "org.opencontainers.image.version"
_REVISION = "org.opencontainers.image.revision"
_CREATED = "org.opencontainers.image.created"


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """What was built, and of what: each image by its digest in ``place``.

    ``wheels`` are files by the id of the cell that they fill.
    """

    version: ReleaseVersion
    commit: str
    artifacts: Sequence[Artifact]
    place: Place
    wheels: Mapping[str, Path]
    settings: ImageSettings = field(default_factory=ImageSettings)

    def image(self, cell: ImageCell) -> list[Artifact]:
        """The images that fill a cell; one, where all is well."""
        return [a for a in self.artifacts if a.kind == "image" and a.cell == cell.id]


def check_images(store: ImageStore, matrix: Matrix, built: Built) -> tuple[Finding, ...]:
    """Check the image of every cell; nothing found is all well.

    Raises ExternalServiceError where a registry does not answer: that is no finding.
    """
    findings: list[Finding] = []
    for cell in matrix.images:
        filled = built.image(cell)
        if len(filled) != 1:
            message = f"{len(filled)} images fill this cell" if filled else "no image was built"
            findings.append(
                _finding("image-missing", cell, message, "build it, then collect again")
            )
            continue
        findings += _check(store, cell, filled[0], built)
    known = {cell.id for cell in matrix.images}
    for artifact in built.artifacts:
        if artifact.kind == "image" and artifact.cell not in known:
            message = f"the matrix has no cell {artifact.cell!r}"
            findings.append(Finding(check="image-unknown", subject=artifact.name, message=message))
    return tuple(findings)


def _check(
    store: ImageStore, cell: ImageCell, artifact: Artifact, built: Built
) -> Iterator[Finding]:
    if artifact.name != cell.repository:
        message = f"it is in {artifact.name}, and belongs in {cell.repository}"
        yield _finding("image-repository", cell, message)
    reference = built.place.at(artifact.name, digest=artifact.digest)
    manifest = store.manifest(reference)
    if manifest is None:
        yield _finding("image-missing", cell, f"{reference} is not there", "push it again")
        return
    if manifest.is_index:
        message = f"{reference} is a list of {len(manifest.platforms)} images, and not one image"
        yield _finding("image-platform", cell, message, "give the digest of the platform's image")
        return
    config = store.config(reference)
    yield from _check_config(cell, config, built)
    yield from _check_size(cell, manifest, built.settings)
    yield from _check_wheel(store, cell, reference, artifact, built)


def _check_config(cell: ImageCell, config: ImageConfig, built: Built) -> Iterator[Finding]:
    if config.platform != cell.platform:
        message = f"it is for {config.platform}, and the cell is {cell.platform}"
        yield _finding("image-platform", cell, message, "its base image is of another machine")
    user = config.user.strip()
    if is_root(user):
        said = f"as {user!r}" if user else "as root, because no user is set"
        yield _finding("image-user", cell, f"it starts {said}", "add USER to its Dockerfile")
    if not config.entrypoint and not config.command:
        yield _finding("image-entrypoint", cell, "nothing is started", "add ENTRYPOINT")
    elif not config.entrypoint:
        message = f"it has a command ({config.command[0]}) and no entry point"
        yield _finding("image-entrypoint", cell, message, "add ENTRYPOINT")
    yield from _check_labels(cell, config.labels, built)


def is_root(user: str) -> bool:
    """Whether ``USER`` names the administrator: by name, by number, or by saying nothing."""
    name = user.strip().partition(":")[0]
    return name in _ROOT or (name.isdecimal() and int(name) == 0)


def _check_labels(cell: ImageCell, labels: Mapping[str, str], built: Built) -> Iterator[Finding]:
    right = {_VERSION: built.version.final.python, _REVISION: built.commit}
    for name in built.settings.required_labels:
        value = labels.get(name, "").strip()
        if not value:
            yield _finding("image-label", cell, f"no label {name}", "give it to the build")
        elif name == _CREATED and not _is_time(value):
            message = f"{name} is {value!r}, and no time with a zone"
            yield _finding("image-label", cell, message, "write it as 2026-01-31T12:00:00Z")
        elif name in right and value.removeprefix("v" if name == _VERSION else "") != right[name]:
            message = f"{name} is {value!r}, and should be {right[name]!r}"
            yield _finding("image-label", cell, message, "it was built of something else")


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def _check_size(cell: ImageCell, manifest: Manifest, settings: ImageSettings) -> Iterator[Finding]:
    total = sum(layer.size for layer in manifest.layers)
    if total > cell.size_limit_mb * _MB:
        numbered = sorted(enumerate(manifest.layers, 1), key=lambda pair: -pair[1].size)
        named = ", ".join(
            f"layer {number} ({layer.digest[7:19]}) {layer.size / _MB:.1f} MB"
            for number, layer in numbered[: settings.largest_layers]
        )
        message = f"{total / _MB:.1f} MB, and the limit is {cell.size_limit_mb:g} MB: {named}"
        yield _finding("image-size", cell, message, "or raise size_limit_mb in the matrix")


def _check_wheel(
    store: ImageStore, cell: ImageCell, reference: Reference, artifact: Artifact, built: Built
) -> Iterator[Finding]:
    wheel = built.wheels.get(cell.wheel)
    if wheel is None:
        message = f"there is no wheel {cell.wheel} to compare with"
        yield _finding("image-wheel", cell, message, "collect the wheels first")
        return
    shipped = [a.digest for a in built.artifacts if a.kind == "wheel" and a.cell == cell.wheel]
    if artifact.wheel_digest and shipped and artifact.wheel_digest not in shipped:
        message = f"it was built with the wheel {artifact.wheel_digest}, and {shipped[0]} ships"
        yield _finding("image-wheel", cell, message, "build the image again")
    with store.layer_files(reference) as layers:
        for difference in differences(read_wheel(wheel), layers):
            yield _finding("image-wheel", cell, f"{wheel.name}: {difference}", "build it again")


def _finding(check: str, cell: ImageCell, message: str, remedy: str = "") -> Finding:
    return Finding(check=check, subject=cell.id, message=message, remedy=remedy)
