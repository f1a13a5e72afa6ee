"""Staged releases: a matrix of two repositories, their images, wheels and artifacts."""

from fake_images import FakeImages
from oci_images import COMMIT, SmallImage, write_layout
from small_wheel import installed, small_wheel

from gauntlet.images.oci.reference import Place
from gauntlet.release.artifacts import Artifact
from gauntlet.release.images.check import Built
from gauntlet.release.images.promotion import plan_promotion, read_staged, read_tags
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.version import ReleaseVersion

VERSION = ReleaseVersion.parse("v1.2.0rc2")
MULTI, SINGLE = "acme/engine", "acme/engine-cpu"
LATER = (f"{MULTI}:latest-next", f"{MULTI}:latest", f"{SINGLE}:latest")


def a_cell(name, repository, platform, suffix="", **more):
    return {
        "id": name,
        "repository": repository,
        "suffix": suffix,
        "platform": platform,
        "wheel": "all",
        "queue": "q",
        "smoke_queue": "q",
        "dockerfile": "Dockerfile",
        **more,
    }


def a_matrix(**more):
    wheel = {"id": "all", "platform_tag": "linux_x86_64", "queue": "q", "smoke_queue": "q"}
    settings = {
        "package": "small",
        "wheels": [{**wheel, "dockerfile": "Dockerfile"}],
        "images": [
            a_cell("amd", MULTI, "linux/amd64"),
            a_cell("arm", MULTI, "linux/arm64"),
            a_cell("next", MULTI, "linux/amd64", suffix="-next"),
            a_cell("cpu", SINGLE, "linux/amd64"),
        ],
        **more,
    }
    return Matrix.model_validate(settings)


class Staged:
    """Images of all cells in staging; ``changed`` replaces some before they are put there."""

    def __init__(self, folder, matrix=None, *, changed=None, salt=""):
        self.matrix = matrix or a_matrix()
        self.wheel = small_wheel(folder / f"dist{salt}")
        self.folder = folder / f"staging{salt}"
        self.staging = Place.parse(f"oci:{self.folder}")
        self.images = {}
        for cell in self.matrix.images:
            layers = ({"etc/cell": f"{cell.id}{salt}".encode()}, installed(self.wheel))
            self.images[cell.id] = SmallImage(cell.platform, layers=layers)
        self.images |= changed or {}
        self.artifacts = [
            Artifact(
                kind="image",
                cell=cell.id,
                name=cell.repository,
                digest=self.images[cell.id].digest,
                size_bytes=1,
                platform=cell.platform,
            )
            for cell in self.matrix.images
        ]

    def in_memory(self, store=None):
        store = store or FakeImages()
        for cell in self.matrix.images:
            store.add(self.staging.at(cell.repository, tag=cell.id), self.images[cell.id])
        return store

    def on_disk(self):
        for cell in self.matrix.images:
            write_layout(self.folder / cell.repository, {cell.id: self.images[cell.id]})

    def built(self, **more):
        given = {
            "version": VERSION,
            "commit": COMMIT,
            "artifacts": self.artifacts,
            "place": self.staging,
            "wheels": {"all": self.wheel},
        }
        return Built(**{**given, **more})

    def plan(self, store, public, version=VERSION):
        return plan_promotion(
            self.matrix,
            read_staged(store, self.matrix, self.artifacts, self.staging),
            version,
            staging=self.staging,
            public=public,
            standing=read_tags(store, self.matrix, public),
        )


def tags_of(store, public):
    """Where every public tag leads."""
    found = {}
    for repository in (MULTI, SINGLE):
        for tag in store.tags(public, repository):
            found[f"{repository}:{tag}"] = store.manifest(public.at(repository, tag=tag)).digest
    return found
