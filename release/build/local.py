"""Build cells on this machine, each into its place in one step: what is there is whole."""

import logging
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from gauntlet.core.errors import InfrastructureError, UsageError, unknown_name
from gauntlet.core.git import git
from gauntlet.core.ids import file_digest
from gauntlet.core.proc import CommandError, run
from gauntlet.release.build.place import Workshop
from gauntlet.release.images.build import ImageBuild, build_image, image_labels
from gauntlet.release.matrix.model import ImageCell, Matrix, WheelCell
from gauntlet.release.matrix.pipeline import Source, fill_in, sdist_words, wheel_words
from gauntlet.release.smoke.result import host_platform
from gauntlet.release.version import ReleaseVersion
from gauntlet.release.wheels.find import fill
from gauntlet.services.git_writing import worktree

_LOGGER = logging.getLogger(__name__)
_SDIST_TIMEOUT_S = 1800.0
_ARCHES = {"linux/amd64": "x86_64", "linux/arm64": "aarch64"}


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalPlan:
    """What this machine builds, what is there already, and what others have to build."""

    wheels: tuple[WheelCell, ...]
    images: tuple[ImageCell, ...]
    sdist: bool
    there: tuple[str, ...]
    elsewhere: tuple[str, ...]

    def lines(self) -> Iterator[str]:
        """For people."""
        names = [*(cell.id for cell in self.wheels), *(cell.id for cell in self.images)]
        names += ["sdist"] if self.sdist else []
        yield f"build here: {', '.join(names) or 'nothing'}"
        if self.there:
            yield f"there already: {', '.join(self.there)}"
        if self.elsewhere:
            yield f"for other machines: {', '.join(self.elsewhere)}"


def plan_local(matrix: Matrix, shop: Workshop, only: Sequence[str]) -> LocalPlan:
    """Plan what to build of the cells of this machine's platform; ``only`` names some of them.

    Raises UsageError for a cell that the matrix does not have, or that this machine cannot build.
    """
    here = host_platform()
    known = {
        **{c.id: _ARCHES.get(here) == c.arch for c in matrix.wheels},
        **{c.id: c.platform == here for c in matrix.images},
        **({"sdist": True} if matrix.sdist else {}),
    }
    for name in only:
        if name not in known:
            raise unknown_name("cell", name, known)
        if not known[name]:
            msg = f"{name} is for another platform than this machine, {here}"
            raise UsageError(msg, hint="build it on its queue: release plan --pipeline")
    wanted = {name for name, can in known.items() if can and (not only or name in only)}
    have = set(fill(matrix.wheels, [p for p in shop.files() if p.suffix == ".whl"]).files)
    have |= {cell.id for cell in matrix.images if cell.id in wanted and _is_staged(shop, cell)}
    have |= {"sdist"} if any(path.suffix == ".gz" for path in shop.files()) else set()
    todo = wanted - have
    return LocalPlan(
        wheels=tuple(cell for cell in matrix.wheels if cell.id in todo),
        images=tuple(cell for cell in matrix.images if cell.id in todo),
        sdist="sdist" in todo,
        there=tuple(name for name in known if name in wanted & have),
        elsewhere=tuple(name for name, can in known.items() if not can),
    )


def _is_staged(shop: Workshop, cell: ImageCell) -> bool:
    return shop.store.manifest(shop.staged(cell)) is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalBuild:
    """A plan with what it is carried out on: the engine's checkout, and a base for images."""

    plan: LocalPlan
    matrix: Matrix
    repository: Path
    base: str = ""


