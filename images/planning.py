"""From options to a plan: the manifest, the history, the registry and the driver are read here."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.images.drivers.choose import choose_driver
from gauntlet.images.model import Images
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.images.options import Options, pairs
from gauntlet.images.plan import Plan, PlanRequest, plan_images
from gauntlet.images.revisions import Revisions, read_revisions


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """A plan and what it was made of."""

    images: Images
    request: PlanRequest
    revisions: Revisions
    plan: Plan


def make_plan(given: Options) -> Planned:
    """Plan what was asked for."""
    images = Images(given["root"].absolute())
    request = _request(given, images)
    revisions = read_revisions(images.root, main=given["main"], branch=given["branch"])
    place = Place.parse(given["place"]) if given["place"] else None
    store = Skopeo()

    def exists(repository: str, tag: str, _platform: str) -> bool:
        # The platform is a part of the key, and so of the tag.
        return place is not None and store.manifest(place.at(repository, tag=tag)) is not None

    plan = plan_images(
        images,
        request,
        revisions,
        exists=exists if place else None,
        driver=choose_driver(given["driver"]),
    )
    return Planned(images=images, request=request, revisions=revisions, plan=plan)


def _request(given: Options, images: Images) -> PlanRequest:
    bases = pairs(given["bases"], "--base")
    for name in bases:
        if name not in images.bases:
            raise unknown_name("base", name, images.bases)
    contexts = {name: Path(path) for name, path in pairs(given["contexts"], "--context").items()}
    for name, path in contexts.items():
        if not path.is_dir():
            raise UsageError(f"--context {name}: {path} is no folder")
    picked = [images.manifest.targets[name] for name in images.manifest.pick(given["targets"])]
    _must_be_taken("platform", given["platforms"], [p for each in picked for p in each.platforms])
    _must_be_taken("context", contexts, [name for each in picked for name in each.contexts])
    return PlanRequest(
        targets=given["targets"],
        platforms=given["platforms"],
        contexts=contexts,
        bases=bases,
        args=pairs(given["args"], "--arg"),
        place=given["place"],
        mirror=given["mirror"].removeprefix("docker://"),
    )


def _must_be_taken(kind: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Raise UsageError for what no target takes: it would silently do nothing."""
    taken = sorted(set(known))
    for name in given:
        if name not in taken:
            raise unknown_name(kind, name, taken)
