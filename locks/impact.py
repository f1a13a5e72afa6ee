"""Which jobs a changed lock concerns: those that install a package that changed. Pure."""

from collections.abc import Iterator, Sequence

from packaging.utils import canonicalize_name

from gauntlet.core.errors import UsageError, nearest
from gauntlet.core.words import number_of
from gauntlet.core.yaml_file import StrictModel
from gauntlet.locks.diff import changed_names
from gauntlet.locks.graph import LockGraph
from gauntlet.locks.lock_file import LockFile
from gauntlet.locks.manifest import Install


class InstallImpact(StrictModel):
    """What a change means for the jobs of one entry of ``installs``.

    ``package`` is one that changed and that they install, empty where none is; ``way`` leads down
    to it from one of ``roots``, or from an input; ``changed`` counts all that concern them.
    """

    jobs: tuple[str, ...]
    roots: tuple[str, ...]
    package: str = ""
    versions: str = ""
    way: tuple[str, ...] = ()
    changed: int = 0

    @property
    def concerned(self) -> bool:
        """Whether these jobs install anything that changed."""
        return bool(self.package)


class LockImpact(StrictModel):
    """What a change of a lock means. Jobs that no entry names may install all of it."""

    lock: str
    changed: tuple[str, ...]
    installs: tuple[InstallImpact, ...]


def impact(old: LockFile, new: LockFile, installs: Sequence[Install]) -> LockImpact:
    """Hold the changed packages against each install set, in the old lock and in the new one.

    A package whose files alone changed counts. Raises UsageError for what cannot be narrowed: no
    annotations, a root that neither lock has, options to the installer that changed.
    """
    if [text for _, text in old.options] != [text for _, text in new.options]:
        msg = f"{new.file}: options to the installer changed, which concern every package"
        raise UsageError(msg)
    graphs = (LockGraph(old), LockGraph(new))
    changed = tuple(name for name, _ in changed_names(old, new))
    return LockImpact(
        lock=new.file,
        changed=changed,
        installs=tuple(_of_install(install, changed, graphs) for install in installs),
    )


def impact_lines(found: LockImpact) -> Iterator[str]:
    """The same, for people."""
    yield f"{found.lock}: {number_of(len(found.changed), 'package')} changed"
    for install in found.installs:
        jobs = ", ".join(install.jobs)
        if not install.concerned:
            yield f"  {jobs}: not concerned"
            continue
        more = f" (and {install.changed - 1} more)" if install.changed > 1 else ""
        yield f"  {jobs}: {install.package} {install.versions}{more}, {' -> '.join(install.way)}"
    yield "  any other job: not narrowed, it may install all of it"


def _of_install(
    install: Install, changed: Sequence[str], graphs: tuple[LockGraph, LockGraph]
) -> InstallImpact:
    old, new = graphs
    roots = tuple(canonicalize_name(root) for root in install.roots)
    _check_roots(roots, graphs)
    before = old.closure(roots or old.inputs)
    after = new.closure(roots or new.inputs)
    # What enters or leaves an install set changed for these jobs, be it in both locks.
    concerned = sorted((set(changed) & (before | after)) | (before ^ after))
    if not concerned:
        return InstallImpact(jobs=install.jobs, roots=install.roots)
    package = next((name for name in concerned if name in changed), concerned[0])
    graph = new if package in after else old
    return InstallImpact(
        jobs=install.jobs,
        roots=install.roots,
        package=package,
        versions=_versions(package, graphs),
        way=_way(graph, roots, package),
        changed=len(concerned),
    )


def _check_roots(roots: Sequence[str], graphs: tuple[LockGraph, LockGraph]) -> None:
    known = {*graphs[0].lock.by_name, *graphs[1].lock.by_name}
    for root in roots:
        if root not in known:
            close = nearest(root, known)
            msg = f"{graphs[1].lock.file} has no package {root!r}, which installs names as a root"
            msg += f"; did you mean {close!r}?" if close else ""
            raise UsageError(msg, hint="correct installs in locks.yaml")


def _way(graph: LockGraph, roots: Sequence[str], package: str) -> tuple[str, ...]:
    if roots:
        return graph.path_from(roots, package) or (package,)
    ways = graph.paths(package, limit=1)
    return ways[0] if ways else (package,)


def _versions(name: str, graphs: tuple[LockGraph, LockGraph]) -> str:
    old, new = (graph.lock.versions.get(name, "(none)") for graph in graphs)
    return f"{old} -> {new}"
