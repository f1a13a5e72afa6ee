"""One smoke test on a machine that may know nothing of the release but a file and a commit."""

from dataclasses import dataclass
from pathlib import Path

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import UsageError, unknown_name
from gauntlet.release.artifacts import Artifact
from gauntlet.release.build.place import Workshop
from gauntlet.release.build.use import Bench, read_artifacts, try_cell
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.use import Place
from gauntlet.release.smoke.result import SmokeResult
from gauntlet.release.state import Candidate
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.find import wheel_artifact


@dataclass(frozen=True, slots=True, kw_only=True)
class OneTrial:
    """Which cell to try, and what is known of it here."""

    version: ReleaseVersion
    cell: str
    wheel: Path | None = None
    commit: str | None = None
    staging: str = ""
    dependencies: Path | None = None


def try_one(place: Place, trial: OneTrial) -> SmokeResult:
    """Try one artifact. Raises UsageError for a cell that is not there, or has none."""
    folder = ReleaseFolder.of(place.releases, trial.version)
    shop = Workshop.of(folder, _candidate(folder, trial), place.policy, trial.staging)
    bench = Bench(
        repository=place.repository,
        location=place.location,
        policy=place.policy,
        matrix=place.matrix,
        release=folder,
    )
    artifact = _artifact(place, shop, trial)
    return try_cell(bench, shop, artifact, trial.wheel, trial.dependencies)


def _candidate(folder: ReleaseFolder, trial: OneTrial) -> Candidate:
    if trial.commit is None:
        return folder.load().candidate_of(trial.version)
    return Candidate(name=trial.version.tag, commit=trial.commit, by="", at=utc_now())


def _artifact(place: Place, shop: Workshop, trial: OneTrial) -> Artifact:
    cells = {cell.id: cell for cell in place.matrix.wheels}
    known = [*cells, *(cell.id for cell in place.matrix.images)]
    if trial.cell not in known:
        raise unknown_name("cell", trial.cell, known)
    if trial.wheel is not None:
        if trial.cell not in cells:
            msg = f"{trial.cell} is an image, and a wheel is given"
            raise UsageError(msg, hint=f"wheels are {', '.join(cells)}")
        return wheel_artifact(trial.wheel, cells[trial.cell])
    found = [each for each in read_artifacts(place.matrix, shop) if each.cell == trial.cell]
    if not found:
        msg = f"nothing fills {trial.cell} in {shop.dist} or {shop.staging}"
        raise UsageError(msg, hint="build or collect it first, or give --wheel FILE")
    return found[0]
