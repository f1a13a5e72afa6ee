"""Which file fills which cell of the matrix: by tags, never by what a name looks like."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from packaging.tags import Tag, parse_tag
from packaging.version import Version

from gauntlet.core.findings import Finding
from gauntlet.core.ids import file_digest
from gauntlet.release.artifacts import Artifact
from gauntlet.release.matrix.model import WheelCell
from gauntlet.release.wheels.facts import FileName, WheelError, parse_name

_OLD_NAMES = {"manylinux1": (2, 5), "manylinux2010": (2, 12), "manylinux2014": (2, 17)}
_MANYLINUX = re.compile(
    r"^(?:manylinux_(\d+)_(\d+)|(manylinux1|manylinux2010|manylinux2014))_(\w+)$"
)
_CPYTHON = re.compile(r"^cp3(\d+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Filled:
    """The file of each cell by the cell's id, and what does not come out even."""

    files: Mapping[str, Path]
    findings: tuple[Finding, ...]

    def cell_of(self, path: Path) -> str:
        """Id of the cell that a file fills; empty where it fills none."""
        return next((cell for cell, file in self.files.items() if file == path), "")


def fill(cells: Sequence[WheelCell], paths: Iterable[Path]) -> Filled:
    """Find the one file of each cell.

    A file fits a cell where its label is the cell's variant and an installer that looks for the
    cell's tags would take it: ``cp38-abi3`` where ``cp312-cp312`` is sought, an older manylinux
    where a newer one is. No file, two files, and files of no cell are findings.
    """
    findings: list[Finding] = []
    named: dict[Path, FileName] = {}
    for path in sorted(set(paths)):
        try:
            named[path] = parse_name(path)
        except WheelError as error:
            findings.append(unreadable(error, path))
    fits = {c.id: [path for path, name in named.items() if _fits(name, c)] for c in cells}
    for cell in cells:
        findings += _cell_findings(cell, fits[cell.id], named)
    for path, name in named.items():
        findings += _file_findings(path, name, cells, [i for i, f in fits.items() if path in f])
    files = {cell: found[0] for cell, found in fits.items() if len(found) == 1}
    return Filled(files=files, findings=tuple(findings))


def unreadable(error: WheelError, path: Path) -> Finding:
    """Tell of a file that is no wheel, as of any other thing that is wrong."""
    return Finding(check=error.check, subject=path.name, message=error.reason, remedy=error.remedy)


def wheel_artifact(path: Path, cell: WheelCell) -> Artifact:
    """Describe the file that fills a cell, by its digest."""
    return Artifact(
        kind="wheel",
        cell=cell.id,
        name=path.name,
        digest=f"sha256:{file_digest(path)}",
        size_bytes=path.stat().st_size,
        platform=cell.platform_tag,
        variant=cell.variant,
    )


def manylinux(platform: str) -> tuple[int, int] | None:
    """Version of glibc that a platform tag allows; None where it is no manylinux tag."""
    found = _MANYLINUX.match(platform)
    if found is None:
        return None
    major, minor, old, _ = found.groups()
    return _OLD_NAMES[old] if old else (int(major), int(minor))


def machine(platform: str) -> str:
    """Machine that a platform tag is for, as ``manylinux_2_28_aarch64`` is for ``aarch64``.

    Empty where the tag is for any machine or the system is not Linux.
    """
    found = _MANYLINUX.match(platform)
    if found is not None:
        return found.group(4)
    linux = re.match(r"^(?:musllinux_\d+_\d+|linux)_(\w+)$", platform)
    return linux.group(1) if linux else ""


def wanted_name(cell: WheelCell) -> str:
    """The cell's tags and variant in words."""
    label = f" with the label +{cell.variant}" if cell.variant else " without a label"
    return f"{cell.python_tag}-{cell.abi_tag}-{cell.platform_tag}{label}"


def same_label(version: Version, variant: str) -> bool:
    """Whether a version's local label is a variant; no label is the default one."""
    return (version.local or "") == (Version(f"0+{variant}").local if variant else "")


def _fits(name: FileName, cell: WheelCell) -> bool:
    sought = parse_tag(f"{cell.python_tag}-{cell.abi_tag}-{cell.platform_tag}")
    return same_label(name.version, cell.variant) and any(
        _serves(built, wanted) for built, wanted in product(name.tags, sought)
    )


def _serves(built: Tag, sought: Tag) -> bool:
    return _serves_python(built, sought) and _serves_platform(built.platform, sought.platform)


def _serves_python(built: Tag, sought: Tag) -> bool:
    if (built.interpreter, built.abi) == (sought.interpreter, sought.abi):
        return True
    have, want = _CPYTHON.match(built.interpreter), _CPYTHON.match(sought.interpreter)
    own = sought.abi in ("abi3", sought.interpreter)
    stable = built.abi == "abi3" and own and have is not None and want is not None
    return bool(stable and have and want and int(have.group(1)) <= int(want.group(1)))


def _serves_platform(built: str, sought: str) -> bool:
    have, want = manylinux(built), manylinux(sought)
    if have is None or want is None:
        return built == sought
    return machine(built) == machine(sought) and have <= want


def _cell_findings(
    cell: WheelCell, fits: list[Path], named: Mapping[Path, FileName]
) -> Iterable[Finding]:
    if len(fits) > 1:
        yield Finding(
            check="wheel-twice",
            subject=cell.id,
            message=f"{len(fits)} files fit it: {', '.join(path.name for path in fits)}",
            remedy="keep the one that is to ship",
        )
    if not fits:
        near = [p.name for p, n in named.items() if same_label(n.version, cell.variant)]
        seen = f"; of this label there are: {', '.join(near)}" if near else ""
        yield Finding(
            check="wheel-missing",
            subject=cell.id,
            message=f"no file fits {wanted_name(cell)}{seen}",
            remedy="build it, or take the cell out of the matrix",
        )


def _file_findings(
    path: Path, name: FileName, cells: Sequence[WheelCell], fits: list[str]
) -> Iterable[Finding]:
    if len(fits) > 1:
        yield Finding(
            check="wheel-ambiguous",
            subject=path.name,
            message=f"it fits more than one cell: {', '.join(fits)}",
            remedy="give cells of the matrix tags or variants of their own",
        )
    if fits:
        return
    bare = FileName(name=name.name, version=Version(name.version.public), tags=name.tags)
    default = next((c.id for c in cells if not c.variant and _fits(bare, c)), "")
    known = {cell.variant for cell in cells}
    if name.variant and default and not any(same_label(name.version, v) for v in known):
        yield Finding(
            check="wheel-variant",
            subject=path.name,
            message=f"the label +{name.variant} is no variant; the default ({default}) has none",
            remedy="build it without a label: with one it cannot go to a public index",
        )
        return
    sought = (
        ", ".join(sorted({f"{c.platform_tag} +{c.variant or 'none'}" for c in cells})) or "none"
    )
    yield Finding(
        check="wheel-extra",
        subject=path.name,
        message=f"it fills no cell; sought are: {sought}",
        remedy="leave it out, or add a cell to the matrix",
    )
