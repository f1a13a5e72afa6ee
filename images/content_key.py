"""The key of an image: a hash of all that decides what is in it, and of nothing else.

In it are the instructions of all stages that it takes, the values of their arguments, the digests
of its bases, its platform, and path, mode and bytes of the files that those stages copy, add or
mount. What cannot be known counts as the whole context: too much is built, never too little.
"""

import hashlib
import json
import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from gauntlet.images.dockerfile import Dockerfile, Instruction, Stage, stage_values, substitute
from gauntlet.images.ignore import Ignore, load_ignore, wildcard

_CHUNK = 1 << 20
SHOWN = 16


@dataclass(frozen=True, slots=True)
class ContentKey:
    """The key (sha256 in hex), and in words what it was made of besides the files named."""

    value: str
    files: int
    notes: tuple[str, ...] = ()

    @property
    def tag(self) -> str:
        """The tag under which a registry has the image of this key."""
        return f"key-{self.value[:SHOWN]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyInputs:
    """What one image of one platform is built of.

    ``args`` are those that count, bases left out; ``bases`` are the digests by argument;
    ``contexts`` are folders by name, the main one under an empty name.
    """

    dockerfile: Dockerfile
    stage: str
    platform: str
    args: Mapping[str, str]
    bases: Mapping[str, str]
    contexts: Mapping[str, Path] = field(default_factory=dict)


def content_key(inputs: KeyInputs) -> ContentKey:
    """Compute the key. The same inputs give the same key on every machine."""
    stages = inputs.dockerfile.needed(inputs.stage)
    used: dict[tuple[str, str], list[str]] = {}
    notes: list[str] = []
    described: list[object] = []
    for stage in stages:
        declared = {name for each in stage.all_of("ARG") for name, _ in each.pairs}
        values = stage_values(stage, inputs.dockerfile.head, {**_automatic(inputs), **inputs.args})
        counted = {name: values[name] for name in sorted(declared & values.keys())}
        for arg in inputs.dockerfile.head:
            # Values that stand in a FROM are counted as the digest of the base.
            counted = {
                k: v
                for k, v in counted.items()
                if k not in dict(arg.pairs) or k not in inputs.bases
            }
        lines = [[each.name, each.flags, each.rest] for each in stage.instructions]
        described.append([stage.name, stage.given, counted, lines])
        for each in stage.instructions:
            for context, pattern in _taken(each, stages, inputs, values):
                used.setdefault((context, pattern), []).append(f"line {each.line}")
    digest = hashlib.sha256()
    head = [inputs.stage, inputs.platform, sorted(inputs.bases.items()), described]
    digest.update(json.dumps(head, sort_keys=True).encode())
    files = _files(used, inputs, notes)
    for (context, path), source in sorted(files.items()):
        digest.update(json.dumps([context, path, *_content(source, notes, path)]).encode())
    return ContentKey(digest.hexdigest(), len(files), tuple(dict.fromkeys(notes)))


def _automatic(inputs: KeyInputs) -> dict[str, str]:
    system, _, machine = inputs.platform.partition("/")
    return {"TARGETPLATFORM": inputs.platform, "TARGETOS": system, "TARGETARCH": machine}


def _taken(
    each: Instruction, stages: tuple[Stage, ...], inputs: KeyInputs, values: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Context and pattern of every source of an instruction that is no stage's."""
    own = {stage.name for stage in stages} | {str(n) for n in range(len(inputs.dockerfile.stages))}
    if each.name in ("COPY", "ADD"):
        origin = each.flag("from")
        if origin not in own:
            for source in each.sources:
                yield origin, substitute(source, values)
    elif each.name == "RUN":
        for mount in each.mounts:
            origin = mount.get("from", "")
            if mount["type"] == "bind" and origin not in own:
                source = mount.get("source") or mount.get("src") or "."
                yield origin, substitute(source, values)


def _files(
    used: Mapping[tuple[str, str], list[str]], inputs: KeyInputs, notes: list[str]
) -> dict[tuple[str, str], Path]:
    """Files by context and path. A source that fits nothing takes its whole context in."""
    found: dict[tuple[str, str], Path] = {}
    listings: dict[str, dict[str, Path]] = {}
    for (context, pattern), where in used.items():
        if context not in inputs.contexts:
            # An image by name: what it is, is in the instruction, and a tag may move.
            notes.append(
                f"{where[0]}: {context!r} is no context that is known: only its name counts"
            )
            continue
        if context not in listings:
            listings[context] = _listing(inputs.contexts[context])
        listing = listings[context]
        chosen = _matching(listing, pattern)
        if not chosen:
            notes.append(f"{where[0]}: {pattern!r} fits no file: the whole context counts")
            chosen = listing
        found.update({(context, path): source for path, source in chosen.items()})
    return found


def _listing(folder: Path) -> dict[str, Path]:
    ignore: Ignore = load_ignore(folder)
    found: dict[str, Path] = {}
    for parent, folders, names in os.walk(folder):
        relative = Path(parent).relative_to(folder)
        # A link to a folder is an entry of its own, and is not followed.
        links = [name for name in folders if (Path(parent) / name).is_symlink()]
        folders[:] = [
            name for name in folders if name not in links and not _pruned(ignore, relative / name)
        ]
        for name in [*names, *links]:
            path = (relative / name).as_posix()
            if not ignore.hides(path):
                found[path] = Path(parent) / name
    return found


def _pruned(ignore: Ignore, folder: Path) -> bool:
    # Below a hidden folder a later rule may show something again.
    return ignore.hides(folder.as_posix()) and not any(again for again, _ in ignore.rules)


def _matching(listing: Mapping[str, Path], pattern: str) -> dict[str, Path]:
    clean = PurePosixPath(pattern.lstrip("/")).as_posix()
    if clean == ".":
        return dict(listing)
    fits = wildcard(clean)
    below = wildcard(f"{clean}/**")
    return {p: s for p, s in listing.items() if fits.fullmatch(p) or below.fullmatch(p)}


def _content(source: Path, notes: list[str], path: str) -> tuple[str, str]:
    """Kind with mode, and hash; what cannot be read gives a key that no other build has."""
    try:
        state = source.lstat()
        if stat.S_ISLNK(state.st_mode):
            return "link", str(source.readlink())
        # Checkouts differ in what group and others may do; what git keeps is this bit.
        kind = "program" if state.st_mode & 0o100 else "file"
        digest = hashlib.sha256()
        with source.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                digest.update(chunk)
    except OSError as error:
        notes.append(f"{path} cannot be read ({error.strerror}): it is built")
        return "unread", os.urandom(8).hex()
    return kind, digest.hexdigest()
