"""Check all that can be checked without building: Dockerfiles, bases, the bake file, locks."""

from collections.abc import Iterator
from dataclasses import dataclass

from gauntlet.core.findings import Finding
from gauntlet.images.ancestry import Subject, check_ancestry, check_head, check_pair, pairs_of
from gauntlet.images.bake import render
from gauntlet.images.dockerfile import load_dockerfile
from gauntlet.images.lint import NOT_RUN, find_hadolint, lint
from gauntlet.images.lock_checks import check_locks, load_known
from gauntlet.images.model import BAKE, Images


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What was found, and which checks did not run."""

    findings: tuple[Finding, ...]
    not_run: tuple[str, ...]


def verify(images: Images, targets: tuple[str, ...] = ()) -> Verdict:
    """Check the targets that are asked for; all without any. Raises ConfigError, UsageError."""
    subjects = {name: _subject(images, name) for name in images.manifest.pick(targets)}
    known = load_known(images.root)
    found: list[Finding] = []
    for subject in subjects.values():
        found += [
            *check_head(subject),
            *check_ancestry(subject),
            *check_locks(images, known, subject),
        ]
    for release, test in pairs_of(subjects):
        found += check_pair(release, test)
    found += _bake(images)
    program = find_hadolint()
    if program:
        files = dict.fromkeys(subject.target.dockerfile for subject in subjects.values())
        found += lint(program, images.root, files)
    return Verdict(findings=tuple(dict.fromkeys(found)), not_run=() if program else (NOT_RUN,))


def _subject(images: Images, name: str) -> Subject:
    target = images.manifest.targets[name]
    bases = images.base_of(target)
    # A base without a digest must not look like a stage, nor like nothing.
    args = {
        **target.args,
        **{arg: base.pinned or f"unpinned/{key}" for arg, (key, base) in bases.items()},
    }
    dockerfile = load_dockerfile(images.root / target.dockerfile, args, file=target.dockerfile)
    return Subject(name=name, target=target, dockerfile=dockerfile, bases=bases)


def _bake(images: Images) -> Iterator[Finding]:
    file = images.root / BAKE
    if not file.is_file() or file.read_text(encoding="utf-8") != render(images):
        message = f"it is not what {images.file} says"
        yield Finding(
            check="image-bake", subject=BAKE, message=message, remedy="run: gauntlet images bake"
        )
