"""Smoke test of an image: its own user, its own entry point, one completion."""

import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gauntlet.core.clock import Stopwatch, utc_now
from gauntlet.core.findings import Finding
from gauntlet.core.proc import CommandError, run
from gauntlet.images.oci.manifest import ImageConfig
from gauntlet.images.oci.reference import Place
from gauntlet.images.oci.registry import ImageStore
from gauntlet.images.oci.storage import PROGRAM, BuildStorage, build_storage
from gauntlet.release.artifacts import Artifact
from gauntlet.release.smoke.result import SmokeResult, Tried, host_platform
from gauntlet.release.smoke.serve import Server, free_port, serve_once
from gauntlet.release.smoke.settings import SmokeSettings

_CONTAINER = "smoke"
# The machine does not let buildah do it; of the image this says nothing.
_NOT_ALLOWED = re.compile(
    r"(chroot|unshare|mount|namespace|setrlimit|setgroups|capabilit).*"
    r"(operation not permitted|permission denied)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTrial:
    """The image to try, by its digest in ``place``; ``work`` has room for two copies of it."""

    artifact: Artifact
    place: Place
    work: Path
    settings: SmokeSettings = field(default_factory=SmokeSettings)
    program: str = PROGRAM


def try_image(store: ImageStore, trial: ImageTrial) -> SmokeResult:
    """Start an image as whoever pulls it would, and ask it once.

    Raises UsageError where it is not there, ExternalServiceError where its registry is down.
    """
    watch, at = Stopwatch(), utc_now()
    artifact = trial.artifact
    config = store.config(trial.place.at(artifact.name, digest=artifact.digest))
    if reason := _cannot_run(trial, config):
        tried = _missing(trial, reason)
    else:
        with build_storage(trial.work) as storage:
            tried = _try(store, trial, config, storage)
    return SmokeResult.of(
        "image",
        artifact.cell,
        artifact.name,
        artifact.digest,
        tried=tried,
        seconds=watch.seconds,
        at=at,
    )


def _cannot_run(trial: ImageTrial, config: ImageConfig) -> str:
    if config.platform != host_platform():
        return f"it is for {config.platform}, and this is {host_platform()}: not tried"
    if shutil.which(trial.program) is None:
        return f"{trial.program} is not installed here: not tried"
    return ""


def _try(store: ImageStore, trial: ImageTrial, config: ImageConfig, storage: BuildStorage) -> Tried:
    command = [*config.entrypoint, *(() if config.entrypoint else config.command)]
    if not command:
        message = "it has no entry point: nothing would be started"
        return Tried([_finding(trial, "smoke-server", message)])
    # A layout names images by tags, so it is given one.
    pulled = Place.parse(f"oci:{storage.folder}").at("pulled", tag="it")
    store.copy(trial.place.at(trial.artifact.name, digest=trial.artifact.digest), pulled)
    within = trial.settings.install_s
    try:
        image = storage.load(f"oci:{pulled.layout}:it", "pulled", timeout=within)
        begin = ["from", "--pull-never", "--quiet", "--name", _CONTAINER, image]
        run(storage.command(*begin), timeout=within, env=storage.environment, supervised=True)
    except CommandError as error:
        return _missing(trial, f"buildah cannot run it here: {error.message}")
    return _judged(trial, _serve(trial, storage, command))


def _serve(trial: ImageTrial, storage: BuildStorage, command: Sequence[str]) -> Tried:
    settings, port = trial.settings, free_port()
    options = [f"--env={name}={value}" for name, value in sorted(settings.environment.items())]
    started = [*command, *settings.filled(settings.image_arguments, port=port)]
    return serve_once(
        Server(
            subject=trial.artifact.name,
            argv=storage.command(
                *("run", "--isolation", "chroot"), *options, _CONTAINER, "--", *started
            ),
            port=port,
            folder=storage.folder,
            environment=storage.environment,
            log=storage.folder / "server.log",
        ),
        settings,
    )


def _judged(trial: ImageTrial, tried: Tried) -> Tried:
    """Tell what the machine does not allow from what the image does wrong."""
    for finding in tried.findings:
        if finding.check == "smoke-server" and _NOT_ALLOWED.search(finding.message):
            return _missing(trial, f"buildah cannot run it here: {finding.message}")
    return tried


def _missing(trial: ImageTrial, reason: str) -> Tried:
    return Tried([_finding(trial, "smoke-platform", reason)], missing=True)


def _finding(trial: ImageTrial, check: str, message: str) -> Finding:
    return Finding(check=check, subject=trial.artifact.name, message=message)
