"""Whether a Dockerfile has the ancestry that lets a test speak for what ships, and no secrets.

Pure: Dockerfiles and the manifest in, findings out, each with file and line.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from gauntlet.core.findings import Finding
from gauntlet.images.dockerfile import Dockerfile, Instruction, Stage, taken_from
from gauntlet.images.model import UPDATE_BASES, Base, Target

# Names of files and variables that carry credentials. What only says where one is mounted does not.
_SECRET_NAME = re.compile(
    r"(?:^|_)(?:TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?|API_?KEY|PRIVATE_KEY|ACCESS_KEY)(?:_|$)",
    re.IGNORECASE,
)
SECRET_FILE = re.compile(
    r"(?:^|/)(?:\.env(?:\.[^/]+)?|id_(?:rsa|dsa|ecdsa|ed25519)|\.netrc|\.pypirc|pip\.conf|\.aws/credentials"
    r"|\.docker/config\.json|\.git-credentials|auth\.json|[^/]+\.(?:p12|pfx|key))$"
)
_CREDENTIALS_IN_URL = re.compile(r"https?://[^/\s:@]+:[^/\s@]+@")
_INDEX_OPTION = re.compile(
    r"--(?:extra-)?index-url|(?:PIP|UV)_(?:EXTRA_)?(?:INDEX_URL|DEFAULT_INDEX)"
)
_CLOCK_LABEL = re.compile(r"BUILD_DATE|BUILD_TIME|\$\(date|BUILD_NUMBER|HOSTNAME", re.IGNORECASE)
_NUMERIC_USER = re.compile(r"(?!0+(?::|$))[0-9]+(?::[0-9]+)?")
_PIP_INSTALL = re.compile(r"\bpip\d?\b.*\binstall\b|\buv\b\s+pip\s+(?:install|sync)\b")
_WITH_FILE = re.compile(r"(?:^|\s)(?:-r|--requirement)(?:\s|=)")
_SECRETS_REMEDY = "mount it: RUN --mount=type=secret,id=NAME"


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One target with its Dockerfile as the target's build sees it."""

    name: str
    target: Target
    dockerfile: Dockerfile
    bases: Mapping[str, tuple[str, Base]]


def check_ancestry(subject: Subject) -> tuple[Finding, ...]:
    """Everything that is wrong with the stages that one target is built of."""
    chain = subject.dockerfile.chain(subject.target.stage)
    if not chain:
        known = ", ".join(stage.name for stage in subject.dockerfile.stages)
        return (
            _finding(
                subject,
                "image-stage",
                0,
                f"no stage {subject.target.stage!r}",
                f"there are: {known}",
            ),
        )
    found = [*_shared(subject, chain), *_user(subject, chain), *_entrypoint(subject, chain)]
    for stage in subject.dockerfile.needed(subject.target.stage):
        found += _base(subject, stage)
        found += _origins(subject, stage)
        for each in stage.instructions:
            found += _instruction(subject, each)
    return tuple(found)


def _finding(subject: Subject, check: str, line: int, message: str, remedy: str) -> Finding:
    where = f"{subject.dockerfile.file}:{line}" if line else subject.dockerfile.file
    return Finding(check=check, subject=where, message=f"{subject.name}: {message}", remedy=remedy)


def _shared(subject: Subject, chain: tuple[Stage, ...]) -> Iterator[Finding]:
    names = [stage.name for stage in chain]
    shares, last = subject.target.shares, chain[-1]
    if shares not in names[:-1]:
        message = f"stage {last.name!r} is not FROM {shares!r}: what is tested is not what ships"
        yield _finding(
            subject, "image-ancestry", last.line, message, f"write: FROM {shares} AS {last.name}"
        )
    if subject.target.kind == "release":
        for stage in chain:
            if stage.name in subject.target.toolchain:
                message = f"it is FROM {stage.name!r}, and ships the toolchain"
                yield _finding(
                    subject,
                    "image-toolchain",
                    stage.line,
                    message,
                    "copy the wheel alone: COPY --from",
                )
        for stage in chain[names.index(shares) + 1 : -1] if shares in names else ():
            message = f"stage {stage.name!r} is between {shares!r} and what ships"
            yield _finding(
                subject,
                "image-ancestry",
                stage.line,
                message,
                f"put it into {shares!r}, so that tests have it too",
            )


def _base(subject: Subject, stage: Stage) -> Iterator[Finding]:
    before = {each.name for each in subject.dockerfile.stages if each.line < stage.line}
    if stage.image in before:
        return
    arg = stage.given.strip("${}")
    if arg in subject.bases and stage.given.startswith("$"):
        name, base = subject.bases[arg]
        if base.digest is None:
            yield _finding(
                subject, "image-base", stage.line, f"base {name!r} has no digest", UPDATE_BASES
            )
        missing = [p for p in subject.target.platforms if p not in base.platforms]
        if missing:
            message = f"base {name!r} is not for {', '.join(missing)}"
            yield _finding(
                subject, "image-base", stage.line, message, "take another base, or fewer platforms"
            )
        return
    message = f"FROM {stage.given} is neither a stage nor a base of this target"
    remedy = "write FROM ${NAME_BASE}, with the base in versions.json and in the target's bases"
    yield _finding(subject, "image-base", stage.line, message, remedy)


def _origins(subject: Subject, stage: Stage) -> Iterator[Finding]:
    """Images that files are taken from by name: nothing pins them."""
    known = {each.name for each in subject.dockerfile.stages if each.line < stage.line}
    numbers = {str(n) for n, each in enumerate(subject.dockerfile.stages) if each.line < stage.line}
    for name in taken_from(stage):
        if name not in known | numbers | subject.target.contexts.keys():
            message = (
                f"files are taken from {name}, which is no stage and no context of this target"
            )
            remedy = "make it a stage: FROM ${NAME_BASE} AS name; or declare the context"
            yield _finding(subject, "image-base", stage.line, message, remedy)


