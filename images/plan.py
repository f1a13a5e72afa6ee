"""Which images are built, which are there already, and why. Pure but for reading files."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from gauntlet.core.errors import UsageError
from gauntlet.images.content_key import ContentKey, KeyInputs, content_key
from gauntlet.images.dockerfile import load_dockerfile
from gauntlet.images.model import UPDATE_BASES, Images, Target
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import digest_at
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.images.revisions import Revisions

LOCAL_BASE = "oci:"
Exists = Callable[[str, str, str], bool]
"""Whether a repository has a tag, with an image for a platform."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What is asked for. ``bases`` replaces base images: ``oci:FOLDER:TAG``, or ``IMAGE@DIGEST``.

    ``platforms`` are all of a target's where none are given; ``args`` are put over a target's own.
    """

    targets: tuple[str, ...] = ()
    platforms: tuple[str, ...] = ()
    contexts: Mapping[str, Path] = field(default_factory=dict)
    bases: Mapping[str, str] = field(default_factory=dict)
    args: Mapping[str, str] = field(default_factory=dict)
    place: str = ""
    mirror: str = ""
    """``HOST/PATH`` before the names of base images; empty: the builder's own choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One image of one platform in a plan. ``blocked`` ones say what they lack."""

    target: str
    platform: str
    action: Literal["build", "skip", "blocked"]
    reason: str
    key: str = ""
    tag: str = ""
    repository: str = ""
    bases: Mapping[str, str] = field(default_factory=dict)
    cache_from: tuple[str, ...] = ()
    cache_to: tuple[str, ...] = ()
    files: int = 0
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All cells, in the order of the manifest."""

    cells: tuple[Cell, ...]
    driver: str
    driver_reason: str
    place: str

    def as_data(self) -> dict[str, object]:
        """Plain data for ``--json``."""
        return asdict(self)

    def lines(self) -> list[str]:
        """One line a cell, for people."""
        head = f"driver: {self.driver or 'none'} ({self.driver_reason})"
        rows = [
            f"{cell.action:8} {cell.target:18} {cell.platform:12} {cell.tag or '-':20} "
            f"{cell.reason}"
            for cell in self.cells
        ]
        notes = [
            f"note: {cell.target} {cell.platform}: {n}" for cell in self.cells for n in cell.notes
        ]
        return [head, *rows, *notes]


def plan_images(
    images: Images,
    request: PlanRequest,
    revisions: Revisions,
    *,
    exists: Exists | None,
    driver: tuple[str, str],
) -> Plan:
    """Plan every image that is asked for; without ``exists`` no registry is asked.

    Raises UsageError for targets that there are not, ConfigError for Dockerfiles that do not parse.
    """
    cells = tuple(
        _cell(images, request, revisions, exists, name, platform)
        for name in images.manifest.pick(request.targets)
        for platform in images.manifest.targets[name].platforms
        if not request.platforms or platform in request.platforms
    )
    return Plan(cells=cells, driver=driver[0], driver_reason=driver[1], place=request.place)


def key_now(images: Images, request: PlanRequest, cell: Cell) -> str:
    """The key of what a cell is built of as it is at this moment."""
    target = images.manifest.targets[cell.target]
    contexts, _ = _contexts(images, target, request)
    return _key(images, target, request, cell.platform, cell.bases, contexts).value


def base_images(images: Images, target: Target, request: PlanRequest) -> dict[str, str]:
    """What each base's argument is: pinned, or what replaces it. Empty where nobody knows."""
    found = {}
    for arg, (name, base) in images.base_of(target).items():
        own = base.pinned
        if own and request.mirror:
            own = f"{request.mirror.removeprefix('docker://').rstrip('/')}/{own}"
        found[arg] = request.bases.get(name, own)
    return found


def build_args(target: Target, request: PlanRequest) -> dict[str, str]:
    """A target's arguments, bases left out."""
    return {**target.args, **request.args}


def _cell(
    images: Images,
    request: PlanRequest,
    revisions: Revisions,
    exists: Exists | None,
    name: str,
    platform: str,
) -> Cell:
    target = images.manifest.targets[name]
    bases = base_images(images, target, request)
    for arg, image in bases.items():
        if not image:
            reason = (
                f"base {target.bases[arg]!r} has no digest in {images.bases_file}; {UPDATE_BASES}"
            )
            return Cell(target=name, platform=platform, action="blocked", reason=reason)
    contexts, missing = _contexts(images, target, request)
    if missing:
        reason = f"nobody said where the context {missing!r} is; give --context {missing}=FOLDER"
        return Cell(target=name, platform=platform, action="blocked", reason=reason, bases=bases)
    key = _key(images, target, request, platform, bases, contexts)
    action, reason = _decide(exists, target, key, platform)
    prefix = f"{request.place.removeprefix('docker://')}/cache/{target.repository}:"
    cached = request.place.startswith("docker://")
    return Cell(
        target=name,
        platform=platform,
        action=action,
        reason=reason,
        key=key.value,
        tag=key.tag,
        repository=target.repository,
        bases=bases,
        cache_from=tuple(f"{prefix}{tag}" for tag in revisions.cache_sources()) if cached else (),
        cache_to=tuple(f"{prefix}{tag}" for tag in revisions.cache_targets()) if cached else (),
        files=key.files,
        notes=key.notes,
    )


def _decide(
    exists: Exists | None, target: Target, key: ContentKey, platform: str
) -> tuple[Literal["build", "skip"], str]:
    if exists is None:
        return "build", "no registry was asked"
    if exists(target.repository, key.tag, platform):
        return "skip", f"{target.repository}:{key.tag} has the same content"
    return "build", f"no {target.repository}:{key.tag} for {platform}"


def _contexts(images: Images, target: Target, request: PlanRequest) -> tuple[dict[str, Path], str]:
    """Folders by name, and the first context that nobody has placed."""
    found = {"": images.root / images.manifest.context}
    for name, path in target.contexts.items():
        if name in request.contexts:
            found[name] = request.contexts[name]
        elif path is not None:
            found[name] = images.root / path
        else:
            return found, name
    return found, ""


def _key(
    images: Images,
    target: Target,
    request: PlanRequest,
    platform: str,
    bases: Mapping[str, str],
    contexts: Mapping[str, Path],
) -> ContentKey:
    args = build_args(target, request)
    counted = {k: v for k, v in args.items() if k not in images.manifest.unkeyed_args}
    dockerfile = load_dockerfile(
        images.root / target.dockerfile, {**args, **bases}, file=target.dockerfile
    )
    # A mirror has the same bytes: the digest alone counts.
    digests = {arg: image.rpartition("@")[2] for arg, image in bases.items()}
    inputs = KeyInputs(
        dockerfile=dockerfile,
        stage=target.stage,
        platform=platform,
        args=counted,
        bases={arg: _local_digest(image) for arg, image in digests.items()},
        contexts=contexts,
    )
    return content_key(inputs)


def _local_digest(image: str) -> str:
    """Of a base in a layout, the digest that its tag leads to; of any other, what is given."""
    if not image.startswith(LOCAL_BASE):
        return image
    return digest_at(Skopeo(), local_reference(image)) or image


def local_reference(image: str) -> Reference:
    """Read ``oci:FOLDER:TAG``. Raises UsageError for what is no such name."""
    folder, _, tag = image.removeprefix(LOCAL_BASE).rpartition(":")
    if not folder or "/" in tag:
        raise UsageError(f"{image!r} names no image of a layout", hint="write oci:FOLDER:TAG")
    path = Path(folder).absolute()
    return Place.parse(f"oci:{path.parent}").at(path.name, tag=tag)
