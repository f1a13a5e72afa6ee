"""Whether the locks of an image hold together: there, for its platforms, without the engine itself.

What is tested is the runtime of what ships only if nothing that is installed over it changes it.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from packaging.utils import canonicalize_name

from gauntlet.core.findings import Finding
from gauntlet.images.ancestry import Subject
from gauntlet.images.model import Images
from gauntlet.locks.lock_file import LockFile, load_lock
from gauntlet.locks.manifest import FILE, Locks, LocksManifest

FOLDER = "lockfiles"


def load_known(root: Path) -> LocksManifest | None:
    """Read what a repository says of its locks; None where it says nothing. Raises ConfigError."""
    return Locks(root).manifest if (root / FILE).is_file() else None


def check_locks(images: Images, known: LocksManifest | None, subject: Subject) -> Iterator[Finding]:
    """Check every lock that a target installs. Raises ConfigError where one is no lock."""
    target = subject.target
    names = tuple(dict.fromkeys((target.locks[0], *target.over_runtime)))
    locks: dict[str, LockFile] = {}
    for name in names:
        file = f"{FOLDER}/{name}.txt"
        if known is not None and name not in known.locks:
            yield _unknown(images, known, subject, name)
        elif not (images.root / file).is_file():
            message = f"{subject.name} installs {file}, which is not there"
            yield _finding(images, "image-lock", message, f"run: gauntlet locks compile {name}")
        else:
            locks[name] = load_lock(images.root / file, file=file)
            yield from _platforms(images, known, subject, name)
            yield from _sdists(images, known, subject, name)
    yield from _has_engine(images, subject, locks)
    yield from _changes_runtime(images, subject, locks)


def _unknown(images: Images, known: LocksManifest, subject: Subject, name: str) -> Finding:
    near = get_close_matches(name, known.locks, n=1)
    remedy = f"did you mean {near[0]!r}? " if near else ""
    return _finding(
        images,
        "image-lock",
        f"{subject.name} installs the lock {name!r}, which {FILE} does not know",
        f"{remedy}there are: {', '.join(known.locks)}",
    )


def _platforms(
    images: Images, known: LocksManifest | None, subject: Subject, name: str
) -> Iterator[Finding]:
    if known is None:
        return
    spec = known.locks[name]
    missing = [each for each in subject.target.platforms if each not in spec.platforms]
    if missing:
        message = f"{subject.name} is for {', '.join(missing)}, and its lock {name!r} is not"
        remedy = f"add the platform to {name} in {FILE}, or give the platform a lock and a target"
        yield _finding(images, "lock-platform", message, remedy)


def _sdists(
    images: Images, known: LocksManifest | None, subject: Subject, name: str
) -> Iterator[Finding]:
    """Source is built in an environment that the lock does not reach: a constraint has to."""
    if known is None or not known.locks[name].sdists:
        return
    chain = subject.dockerfile.chain(subject.target.stage)
    runs = [run.rest for stage in chain for run in stage.all_of("RUN")]
    if not any("--build-constraint" in run and "install" in run for run in runs):
        built = ", ".join(known.locks[name].sdists)
        message = f"{subject.name} builds {built} of {FOLDER}/{name}.txt with whatever is newest"
        constraints = ", ".join(known.locks[name].build_constraints) or "a file of constraints"
        remedy = f"mount {constraints} and give it to pip as --build-constraint"
        yield _finding(images, "sdist-covered", message, remedy)


def _has_engine(
    images: Images, subject: Subject, locks: Mapping[str, LockFile]
) -> Iterator[Finding]:
    own = {canonicalize_name(package) for package in subject.target.packages}
    for name, lock in locks.items():
        for package in sorted(own & lock.by_name.keys()):
            message = (
                f"{subject.name} builds {package}, and {lock.file}"
                f" pins {package} {lock.versions[package]}: the published one may stay"
            )
            remedy = f"lock what {package} requires instead of it: see inputs of {name} in {FILE}"
            yield _finding(images, "lock-has-engine", message, remedy)


def _changes_runtime(
    images: Images, subject: Subject, locks: Mapping[str, LockFile]
) -> Iterator[Finding]:
    first = subject.target.locks[0]
    if first not in locks:
        return
    runtime = locks[first]
    for name in subject.target.over_runtime:
        if name not in locks or name == first:
            continue
        lock = locks[name]
        for package in sorted(lock.by_name.keys() & runtime.by_name.keys()):
            before = {pin.version for pin in runtime.by_name[package]}
            if not {pin.version for pin in lock.by_name[package]} <= before:
                message = (
                    f"{subject.name} installs {package} {lock.versions[package]} of {lock.file}"
                    f" over {runtime.versions[package]} of {runtime.file}"
                )
                remedy = f"give {name} in {FILE}: constraints: [{runtime.file}]"
                yield _finding(images, "test-changes-runtime", message, remedy)


def _finding(images: Images, check: str, message: str, remedy: str) -> Finding:
    return Finding(check=check, subject=images.file, message=message, remedy=remedy)
