"""What ``release build`` does: build or collect, then check everything, try it, and keep it."""

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gauntlet.core.errors import UsageError
from gauntlet.core.findings import Finding
from gauntlet.core.ids import file_digest
from gauntlet.core.yaml_file import load_model
from gauntlet.images.oci.manifest import Manifest
from gauntlet.release import decisions
from gauntlet.release.artifacts import Artifact
from gauntlet.release.build.local import LocalBuild, LocalPlan, build_local, plan_local
from gauntlet.release.build.place import Workshop
from gauntlet.release.build.report import BuildReport, artifacts_gate, find_report, save_report
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.model import GateResult
from gauntlet.release.images.check import Built, check_images
from gauntlet.release.matrix.model import Matrix
from gauntlet.release.policy import ReleasePolicy
from gauntlet.release.smoke.image import ImageTrial, try_image
from gauntlet.release.smoke.result import SmokeResult, host_platform
from gauntlet.release.smoke.wheel import WheelTrial, try_wheel
from gauntlet.release.state import Release
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.check import check_wheels
from gauntlet.release.wheels.find import fill, wheel_artifact

_ARCHES = {"x86_64": "linux/amd64", "aarch64": "linux/arm64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildRequest:
    """Where to get artifacts from: built here, a folder that others filled, staging; and how.

    ``smoke`` is a folder with results of smoke tests of other machines; ``dependencies`` one with
    wheels that a smoke test may install. ``try_here`` also tries what this machine can run.
    """

    version: ReleaseVersion
    local: bool = False
    only: tuple[str, ...] = ()
    collect: Path | None = None
    smoke: Path | None = None
    base: str = ""
    dependencies: Path | None = None
    try_here: bool = True
    build_sdist: bool = False
    """Also build a wheel from the source distribution, with what is installed here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What a build works with."""

    repository: Path
    location: str
    policy: ReleasePolicy
    matrix: Matrix
    release: ReleaseFolder


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildPlan:
    """What a build would do."""

    local: LocalPlan | None
    collect: tuple[Path, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        if self.local is not None:
            yield from self.local.lines()
        yield from (f"collect {path}" for path in self.collect)
        yield "check and try all that is there, and keep what was found"


def plan_build(bench: Bench, shop: Workshop, request: BuildRequest) -> BuildPlan:
    """Plan a build. Raises UsageError for cells and folders that are not there."""
    local = plan_local(bench.matrix, shop, request.only) if request.local else None
    return BuildPlan(local=local, collect=tuple(_collected(request.collect)))


def perform_build(
    bench: Bench,
    shop: Workshop,
    request: BuildRequest,
    plan: BuildPlan,
    *,
    now: datetime,
    by: str,
) -> GateResult:
    """Carry a plan out and return what the gate of artifacts says of the outcome.

    Only one process at a time works on a release; killed anywhere and run again it goes on.
    """
    with bench.release.held():
        _ensure_open(bench.release.load(), shop.candidate.name)
        _sweep(shop.folder)
        for path in plan.collect:
            _adopt(path, shop)
        if plan.local is not None:
            build = LocalBuild(
                plan=plan.local, matrix=bench.matrix, repository=bench.repository, base=request.base
            )
            build_local(build, shop)
        artifacts = read_artifacts(bench.matrix, shop)
        report = BuildReport(
            candidate=shop.candidate.name,
            commit=shop.candidate.commit,
            at=now,
            checked=tuple(each.digest for each in artifacts),
            findings=tuple(_findings(bench, shop, request, artifacts)),
            smoke=tuple(_smoke(bench, shop, request, artifacts)),
        )
        save_report(shop.folder, report)
        state = bench.release.load()
        candidate = state.candidate_of(request.version)
        kept = candidate.model_copy(update={"artifacts": artifacts})
        bench.release.save(state.with_candidate(kept))
    gate = artifacts_gate(shop.folder, kept, bench.matrix)
    decisions.record(
        bench.location,
        ReleaseVersion.parse(kept.name),
        "built",
        reason=f"artifacts: {gate.state}",
        evidence={"artifacts": [each.model_dump(mode="json") for each in artifacts]},
        at=now,
        actor=by,
    )
    return gate


def read_artifacts(matrix: Matrix, shop: Workshop) -> tuple[Artifact, ...]:
    """Describe what is there: the file of each cell, the sdist, the image of each cell."""
    files = list(shop.files())
    filled = fill(matrix.wheels, [path for path in files if path.suffix == ".whl"]).files
    cells = {cell.id: cell for cell in matrix.wheels}
    found = [wheel_artifact(filled[name], cells[name]) for name in cells if name in filled]
    found += [_sdist(path) for path in files if path.suffix != ".whl"]
    digests = {each.cell: each.digest for each in found}
    for cell in matrix.images:
        manifest = shop.store.manifest(shop.staged(cell))
        if manifest is not None:
            found.append(
                Artifact(
                    kind="image",
                    cell=cell.id,
                    name=cell.repository,
                    digest=manifest.digest,
                    size_bytes=_image_size(manifest),
                    platform=shop.store.config(shop.staged(cell)).platform,
                    wheel_digest=digests.get(cell.wheel),
                )
            )
    return tuple(found)


def try_cell(
    bench: Bench, shop: Workshop, artifact: Artifact, wheel: Path | None, dependencies: Path | None
) -> SmokeResult:
    """Try one artifact on this machine. A wheel is tried as the file that it is given by."""
    if artifact.kind == "image":
        shop.folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".smoke-", dir=shop.folder) as work:
            trial = ImageTrial(
                artifact=artifact,
                place=shop.staging,
                work=Path(work),
                settings=bench.policy.smoke,
            )
            return try_image(shop.store, trial)
    return try_wheel(
        WheelTrial(
            path=wheel or shop.dist / artifact.name,
            artifact=artifact,
            package=bench.matrix.package,
            version=ReleaseVersion.parse(shop.candidate.name),
            settings=bench.policy.smoke,
            dependencies=dependencies,
        )
    )


def _findings(
    bench: Bench, shop: Workshop, request: BuildRequest, artifacts: Sequence[Artifact]
) -> Iterator[Finding]:
    version = ReleaseVersion.parse(shop.candidate.name)
    files = list(shop.files())
    # Cells that are missing are the gate's to tell: as missing, not as wrong.
    missing = {"wheel-missing", "sdist-missing", "image-missing"}
    found = check_wheels(
        files, matrix=bench.matrix, version=version, build_sdist=request.build_sdist
    )
    wheels = fill(bench.matrix.wheels, [path for path in files if path.suffix == ".whl"]).files
    built = Built(
        version=version,
        commit=shop.candidate.commit,
        artifacts=artifacts,
        place=shop.staging,
        wheels=wheels,
        settings=bench.policy.images,
    )
    found += check_images(shop.store, bench.matrix, built)
    yield from (each for each in found if each.check not in missing)


def _smoke(
    bench: Bench, shop: Workshop, request: BuildRequest, artifacts: Sequence[Artifact]
) -> Iterator[SmokeResult]:
    """Results of before and of other machines, newest last; what passed is not tried again."""
    before = find_report(shop.folder)
    results = list(before.smoke) if before else []
    results += [load_model(path, SmokeResult) for path in _results(request.smoke)]
    digests = {each.digest for each in artifacts}
    newest = {each.digest: each for each in results if each.digest in digests}
    here = host_platform()
    for each in artifacts:
        known = newest.get(each.digest)
        if each.kind == "sdist" or not request.try_here or (known and known.outcome == "pass"):
            continue
        if _platform(each) == here:
            newest[each.digest] = try_cell(bench, shop, each, None, request.dependencies)
    yield from newest.values()


def _ensure_open(state: Release, candidate: str) -> None:
    """Refuse to touch what is being published, or was. Raises UsageError."""
    begun = state.published or state.publishing
    if begun is not None and begun.candidate == candidate:
        msg = f"{candidate} is being published, or was: its artifacts stay as they were proven"
        raise UsageError(msg, hint="tag the next candidate, if they are not good")


def _sweep(folder: Path) -> None:
    """Remove what a killed process left: nobody else is at work, so nobody needs it."""
    for left in [*folder.glob(".*-*"), *folder.glob("dist/.*.part")]:
        if left.is_dir():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _platform(artifact: Artifact) -> str:
    if artifact.kind == "image":
        return artifact.platform
    return next((p for arch, p in _ARCHES.items() if artifact.platform.endswith(arch)), "")


def _sdist(path: Path) -> Artifact:
    return Artifact(
        kind="sdist",
        name=path.name,
        digest=f"sha256:{file_digest(path)}",
        size_bytes=path.stat().st_size,
    )


def _image_size(manifest: Manifest) -> int:
    own = manifest.document.config.size if manifest.document.config else 0
    return len(manifest.raw) + own + sum(layer.size for layer in manifest.layers)


def _collected(folder: Path | None) -> Iterable[Path]:
    if folder is None:
        return []
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", hint="--collect DIR with *.whl and *.tar.gz")
    return sorted([*folder.glob("*.whl"), *folder.glob("*.tar.gz")])


def _results(folder: Path | None) -> list[Path]:
    if folder is None:
        return []
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder", hint="--smoke DIR with *.json")
    return sorted(folder.glob("*.json"))


def _adopt(path: Path, shop: Workshop) -> None:
    """Copy a file in one step; the same name with other bytes is another artifact: refused."""
    shop.dist.mkdir(parents=True, exist_ok=True)
    target = shop.dist / path.name
    if target.exists():
        if file_digest(target) == file_digest(path):
            return
        msg = f"{target} is there already, and {path} is another file"
        raise UsageError(msg, hint="which is right? remove the other, or tag the next candidate")
    partial = target.with_name(f".{target.name}.part")
    shutil.copyfile(path, partial)
    partial.replace(target)
