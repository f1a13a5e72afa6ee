"""buildah, without a daemon and without privileges: a storage of its own, which goes with it.

Every time in an image is that of the commit, and no layer is cached, so that the same content
gives the same digest.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from gauntlet.core.files import write_atomic
from gauntlet.core.proc import CommandError, run
from gauntlet.images.drivers.port import BuildStep
from gauntlet.images.oci.storage import BuildStorage, build_storage

_LOCAL = "oci:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Invocation:
    """One call of ``buildah build``. ``base``, where given, takes the place of the first FROM.

    ``compress`` packs layers as they are written; else the layout has them as plain tar.
    """

    platform: str
    created: datetime
    context: Path
    dockerfile: Path
    layout: Path
    tag: str
    target: str = ""
    base: str = ""
    compress: bool = False
    args: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    contexts: Mapping[str, Path] = field(default_factory=dict)
    secrets: Mapping[str, Path] = field(default_factory=dict)

    def arguments(self) -> list[str]:
        """Words after ``buildah``; equal invocations give equal words."""
        pairs = {"--label": self.labels, "--build-arg": self.args, "--build-context": self.contexts}
        options = [
            text
            for option, values in pairs.items()
            for name in sorted(values)
            for text in (option, f"{name}={values[name]}")
        ]
        for name in sorted(self.secrets):
            options += ["--secret", f"id={name},src={self.secrets[name]}"]
        options += ["--from", self.base] if self.base else []
        options += ["--target", self.target] if self.target else []
        options += ["--disable-compression=false"] if self.compress else []
        return [
            "build",
            "--no-cache",
            "--layers=false",
            *("--format", "oci"),
            *("--platform", self.platform),
            *("--timestamp", str(int(self.created.timestamp()))),
            *options,
            *("--tag", f"oci:{self.layout}:{self.tag}"),
            *("--file", str(self.dockerfile)),
            str(self.context),
        ]


def run_logged(
    storage: BuildStorage, arguments: list[str], *, timeout_s: float, log: Path | None
) -> None:
    """Run buildah and keep what it says, also where it fails. Raises CommandError."""
    try:
        done = run(
            storage.command(*arguments), timeout=timeout_s, env=storage.environment, supervised=True
        )
    except CommandError as error:
        if log is not None:
            write_atomic(log, f"{error.result.stdout}{error.result.stderr}" if error.result else "")
        raise
    if log is not None:
        write_atomic(log, f"{done.stdout}{done.stderr}")


class Buildah:
    """The driver."""

    name = "buildah"

    def commands(self, step: BuildStep) -> list[list[str]]:
        """What would be run; bases of a layout are brought in first."""
        local = sorted({image for image in step.bases.values() if image.startswith(_LOCAL)})
        names = {image: f"localhost/base-{number}:it" for number, image in enumerate(local)}
        loads = [["skopeo", "copy", image, f"containers-storage:{names[image]}"] for image in local]
        return [*loads, ["buildah", *_invocation(step, names).arguments()]]

    def build(self, step: BuildStep) -> None:
        """Build one image in a storage that is gone afterwards, whatever happens."""
        with build_storage(step.work) as storage:
            names: dict[str, str] = {}
            for image in sorted(set(step.bases.values())):
                if image.startswith(_LOCAL):
                    called = f"base-{len(names)}"
                    names[image] = storage.load(image, called, timeout=step.timeout_s)
            step.layout.mkdir(parents=True, exist_ok=True)
            arguments = _invocation(step, names).arguments()
            run_logged(storage, arguments, timeout_s=step.timeout_s, log=step.log)


def _invocation(step: BuildStep, names: Mapping[str, str]) -> Invocation:
    bases = {arg: names.get(image, image) for arg, image in step.bases.items()}
    return Invocation(
        platform=step.platform,
        created=step.created,
        context=step.context,
        dockerfile=step.dockerfile,
        layout=step.layout,
        tag=step.tag,
        target=step.stage,
        compress=True,
        args={**step.args, **bases, "SOURCE_DATE_EPOCH": str(int(step.created.timestamp()))},
        labels=step.labels,
        contexts=step.contexts,
        secrets=step.secrets,
    )
