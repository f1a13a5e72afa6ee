"""Build what a plan says, put it where it belongs under its tags, and say what came out."""

import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import InfrastructureError, UsageError
from gauntlet.core.files import sole_holder
from gauntlet.images.drivers.port import BuildStep, Driver
from gauntlet.images.model import Images
from gauntlet.images.oci.manifest import IndexEntry
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.images.oci.registry import ImageStore, digest_at
from gauntlet.images.plan import Cell, Plan, PlanRequest, build_args, key_now
from gauntlet.images.revisions import Revisions

_OCI = "org.opencontainers.image"
_TAG = "it"


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """How a plan is carried out. ``place`` is where images go; None: nowhere but ``work``."""

    plan: PlanRequest
    work: Path
    place: Place
    version: str = ""
    secrets: Mapping[str, Path] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """One image that was built. ``size_bytes`` is what whoever pulls it receives."""

    target: str
    platform: str
    image: str
    digest: str
    size_bytes: int
    layers: int
    seconds: float
    log: str


def build_steps(
    images: Images, plan: Plan, request: BuildRequest, revisions: Revisions, folder: Path
) -> list[tuple[Cell, BuildStep]]:
    """Turn the cells that are to be built into steps. Pure. Raises UsageError for blocked ones."""
    blocked = [f"{c.target} {c.platform}: {c.reason}" for c in plan.cells if c.action == "blocked"]
    if blocked:
        raise UsageError("; ".join(blocked), hint="mend this, or name other targets")
    known = {each for c in plan.cells for each in images.manifest.targets[c.target].secrets}
    if unknown := set(request.secrets) - known:
        msg = f"no target of these takes the secret {min(unknown)!r}"
        raise UsageError(msg, hint=f"they take: {', '.join(sorted(known)) or 'none'}")
    return [
        (cell, _step(images, cell, request, revisions, folder))
        for cell in plan.cells
        if cell.action == "build"
    ]


def _step(
    images: Images, cell: Cell, request: BuildRequest, revisions: Revisions, folder: Path
) -> BuildStep:
    target = images.manifest.targets[cell.target]
    name = f"{cell.target}-{cell.platform.partition('/')[2]}"
    contexts = {
        context: request.plan.contexts.get(context) or images.root / str(path)
        for context, path in target.contexts.items()
    }
    return BuildStep(
        target=cell.target,
        stage=target.stage,
        platform=cell.platform,
        root=images.root,
        context=images.root / images.manifest.context,
        dockerfile=images.root / target.dockerfile,
        created=revisions.created,
        layout=folder / name,
        tag=_TAG,
        work=request.work,
        log=request.work / "logs" / f"{name}.log",
        timeout_s=target.timeout_minutes * 60.0,
        args={**build_args(target, request.plan), **_cache_args(target.secrets, revisions)},
        bases=cell.bases,
        contexts={context: path.absolute() for context, path in contexts.items()},
        labels=labels_of(images, cell.target, request.version, revisions),
        secrets={k: v for k, v in request.secrets.items() if k in target.secrets},
        cache_from=cell.cache_from,
        cache_to=cell.cache_to,
    )


def _cache_args(secrets: Iterable[str], revisions: Revisions) -> dict[str, str]:
    if "sccache" not in secrets:
        return {}
    return {"SCCACHE_MODE": "READ_WRITE" if revisions.is_main else "READ_ONLY"}


def labels_of(images: Images, target: str, version: str, revisions: Revisions) -> dict[str, str]:
    """Labels that say of an image what it is; the same for the same commit."""
    title = images.manifest.title
    return {
        f"{_OCI}.title": target if title in target else f"{title} {target}",
        f"{_OCI}.version": version,
        f"{_OCI}.revision": revisions.commit + ("" if revisions.clean else "-dirty"),
        f"{_OCI}.source": images.manifest.source,
        f"{_OCI}.created": revisions.variables()["CREATED"],
    }


