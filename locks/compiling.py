"""Compile locks: plan the order, resolve beside the repository, write what came out whole."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import ConfigError, GauntletError, Problem, unknown_name
from gauntlet.core.files import write_atomic
from gauntlet.core.yaml_file import read_text
from gauntlet.locks.index import Source, update_record, wanted_by
from gauntlet.locks.lock_file import LockFile, load_lock, parse_lock
from gauntlet.locks.manifest import Locks, Resolver
from gauntlet.locks.overlay import overlay
from gauntlet.locks.record import IndexRecord, load_record, save_record
from gauntlet.locks.resolver import Resolution
from gauntlet.locks.resolvers import resolver_for


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileRequest:
    """Which locks to compile, and how far to move from their present pins."""

    names: tuple[str, ...]
    upgrade_all: bool = False
    upgrade: tuple[str, ...] = ()
    resolver: Resolver | None = None
    find_links: tuple[Path, ...] = ()
    offline: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """One lock: its text before and after, or why there is none; ``seconds`` to resolve it."""

    name: str
    file: str
    before: str
    after: str = ""
    seconds: float = 0.0
    error: GauntletError | None = None

    @property
    def changes(self) -> tuple[tuple[str, str, str], ...]:
        """Package, version before and after; empty where there is none."""
        old = _versions(self.before, self.file)
        new = parse_lock(self.after, file=self.file).versions
        names = sorted({*old, *new})
        pairs = ((name, old.get(name, ""), new.get(name, "")) for name in names)
        return tuple(each for each in pairs if each[1] != each[2])


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilePlan:
    """What is to be written: locks that came out, and the record that fits to all of them."""

    locks: tuple[Compiled, ...]
    record: IndexRecord

    @property
    def failed(self) -> tuple[Compiled, ...]:
        """Locks that did not come out."""
        return tuple(each for each in self.locks if each.error)


def in_order(locks: Locks, names: Sequence[str]) -> tuple[str, ...]:
    """Names such that a lock that another is made from comes first. Raises ConfigError."""
    graph = {name: _before(locks, name) & set(names) for name in names}
    try:
        return tuple(TopologicalSorter(graph).static_order())
    except CycleError as error:
        message = f"locks are made from each other: {', '.join(error.args[1])}"
        raise ConfigError([Problem(file=locks.file, key="locks", message=message)]) from error


def plan_compile(
    locks: Locks,
    request: CompileRequest,
    source: Source,
    tell: Callable[[str], None] = lambda _line: None,
) -> CompilePlan:
    """Resolve what was asked for, beside the repository, and record it; nothing is written.

    Raises ExternalServiceError where the index does not tell what was pinned.
    """
    names = in_order(locks, locks.manifest.pick(request.names))
    known = load_record(locks.record)
    _must_be_known(locks, names, request.upgrade)
    done: dict[str, Compiled] = {}
    with overlay(locks.root, locks.folder.relative_to(locks.root).as_posix()) as view:
        for name in names:
            compiled = _compile(locks, name, request, view, done)
            done[name] = compiled
            tell(_told(compiled))
    all_of_them = _locks_after(locks, done)
    record = update_record(known, wanted_by(all_of_them), source)
    return CompilePlan(locks=tuple(done.values()), record=record)


def write_plan(locks: Locks, plan: CompilePlan) -> None:
    """Write locks and record, each whole or not at all."""
    for compiled in plan.locks:
        if not compiled.error and compiled.after != compiled.before:
            write_atomic(locks.path(compiled.name), compiled.after)
    save_record(locks.record, plan.record)


def _compile(
    locks: Locks, name: str, request: CompileRequest, view: Path, done: Mapping[str, Compiled]
) -> Compiled:
    watch = Stopwatch()
    path = locks.path(name)
    compiled = Compiled(
        name=name,
        file=locks.relative(name),
        before=_present(path),
    )
    broken = [
        other for other in sorted(_before(locks, name)) if other in done and done[other].error
    ]
    try:
        if broken:
            message = f"it is made from {broken[0]}, which did not compile"
            raise ConfigError([Problem(file=compiled.file, message=message)])
        text = _resolve(locks, compiled, request, view)
    except GauntletError as error:
        return replace(compiled, error=error, seconds=watch.seconds)
    write_atomic(view / compiled.file, text)
    return replace(compiled, after=text, seconds=watch.seconds)


def _resolve(locks: Locks, compiled: Compiled, request: CompileRequest, view: Path) -> str:
    chosen = request.resolver or locks.manifest.resolver_of(compiled.name)
    resolution = Resolution(
        root=view,
        file=compiled.file,
        spec=locks.manifest.locks[compiled.name],
        python=locks.manifest.python_of(compiled.name),
        present=compiled.before,
        upgrade=request.upgrade,
        upgrade_all=request.upgrade_all,
        find_links=tuple(folder.resolve() for folder in request.find_links),
        offline=request.offline,
    )
    return resolver_for(chosen).resolve(resolution)


def _locks_after(locks: Locks, done: Mapping[str, Compiled]) -> list[LockFile]:
    """All locks of the folder as they will be: what is recorded has to fit to every one."""
    found = []
    for name in locks.manifest.locks:
        if name in done and not done[name].error:
            found.append(parse_lock(done[name].after, file=done[name].file))
        elif locks.path(name).exists():
            found.append(load_lock(locks.path(name), file=locks.relative(name)))
    return found


def _present(path: Path) -> str:
    """Text of the lock as it is, empty where there is none. Raises ConfigError for what is none."""
    if not path.exists():
        return ""
    try:
        text = read_text(path)
        parse_lock(text, file=str(path))
    except ConfigError as error:
        hint = "restore it from git, or remove it: then it is compiled anew"
        raise ConfigError(error.problems, hint=hint) from error
    return text


def _must_be_known(locks: Locks, names: Sequence[str], upgrade: Sequence[str]) -> None:
    """Raise UsageError for a package that none of the locks has: it would be upgraded nowhere."""
    paths = [locks.path(name) for name in names]
    if not upgrade or not all(path.exists() for path in paths):
        return
    known = {pin.name for path in paths for pin in parse_lock(_present(path), file="").pins}
    for package in upgrade:
        if package not in known:
            raise unknown_name("package", package, known)


def _before(locks: Locks, name: str) -> set[str]:
    """Locks that a lock is made from."""
    spec = locks.manifest.locks[name]
    used = {*spec.inputs, *spec.constraints, *spec.overrides, *spec.build_constraints}
    return {other for other in locks.manifest.locks if locks.relative(other) in used}


def _versions(text: str, file: str) -> Mapping[str, str]:
    return parse_lock(text, file=file).versions if text else {}


def _told(compiled: Compiled) -> str:
    end = f"{compiled.seconds:.1f} s"
    return f"{compiled.name}: {'failed' if compiled.error else 'resolved'} in {end}"
