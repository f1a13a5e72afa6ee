"""Which image a job runs in: by digest where it is known, else by the name of this very build.

The digest of an image that the build itself makes is known only after the pipeline was uploaded.
Until then its tag, which holds the commit, is all there is: it is what :class:`ImageSource` gives,
and what :func:`pin_images` replaces later, when an upload happens after the image was built.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from pydantic import RootModel, StringConstraints

from gauntlet.core.errors import ConfigError, Problem, nearest
from gauntlet.core.yaml_file import load_yaml, validate_model
from gauntlet.pipelines.rendering.variables import fill_in

_COMMIT = "$BUILDKITE_COMMIT"
_ENV_PREFIX = "GAUNTLET_IMAGE_"

Digest = Annotated[str, StringConstraints(pattern=r"^[^\s@]+@sha256:[0-9a-f]{64}$")]


class ImagesFile(RootModel[dict[str, Digest]]):
    """``images.json``: references by digest, by variant."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageSource:
    """Where images come from, as far as that is known when a pipeline is rendered.

    ``repository`` is the one that this build pushes to, ``main_repository`` that of the main
    branch. ``suffix`` marks all images of a special build, such as ``-torch-nightly``.
    ``digests`` are references by digest, by variant.
    """

    registry: str | None = None
    repository: str | None = None
    main_repository: str | None = None
    suffix: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)

    def variables(self) -> dict[str, str]:
        """Values of the variables that definitions use in their commands.

        Nothing is filled in while registry and repository are unknown: then the agent takes all
        of them from the environment of the uploading job.
        """
        if self.registry is None or self.repository is None:
            return {}
        values = {
            "REGISTRY": self.registry,
            "REPO": self.repository,
            "BRANCH": "$BUILDKITE_BRANCH",
            "IMAGE_TAG": f"{self.registry}/{self.repository}:{_COMMIT}{self.suffix}",
        }
        if self.main_repository is not None:
            values["IMAGE_TAG_LATEST"] = f"{self.registry}/{self.main_repository}:latest"
        return values

    def reference(self, variant: str, template: str) -> str:
        """Name the image of a variant; ``template`` is its name where no digest is known."""
        digest = self.digests.get(variant)
        if digest is not None:
            return digest
        return fill_in(template.replace(_COMMIT, f"{_COMMIT}{self.suffix}"), self.variables())


def by_digest(reference: str) -> bool:
    """Whether a reference names one image for ever."""
    return "@sha256:" in reference


def image_variable(variant: str) -> str:
    """Name of the pipeline's variable that records the image of a variant."""
    return _ENV_PREFIX + variant.upper().replace("-", "_")


def load_images(path: Path, known: Mapping[str, str]) -> dict[str, str]:
    """Read ``images.json``. Raises ConfigError for an unknown variant or no digest."""
    document = load_yaml(path)
    images = validate_model(document, ImagesFile).root
    problems = [
        document.problem(
            (name,),
            "no such image variant",
            allowed=tuple(sorted(known)),
            nearest=nearest(name, known),
        )
        for name in images
        if name not in known
    ]
    if problems:
        raise ConfigError(problems)
    return images


def pin_images(pipeline: Mapping[str, object], digests: Mapping[str, str]) -> dict[str, object]:
    """Replace the images of a rendered pipeline by digests, by variant.

    The pipeline's own variables say which image is which variant's. Raises ConfigError where it
    uses no image of a variant.
    """
    env = pipeline.get("env")
    recorded = dict(env) if isinstance(env, Mapping) else {}
    missing = [name for name in digests if image_variable(name) not in recorded]
    if missing:
        problems = [
            Problem(file="pipeline", key=image_variable(name), message="no job uses this image")
            for name in missing
        ]
        raise ConfigError(problems, hint="give the digests of images that the pipeline uses")
    changed = {recorded[image_variable(name)]: digest for name, digest in digests.items()}
    pinned = {name: changed.get(value, value) for name, value in recorded.items()}
    return {
        **pipeline,
        "env": pinned,
        "steps": _replaced(pipeline["steps"], changed, in_plugin=False),
    }


def _replaced(value: object, images: Mapping[str, str], *, in_plugin: bool) -> object:
    """Copy a value with the ``image`` of every plugin, and of every container in one, replaced."""
    if isinstance(value, list | tuple):
        return [_replaced(item, images, in_plugin=in_plugin) for item in value]
    if not isinstance(value, Mapping):
        return value
    copy = {
        key: _replaced(item, images, in_plugin=in_plugin or key == "plugins")
        for key, item in value.items()
    }
    image = copy.get("image")
    if in_plugin and isinstance(image, str) and image in images:
        copy["image"] = images[image]
        if copy.get("always-pull"):
            del copy["always-pull"]
    return copy