def _user(subject: Subject, chain: tuple[Stage, ...]) -> Iterator[Finding]:
    users = [each for stage in chain for each in stage.all_of("USER")]
    last = users[-1] if users else None
    if last is None or not _NUMERIC_USER.fullmatch(last.rest):
        said = f"USER {last.rest}" if last else "no USER"
        line = last.line if last else chain[-1].line
        message = f"{said}: it must run as a user that is not root, by number"
        yield _finding(subject, "image-user", line, message, "end with: USER 10001:10001")


def _entrypoint(subject: Subject, chain: tuple[Stage, ...]) -> Iterator[Finding]:
    points = [each for stage in chain for each in stage.all_of("ENTRYPOINT")]
    if not points:
        yield _finding(
            subject,
            "image-entrypoint",
            chain[-1].line,
            "no ENTRYPOINT",
            'write: ENTRYPOINT ["program"]',
        )
    elif not points[-1].exec_form:
        message = "ENTRYPOINT is for a shell, which keeps signals from the program"
        yield _finding(
            subject,
            "image-entrypoint",
            points[-1].line,
            message,
            'write: ENTRYPOINT ["program", "word"]',
        )


def _instruction(subject: Subject, each: Instruction) -> Iterator[Finding]:
    for check in _CHECKS.get(each.name, ()):
        for name, message, remedy in check(each):
            yield _finding(subject, name, each.line, message, remedy)


_Said = Iterator[tuple[str, str, str]]


def _variables(each: Instruction) -> _Said:
    for name, value in each.pairs:
        if _SECRET_NAME.search(name):
            yield (
                "image-secret",
                f"{each.name} {name}: it stays in the image for all to read",
                _SECRETS_REMEDY,
            )
        if _CREDENTIALS_IN_URL.search(value):
            yield (
                "image-secret",
                f"{each.name} {name}: an address with a password in it",
                _SECRETS_REMEDY,
            )
        if _INDEX_OPTION.search(name) and value:
            yield (
                "image-index",
                f"{each.name} {name} names a package index",
                "give it as the secret pip.conf",
            )


def _files(each: Instruction) -> _Said:
    for source in each.sources:
        if SECRET_FILE.search(source):
            yield (
                "image-secret",
                f"{each.name} {source} puts a secret into a layer",
                _SECRETS_REMEDY,
            )
        if each.name == "ADD" and re.match(r"(?:https?|git|ssh)://|git@", source):
            yield (
                "image-add",
                f"ADD {source}: nothing says what comes back",
                "fetch it in a RUN that checks its hash",
            )


def _labels(each: Instruction) -> _Said:
    for name, value in each.pairs:
        if _CLOCK_LABEL.search(value) or (name.endswith(".created") and not value):
            message = f"LABEL {name}={value}: another one at every build"
            yield "image-label", message, "leave it to the builder: it gives the commit's time"


def _commands(each: Instruction) -> _Said:
    text = " ".join(each.exec_form) if each.exec_form else each.rest
    for part in re.split(r"&&|;|\|\||\n", text):
        if not _PIP_INSTALL.search(part):
            continue
        if _WITH_FILE.search(part) and "--require-hashes" not in part:
            yield "image-hashes", "a lock is installed without its hashes", "add: --require-hashes"
        elif not _WITH_FILE.search(part) and "--no-index" not in part:
            message = "packages are installed that no lock pins"
            yield "image-hashes", message, "install a lock: --require-hashes --requirement LOCK"
        if _INDEX_OPTION.search(part):
            yield (
                "image-index",
                "the command names a package index",
                "give it as the secret pip.conf",
            )
    if _CREDENTIALS_IN_URL.search(text):
        yield "image-secret", "an address with a password in it", _SECRETS_REMEDY


_CHECKS = {
    "ARG": (_variables,),
    "ENV": (_variables,),
    "COPY": (_files,),
    "ADD": (_files,),
    "LABEL": (_labels,),
    "RUN": (_commands,),
}


def check_head(subject: Subject) -> tuple[Finding, ...]:
    """What is wrong with the arguments above the first FROM."""
    return tuple(found for each in subject.dockerfile.head for found in _instruction(subject, each))


def check_pair(release: Subject, test: Subject) -> tuple[Finding, ...]:
    """Whether a test target is of the very runtime of its release: bases, arguments, stages."""
    found = []
    shared = release.target.shares
    if release.target.bases != test.target.bases:
        found.append(("image-ancestry", "its bases are not those of", "give both the same bases"))
    declared = {
        name
        for stage in release.dockerfile.needed(shared)
        for each in stage.all_of("ARG")
        for name, _ in each.pairs
    }
    for name in sorted(declared):
        ours, theirs = release.target.args.get(name), test.target.args.get(name)
        if ours != theirs:
            said = f"{name} is {theirs!r}, and {ours!r} in"
            found.append(
                ("image-ancestry", said, "give both the same arguments below the shared stage")
            )
    return tuple(
        Finding(check=check, subject=test.name, message=f"{said} {release.name}", remedy=remedy)
        for check, said, remedy in found
    )


def pairs_of(subjects: Mapping[str, Subject]) -> Iterator[tuple[Subject, Subject]]:
    """Release and test targets that belong together: ``NAME`` and ``NAME-test``."""
    for name, subject in subjects.items():
        if subject.target.kind == "release" and f"{name}-test" in subjects:
            yield subject, subjects[f"{name}-test"]
