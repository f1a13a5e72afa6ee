"""Images through the program skopeo, which knows every registry's login.

A manifest list is written by copying an index from a made-up layout with nothing else in it:
skopeo sends the bytes as they are, over the same login, to a registry and to a layout alike.
"""

import json
import re
import tempfile
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from gauntlet.core.errors import ExternalServiceError, GauntletError, UsageError
from gauntlet.core.proc import CommandError, Completed, run
from gauntlet.images.oci.manifest import (
    OCI_INDEX,
    ImageConfig,
    IndexEntry,
    Manifest,
    digest_of,
    index_bytes,
)
from gauntlet.images.oci.reference import Place, Reference
from gauntlet.services.limits import Ticker
from gauntlet.services.transport import Patience

_COPY_S = 3600.0
_MANIFEST_BYTES = 16 << 20
# What a registry says, in its own error codes or in words, when there is no such thing. A plain
# 404 for a manifest is not among them: so answers a proxy with no registry behind it.
_ABSENT = re.compile(
    r"manifest unknown|name unknown|MANIFEST_UNKNOWN|NAME_UNKNOWN"
    r"|repository name not known|no descriptor found for reference"
)
_NO_TAGS = re.compile(r"404 \(Not Found\)")
_REFUSED = re.compile(
    r"unauthorized|authentication required|access to the resource is denied"
    r"|invalid username/password|status code from registry 40[13]"
)
# Asked again these give the same: the request, not the line, is what is wrong.
_FINAL = re.compile(
    r"certificate|server gave HTTP response|no such file|not a directory|permission denied"
)
_LOG_LINE = re.compile(r'level=fatal msg="(.*)"$', re.MULTILINE)