def build_local(build: LocalBuild, shop: Workshop) -> None:
    """Build what is planned, from the candidate's commit in a tree of its own.

    Killed anywhere and run again it goes on with the first cell that is not there. Raises
    InfrastructureError (with the last lines) where a build fails.
    """
    plan = build.plan
    if not (plan.wheels or plan.images or plan.sdist):
        return
    shop.dist.mkdir(parents=True, exist_ok=True)
    with worktree(build.repository, shop.candidate.commit) as tree:
        source = _source(shop)
        for cell in plan.wheels:
            version = f"{source.version}{f'+{cell.variant}' if cell.variant else ''}"
            commands = [
                fill_in(each, wheel_words(cell, source, "{out}"), key="wheel")
                for each in build.matrix.builders.wheel
            ]
            with _output(shop) as out:
                _run(commands, out, tree, version, shop, timeout=cell.timeout_minutes * 60)
                _take(out, "*.whl", shop.dist, cell.id)
        if plan.sdist:
            commands = [
                fill_in(each, sdist_words(source, "{out}"), key="sdist")
                for each in build.matrix.builders.sdist
            ]
            with _output(shop) as out:
                _run(commands, out, tree, source.version, shop, timeout=_SDIST_TIMEOUT_S)
                _take(out, "*.tar.gz", shop.dist, "sdist")
        for image in plan.images:
            _image(image, build, shop, tree)


def _source(shop: Workshop) -> Source:
    version = ReleaseVersion.parse(shop.candidate.name)
    return Source(
        candidate=version.tag,
        version=version.final.python,
        commit=shop.candidate.commit,
        staging=str(shop.staging),
    )


@contextmanager
def _output(shop: Workshop) -> Iterator[Path]:
    """A folder beside ``dist``: what comes out is moved there by one rename."""
    with tempfile.TemporaryDirectory(prefix=".building-", dir=shop.folder) as folder:
        yield Path(folder)


def _run(
    commands: Sequence[str], out: Path, tree: Path, version: str, shop: Workshop, *, timeout: float
) -> None:
    env = {
        **os.environ,
        "GAUNTLET_VERSION": version,
        "GAUNTLET_COMMIT": shop.candidate.commit,
        "SOURCE_DATE_EPOCH": str(int(_committed_at(tree).timestamp())),
    }
    for command in commands:
        _LOGGER.info("%s", command)
        line = command.replace("'{out}'", str(out))
        try:
            # A builder is a line for the shell, as it is in the pipeline.
            run(["sh", "-euc", line], timeout=timeout, cwd=tree, env=env, supervised=True)
        except CommandError as error:
            raise InfrastructureError(error.message, hint=f"the command was: {line}") from error


def _take(out: Path, pattern: str, dist: Path, cell: str) -> None:
    made = sorted(out.glob(pattern))
    if len(made) != 1:
        names = ", ".join(path.name for path in made) or "nothing"
        msg = f"{cell}: the build ended well and left {names}, where one {pattern} is wanted"
        raise InfrastructureError(msg, hint="builders of the matrix write it to {out}")
    made[0].replace(dist / made[0].name)


def _image(cell: ImageCell, build: LocalBuild, shop: Workshop, tree: Path) -> None:
    wheels = fill(build.matrix.wheels, [p for p in shop.files() if p.suffix == ".whl"]).files
    if cell.wheel not in wheels:
        msg = f"image {cell.id} takes the wheel {cell.wheel}, which is not there"
        raise UsageError(msg, hint="build or collect the wheel first")
    wheel, created = wheels[cell.wheel], _committed_at(tree)
    version = ReleaseVersion.parse(shop.candidate.name)
    with tempfile.TemporaryDirectory(prefix=".image-", dir=shop.folder) as folder:
        work = Path(folder)
        layouts = shop.staging.parse(f"oci:{work / 'out'}")
        made = ImageBuild(
            cell=cell,
            context=tree,
            dockerfile=tree / cell.dockerfile,
            wheel=wheel,
            wheel_digest=f"sha256:{file_digest(wheel)}",
            created=created,
            out=layouts.at(cell.repository, tag="built"),
            work=work,
            base=build.base,
            labels=image_labels(
                version, shop.candidate.commit, source=_address(build), created=created
            ),
            log=shop.folder / "logs" / f"{cell.id}.log",
        )
        build_image(made, shop.store)
        shop.store.copy(made.out, shop.staged(cell))


def _address(build: LocalBuild) -> str:
    where = git(build.repository, "config", "--get", "remote.origin.url").strip()
    return where.rpartition("@")[2] if "://" in where else where


def _committed_at(tree: Path) -> datetime:
    seconds = git(tree, "show", "--no-patch", "--format=%ct", "HEAD").strip()
    return datetime.fromtimestamp(int(seconds), UTC)
