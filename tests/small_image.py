"""An image of the small wheel on the local base, built for real."""

import platform
from datetime import UTC, datetime
from types import SimpleNamespace

from image_worlds import MULTI, VERSION, a_cell, a_matrix
from local_base import MACHINES, local_base
from oci_images import COMMIT, digest_of
from small_wheel import small_wheel

from gauntlet.images.oci.reference import Place
from gauntlet.release.images.build import ImageBuild, build_image, image_labels
from gauntlet.release.images.check import Built

CREATED = datetime(2026, 11, 20, 12, tzinfo=UTC)
PLATFORM = f"linux/{MACHINES[platform.machine()]}"
INSTALL = (
    '["pip", "install", "--no-index", "--no-compile", "--no-cache-dir", '
    '"--root-user-action=ignore", "--find-links", "/wheels", "small"]'
)
DOCKERFILE = f"""FROM scratch
RUN --mount=type=bind,from=wheel,target=/wheels {INSTALL}
USER engine
ENTRYPOINT ["python3", "-m", "small.serve"]
"""


class Workshop:
    """A base, a wheel and a place for layouts; ``build`` makes an image of them."""

    def __init__(self, folder):
        self.folder = folder
        self.base = local_base(folder / "base")
        self.wheel = small_wheel(folder / "dist")
        self.place = Place.parse(f"oci:{folder}/images")

    def build(self, *, dockerfile=DOCKERFILE, tag="it", **cell):
        context = self.folder / f"context-{tag}"
        context.mkdir(exist_ok=True)
        (context / "Dockerfile").write_text(dockerfile)
        matrix = a_matrix(images=[a_cell("here", MULTI, PLATFORM, **cell)])
        labels = image_labels(VERSION, COMMIT, source="https://code.example.org/e", created=CREATED)
        build = ImageBuild(
            cell=matrix.images[0],
            context=context,
            dockerfile=context / "Dockerfile",
            wheel=self.wheel,
            wheel_digest=digest_of(self.wheel.read_bytes()),
            created=CREATED,
            out=self.place.at(MULTI, tag=tag),
            work=self.folder / "work",
            base=self.base,
            labels=labels,
            log=self.folder / f"{tag}.log",
        )
        return SimpleNamespace(build=build, matrix=matrix, artifact=build_image(build))

    def built(self, made):
        return Built(
            version=VERSION,
            commit=COMMIT,
            artifacts=[made.artifact],
            place=self.place,
            wheels={"all": self.wheel},
        )