def build_images(
    images: Images,
    plan: Plan,
    request: BuildRequest,
    revisions: Revisions,
    *,
    driver: Driver,
    store: ImageStore,
) -> list[Built]:
    """Build one after the other. What was built stays, whatever becomes of the next.

    Raises InfrastructureError where another build has the same ``work``, CommandError where one
    fails.
    """
    busy = f"another build works in {request.work}"
    done: list[Built] = []
    with sole_holder(request.work / "build.lock", busy=busy):
        with tempfile.TemporaryDirectory(prefix="images-", dir=request.work) as folder:
            for cell, step in build_steps(images, plan, request, revisions, Path(folder)):
                watch = Stopwatch()
                driver.build(step)
                _must_be_the_same(images, cell, request)
                done.append(_placed(cell, step, request, store, watch))
        if revisions.clean:
            # Of a folder with changes the commit's name would be a lie.
            _tag_commits(images, plan, request, revisions, store)
    return done


def _must_be_the_same(images: Images, cell: Cell, request: BuildRequest) -> None:
    """Refuse what was built of files that changed meanwhile: its key would lie for ever.

    Where the plan has notes (files that cannot be read) no key comes twice, and none is believed.
    """
    if not cell.notes and key_now(images, request.plan, cell) != cell.key:
        msg = f"{cell.target} {cell.platform}: what it is built of changed while it was built"
        raise InfrastructureError(msg, hint="build it again, and leave the folder alone meanwhile")


def _placed(
    cell: Cell,
    step: BuildStep,
    request: BuildRequest,
    store: ImageStore,
    watch: Stopwatch,
) -> Built:
    source = Place.parse(f"oci:{step.layout.parent}").at(step.layout.name, tag=step.tag)
    manifest = store.manifest(source)
    if manifest is None:
        raise InfrastructureError(
            f"{cell.target}: {step.log}: it ended well, and there is no image"
        )
    found = store.config(source).platform
    if found != cell.platform:
        msg = f"{cell.target}: it became {found}, not {cell.platform}"
        raise InfrastructureError(msg, hint="give a base image of that platform")
    out = request.place.at(cell.repository, tag=cell.tag)
    digest = store.copy(source, out)
    config = manifest.document.config
    return Built(
        target=cell.target,
        platform=cell.platform,
        image=str(out),
        digest=digest,
        size_bytes=len(manifest.raw)
        + (config.size if config else 0)
        + sum(layer.size for layer in manifest.layers),
        layers=len(manifest.layers),
        seconds=round(watch.seconds, 1),
        log=str(step.log),
    )


def _tag_commits(
    images: Images, plan: Plan, request: BuildRequest, revisions: Revisions, store: ImageStore
) -> None:
    """Give each target the tag of its commit: a list where it has several platforms.

    A target of which not all platforms are in the plan gets none: it would be half an image.
    """
    for name in dict.fromkeys(cell.target for cell in plan.cells):
        cells = [cell for cell in plan.cells if cell.target == name]
        target = images.manifest.targets[name]
        places = [request.place.at(cell.repository, tag=cell.tag) for cell in cells]
        if any(digest_at(store, image) is None for image in places):
            # Skipped, as the registry has it: nothing here is there to be tagged.
            continue
        tag = f"commit-{revisions.commit}"
        if len(cells) < len(target.platforms):
            for cell, image in zip(cells, places, strict=True):
                machine = cell.platform.partition("/")[2]
                store.copy(image, request.place.at(cell.repository, tag=f"{tag}-{machine}"))
            continue
        out = request.place.at(target.repository, tag=tag)
        if len(cells) == 1:
            store.copy(places[0], out)
        else:
            entries = [_entry(store, c.platform, r) for c, r in zip(cells, places, strict=True)]
            store.write_index(out, entries)


def _entry(store: ImageStore, platform: str, image: Reference) -> IndexEntry:
    manifest = store.manifest(image)
    if manifest is None:
        raise InfrastructureError(f"{image} was there a moment ago", hint="is it being pruned?")
    return IndexEntry(
        platform=platform,
        digest=manifest.digest,
        size_bytes=len(manifest.raw),
        media_type=manifest.media_type,
    )