class Skopeo:
    """Registries and OCI layouts, over the program ``skopeo``; it finds logins by itself."""

    def __init__(
        self,
        *,
        plain_http: Collection[str] = (),
        patience: Patience | None = None,
        ticker: Ticker | None = None,
    ) -> None:
        """Speak TLS with every registry but those on this machine and in ``plain_http``."""
        self._plain = frozenset(plain_http)
        self._patience = patience or Patience(tries=4)
        self._ticker = ticker or Ticker()

    def manifest(self, reference: Reference) -> Manifest | None:
        """The manifest or index; None where there is none."""
        if reference.layout and not (reference.layout / "index.json").exists():
            return None
        if reference.layout and reference.digest:
            raw = _blob(reference.layout, reference.digest)
        else:
            arguments = ["inspect", "--raw", *self._tls(reference.place), _name(reference)]
            done = self._ask(arguments, str(reference), self._patience.request_s)
            raw = done.stdout.encode(errors="surrogateescape") if done else None
        if raw is None:
            return None
        found = Manifest.parse(raw, of=str(reference))
        if reference.digest and found.digest != reference.digest:
            msg = f"{reference}: there is something else, {found.digest}"
            raise ExternalServiceError(msg, hint="its storage is damaged: do not ship from it")
        return found

    def config(self, reference: Reference) -> ImageConfig:
        """The configuration of one platform's image. Raises UsageError where it is not there."""
        if reference.layout and self.manifest(reference) is None:
            raise _missing(reference)
        with self._named(reference) as (name, options):
            arguments = [
                "inspect",
                "--config",
                "--raw",
                *options,
                *self._tls(reference.place),
                name,
            ]
            done = self._ask(arguments, str(reference), self._patience.request_s)
        if done is None:
            raise _missing(reference)
        return ImageConfig.parse(done.stdout.encode(errors="surrogateescape"), of=str(reference))

    def tags(self, place: Place, repository: str) -> Sequence[str]:
        """Tags of a repository in order; none where there is no such repository."""
        where = f"{place}/{repository}"
        if not place.host:
            layout = Path(place.text.removeprefix("oci:")) / repository
            return tuple(sorted(_layout_tags(layout)))
        arguments = ["list-tags", *self._tls(place), where]
        done = self._ask(arguments, where, self._patience.request_s, absent=_NO_TAGS)
        if done is None:
            return ()
        try:
            return tuple(sorted(map(str, json.loads(done.stdout)["Tags"] or ())))
        except (ValueError, LookupError, TypeError) as error:
            raise ExternalServiceError(f"{where}: tags cannot be read: {error}") from error

    def copy(self, source: Reference, destination: Reference) -> str:
        """Copy an image, or a list with all its images, byte for byte, and return its digest."""
        found = self.manifest(source)
        if found is None:
            raise _missing(source)
        with self._named(source, "src-") as (name, options):
            self._send(["--all", *options], name, source.place, destination)
        self._ensure(destination, found.digest)
        return found.digest

    def write_index(self, destination: Reference, entries: Iterable[IndexEntry]) -> str:
        """Make a list of images that the repository has, tag it, and return its digest."""
        listed = tuple(entries)
        for entry in listed:
            image = destination.place.at(destination.repository, digest=entry.digest)
            if self.manifest(image) is None:
                raise _missing(image)
        raw = index_bytes(listed)
        digest = digest_of(raw)
        with tempfile.TemporaryDirectory(prefix="gauntlet-index-") as folder:
            view = _write_view(Path(folder), OCI_INDEX, digest, len(raw))
            (Path(folder) / "blobs" / "sha256").mkdir(parents=True)
            (Path(folder) / "blobs" / digest.replace(":", "/")).write_bytes(raw)
            self._send(["--multi-arch", "index-only"], view, None, destination)
        self._ensure(destination, digest)
        return digest

    @contextmanager
    def layer_files(self, reference: Reference) -> Iterator[Sequence[Path]]:
        """Files with an image's layers (tar, maybe gzipped), the lowest first, while within."""
        found = self.manifest(reference)
        if found is None:
            raise _missing(reference)
        # Python reads gzip by itself; for all else skopeo takes the compression off.
        odd = any("zstd" in layer.media_type for layer in found.layers)
        with (
            tempfile.TemporaryDirectory(prefix="gauntlet-layers-") as folder,
            self._named(reference, "src-") as (name, options),
        ):
            tls = self._tls(reference.place, "src-")
            arguments = ["copy", "--quiet", *options, *tls, *(["--dest-decompress"] if odd else [])]
            done = self._ask([*arguments, name, f"dir:{folder}"], str(reference), _COPY_S)
            if done is None:
                raise _missing(reference)
            raw = (Path(folder) / "manifest.json").read_bytes()
            layers = Manifest.parse(raw, of=str(reference)).layers
            yield [Path(folder) / layer.digest.removeprefix("sha256:") for layer in layers]

    def _send(
        self, options: Sequence[str], name: str, source: Place | None, destination: Reference
    ) -> None:
        if destination.layout:
            destination.layout.mkdir(parents=True, exist_ok=True)
        tls = [
            *(self._tls(source, "src-") if source else ()),
            *self._tls(destination.place, "dest-"),
        ]
        arguments = ["copy", "--quiet", "--preserve-digests", *options, *tls]
        done = self._ask([*arguments, name, _name(destination)], str(destination), _COPY_S)
        if done is None:
            msg = f"{destination}: a part of what is to be copied is gone"
            raise ExternalServiceError(msg, hint="was something deleted meanwhile? run it again")

    def _ensure(self, destination: Reference, digest: str) -> None:
        """Look at what is there now: a tag that leads elsewhere is found out at once."""
        there = self.manifest(destination)
        if there is None or there.digest != digest:
            msg = f"{destination}: {there.digest if there else 'nothing'} is there, not {digest}"
            raise ExternalServiceError(msg, hint="does another process move this tag?")

    def _ask(
        self,
        arguments: Sequence[str],
        what: str,
        timeout_s: float,
        *,
        absent: re.Pattern[str] = _ABSENT,
    ) -> Completed | None:
        """Run skopeo, again after failures that may pass; None where there is no such thing."""
        said = ""
        for number in range(self._patience.tries):
            if number:
                pause = self._patience.first_pause_s * 2.0 ** (number - 1)
                self._ticker.sleep(min(pause, self._patience.longest_pause_s))
            try:
                done = run(
                    ["skopeo", *arguments],
                    timeout=timeout_s,
                    check=False,
                    errors="surrogateescape",
                    limit=_MANIFEST_BYTES,
                    supervised=arguments[0] == "copy",
                )
            except CommandError as error:
                if error.result is None:
                    raise
                said = f"no answer in {timeout_s:g} s"
                continue
            if done.returncode == 0 and not done.truncated:
                return done
            said = "a manifest of more than 16 MiB" if done.truncated else _said(done.stderr)
            if absent.search(said) or (absent is not _ABSENT and _ABSENT.search(said)):
                return None
            if refusal := _refusal(said, what):
                raise refusal
        msg = f"{what}: {said} ({self._patience.tries} tries)"
        raise ExternalServiceError(msg, hint="run it again later: what is done is not done twice")

    def _tls(self, place: Place, side: str = "") -> list[str]:
        plain = place.is_loopback or place.host in self._plain
        return [f"--{side}tls-verify=false"] if place.host and plain else []

    @contextmanager
    def _named(self, reference: Reference, side: str = "") -> Iterator[tuple[str, list[str]]]:
        """Name for skopeo. A layout's image has none by digest, so a layout is made that has."""
        if not reference.layout or reference.tag:
            yield _name(reference), []
            return
        found = self.manifest(reference)
        if found is None:
            raise _missing(reference)
        with tempfile.TemporaryDirectory(prefix="gauntlet-view-") as folder:
            view = _write_view(Path(folder), found.media_type, found.digest, len(found.raw))
            yield view, [f"--{side}shared-blob-dir={reference.layout / 'blobs'}"]


