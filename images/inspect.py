"""Check one image that was built: how it starts, what it says of itself, what is in its layers."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from packaging.utils import canonicalize_name

from gauntlet.core.findings import Finding
from gauntlet.images.ancestry import SECRET_FILE
from gauntlet.images.model import Images, Target
from gauntlet.images.oci.layers import read_files
from gauntlet.images.oci.manifest import ImageConfig
from gauntlet.images.oci.reference import Reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.locks.lock_file import load_lock

LABELS = tuple(
    f"org.opencontainers.image.{name}" for name in ("title", "revision", "source", "created")
)
_DIST_INFO = re.compile(r"(?P<name>[^/]+)-(?P<version>[^/-]+)\.dist-info/METADATA")
_SITE = re.compile(r"lib/python3\.\d+/site-packages/")
# Credentials of the base image's own package manager, and test data, are none of ours.
_NOT_OURS = re.compile(r"(?:^|/)(?:usr/share|usr/lib|var/lib/dpkg|proc|sys)/|/tests?/")


def inspect(
    store: ImageStore, images: Images, name: str, image: Reference, *, platform: str = ""
) -> tuple[Finding, ...]:
    """Check an image against its target. Raises UsageError where it is not there."""
    target = images.manifest.targets[name]
    config = store.config(image)
    found = [*_config(name, target, config, platform)]

    def concerns(path: str) -> bool:
        return bool(SECRET_FILE.search(path)) or path.endswith(".dist-info/METADATA")

    with store.layer_files(image) as layers:
        files = read_files(layers, concerns, lambda _path: False)
    found += _secrets(name, files.hashes)
    found += compare_installed(
        name,
        installed_in(files.hashes, target.environment),
        _locked(images, target),
        (*target.packages, *target.unlocked),
    )
    return tuple(found)


def _config(name: str, target: Target, config: ImageConfig, platform: str) -> Iterator[Finding]:
    user = config.user.partition(":")[0]
    if not user.isdigit() or int(user) == 0:
        yield _finding(
            "image-user",
            name,
            f"it runs as {config.user or 'root'!r}",
            "end with: USER 10001:10001",
        )
    for label in LABELS:
        if not config.labels.get(label):
            yield _finding(
                "image-label",
                name,
                f"label {label} is missing",
                "build it with: gauntlet images build",
            )
    if not config.entrypoint:
        yield _finding("image-entrypoint", name, "it has no entry point", "write: ENTRYPOINT [...]")
    elif config.entrypoint[:2] == ("/bin/sh", "-c"):
        yield _finding(
            "image-entrypoint", name, "its entry point is a shell", "write it as a JSON list"
        )
    allowed = (platform,) if platform else target.platforms
    if config.platform not in allowed:
        yield _finding(
            "image-platform",
            name,
            f"it is for {config.platform}, not {' or '.join(allowed)}",
            "build it on a base of that platform",
        )
    if secret := [key for key in config.environment if re.search(r"TOKEN|SECRET|PASSWORD", key)]:
        yield _finding(
            "image-secret", name, f"variable {secret[0]} is set in it", "mount it as a secret"
        )


def _secrets(name: str, files: Mapping[str, str]) -> Iterator[Finding]:
    for path in sorted(files):
        if SECRET_FILE.search(path) and not _NOT_OURS.search(path):
            yield _finding(
                "image-secret",
                name,
                f"{path} is in a layer",
                "mount it: RUN --mount=type=secret,id=NAME",
            )


def installed_in(files: Mapping[str, str], environment: str) -> dict[str, str]:
    """Versions by canonical name of what is installed below a folder of the image."""
    found: dict[str, str] = {}
    prefix = environment.strip("/") + "/"
    for path in files:
        if path.startswith(prefix) and (site := _SITE.match(path[len(prefix) :])):
            rest = path[len(prefix) + site.end() :]
            if match := _DIST_INFO.fullmatch(rest):
                found[canonicalize_name(match["name"])] = match["version"]
    return found


def compare_installed(
    name: str,
    installed: Mapping[str, str],
    locked: Mapping[str, frozenset[str]],
    own: tuple[str, ...],
) -> Iterator[Finding]:
    """What an image has installed against its locks; ``locked`` has all versions of a name."""
    remedy = "build it again; if that changes nothing, the Dockerfile installs what no lock pins"
    for package in own:
        if package not in installed:
            yield _finding("image-installed", name, f"{package} itself is not installed", remedy)
    for package in sorted(installed.keys() - locked.keys() - set(own)):
        yield _finding(
            "image-installed", name, f"{package} {installed[package]} is in no lock", remedy
        )
    for package in sorted(locked):
        version = installed.get(package)
        if version is not None and version not in locked[package]:
            wanted = " or ".join(sorted(locked[package]))
            yield _finding(
                "image-installed", name, f"{package} is {version}, and {wanted} is locked", remedy
            )
        elif version is None and package not in own and "" not in locked[package]:
            wanted = " or ".join(sorted(locked[package]))
            yield _finding(
                "image-installed", name, f"{package} {wanted} is locked and not installed", remedy
            )


def _locked(images: Images, target: Target) -> dict[str, frozenset[str]]:
    """Versions by name; an empty one beside them where a marker may leave the package out."""
    found: dict[str, frozenset[str]] = {}
    for lock in target.locks:
        file = Path("lockfiles") / f"{lock}.txt"
        for pin in load_lock(images.root / file, file=str(file)).pins:
            more = {pin.version, ""} if pin.marker else {pin.version}
            found[pin.name] = found.get(pin.name, frozenset()) | more
    return found


def _finding(check: str, name: str, message: str, remedy: str) -> Finding:
    return Finding(check=check, subject=name, message=message, remedy=remedy)