def _write_view(folder: Path, media_type: str, digest: str, size: int) -> str:
    """Write the head of a layout that names one thing."""
    entry = {
        "mediaType": media_type,
        "digest": digest,
        "size": size,
        "annotations": {"org.opencontainers.image.ref.name": "it"},
    }
    (folder / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')
    (folder / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [entry]}))
    return f"oci:{folder}:it"


def _name(reference: Reference) -> str:
    if reference.layout:
        return f"oci:{reference.layout}:{reference.tag}"
    return str(reference)


def _blob(layout: Path, digest: str) -> bytes | None:
    try:
        return (layout / "blobs" / digest.replace(":", "/")).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def _layout_tags(layout: Path) -> Iterator[str]:
    try:
        index = json.loads((layout / "index.json").read_bytes())
        for entry in index["manifests"]:
            if tag := (entry.get("annotations") or {}).get("org.opencontainers.image.ref.name"):
                yield str(tag)
    except (FileNotFoundError, NotADirectoryError):
        return
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        msg = f"{layout / 'index.json'}: no index of an OCI layout: {error}"
        raise UsageError(msg, hint="build the images again") from error


def _said(stderr: str) -> str:
    """What skopeo gave as its reason, without its time stamps."""
    found = _LOG_LINE.findall(stderr)
    text = found[-1].replace('\\"', '"') if found else stderr.strip()
    return text.encode(errors="surrogateescape").decode(errors="replace")[:600]


def _refusal(said: str, what: str) -> GauntletError | None:
    """The error that no further try changes; None where one may."""
    if _REFUSED.search(said):
        return UsageError(f"{what}: {said}", hint="log in with: skopeo login HOST")
    if "server gave HTTP response" in said:
        hint = "a registry without TLS has to be named in plain_http"
        return UsageError(f"{what}: {said}", hint=hint)
    if _FINAL.search(said):
        return ExternalServiceError(f"{what}: {said}")
    return None


def _missing(reference: Reference) -> UsageError:
    return UsageError(f"{reference}: there is no such image", hint="was it built and pushed?")
