"""Source distributions from the Python package index, whole and verified or not at all."""

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from gauntlet.core.clock import Stopwatch
from gauntlet.core.errors import ExternalServiceError, InfrastructureError, UsageError
from gauntlet.core.ids import file_digest
from gauntlet.core.scoped import Scoped
from gauntlet.pipelines.sources import Progress, SourcePin

if TYPE_CHECKING:
    import requests
    from pypi_simple import DistributionPackage

_TIMEOUT_S = (5.0, 30.0)
_RETRIES = 2
_LONGEST_S = 900.0
_LARGEST_BYTES = 1 << 30
_ELSEWHERE = "give a source tree that you have instead: --engine-source DIR (or --definitions DIR)"


def ensure_sdist(
    *,
    name: str,
    version: str,
    store: Path,
    pin: SourcePin | None,
    progress: Progress | None,
    endpoint: str | None,
) -> Path:
    """Return the verified source distribution in ``store``, downloading it where needed.

    Raises UsageError for an unknown name or version, ExternalServiceError for anything that
    the index does wrong.
    """
    target = store / f"{name}-{version}.tar.gz"
    if pin and target.is_file():
        if file_digest(target) == pin.sha256:
            return target
        target.unlink()
    try:
        store.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        msg = f"cannot make the cache folder {store}: {error.strerror}"
        raise InfrastructureError(msg, hint="choose another with --cache-dir") from error
    _download(name, version, target, pin, progress, endpoint)
    return target


def _download(
    name: str,
    version: str,
    target: Path,
    pin: SourcePin | None,
    progress: Progress | None,
    endpoint: str | None,
) -> None:
    import requests
    from pypi_simple import (
        PYPI_SIMPLE_ENDPOINT,
        DigestMismatchError,
        NoSuchProjectError,
        PyPISimple,
    )

    descriptor, made = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
    os.close(descriptor)
    temporary = Path(made)
    try:
        with PyPISimple(endpoint or PYPI_SIMPLE_ENDPOINT) as client:
            _retry(client.s)
            page = client.get_project_page(name, timeout=_TIMEOUT_S)
            package = _choose(page.packages, name, version)
            sha256 = _expected(package, pin)
            size = pin.size if pin else package.size or 0
            client.download_package(
                package,
                temporary,
                timeout=_TIMEOUT_S,
                progress=lambda _total: _Tracker(size, progress),
            )
        _check(temporary, sha256, pin)
        temporary.replace(target)
    except NoSuchProjectError as error:
        msg = f"the package index knows no project {name!r}"
        raise UsageError(msg) from error
    except DigestMismatchError as error:
        msg = f"{name} {version}: the download does not have the index's own hash; removed"
        raise ExternalServiceError(
            msg, hint="try again; if it stays, distrust the index"
        ) from error
    except (requests.RequestException, OSError) as error:
        msg = f"cannot get the source of {name} {version} from the package index: {_why(error)}"
        raise ExternalServiceError(msg, hint=_ELSEWHERE) from error
    finally:
        temporary.unlink(missing_ok=True)


def _retry(session: "requests.Session") -> None:
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    policy = Retry(total=_RETRIES, backoff_factor=0.2, status_forcelist=(502, 503, 504))
    for scheme in ("https://", "http://"):
        session.mount(scheme, HTTPAdapter(max_retries=policy))


def _choose(
    packages: "list[DistributionPackage]", name: str, version: str
) -> "DistributionPackage":
    """Pick the .tar.gz of this version; UsageError names versions that there are."""
    from packaging.version import InvalidVersion, Version

    wanted = Version(version)
    found = {}
    for package in packages:
        if package.package_type != "sdist" or not package.filename.endswith(".tar.gz"):
            continue
        try:
            found[Version(package.version or "")] = package
        except InvalidVersion:
            continue
    if wanted in found:
        return found[wanted]
    if not found:
        msg = f"the package index has no source distribution of {name}"
        raise UsageError(msg)
    newest = sorted(found, reverse=True)
    # Closeness in release order: the neighbours on both sides of where the version would be.
    near = [v for v in newest if v > wanted][-2:] + [v for v in newest if v < wanted][:2]
    msg = f"there is no source distribution of {name} {version}"
    hint = f"nearest: {', '.join(map(str, near))}; latest: {newest[0]}"
    raise UsageError(msg, hint=hint)


def _expected(package: "DistributionPackage", pin: SourcePin | None) -> str:
    announced = package.digests.get("sha256")
    if pin and announced and announced != pin.sha256:
        msg = f"{package.filename}: the index announces sha256 {announced}, known is {pin.sha256}"
        raise ExternalServiceError(msg, hint="the index serves another file under this name")
    expected = pin.sha256 if pin else announced
    if not expected:
        msg = f"{package.filename}: the index gives no sha256, and this version is not pinned"
        raise ExternalServiceError(msg, hint=_ELSEWHERE)
    return str(expected)


def _check(path: Path, sha256: str, pin: SourcePin | None) -> None:
    size = path.stat().st_size
    if pin and size != pin.size:
        msg = f"{pin.name} {pin.version}: got {size} bytes, expected {pin.size}; removed it"
        raise ExternalServiceError(msg, hint="try again; if it stays, distrust the index")
    found = file_digest(path)
    if found != sha256:
        msg = f"the download has sha256 {found}, expected {sha256}; removed it"
        raise ExternalServiceError(msg, hint="try again; if it stays, distrust the index")


def _why(error: BaseException) -> str:
    """Say what went wrong without the address, which may hold a password."""
    import requests

    if isinstance(error, requests.HTTPError) and error.response is not None:
        return f"it answered {error.response.status_code}"
    if isinstance(error, requests.Timeout):
        return "no answer in time"
    if isinstance(error, requests.ConnectionError):
        return "no connection"
    return getattr(error, "strerror", None) or type(error).__name__


class _Tracker(Scoped):
    """Counts bytes for the progress callback and stops a download that exceeds its size."""

    def __init__(self, total: int, progress: Progress | None) -> None:
        self._total = total
        self._watch = Stopwatch()
        self._progress = progress
        self._done = 0

    def close(self) -> None:
        """Nothing is held; the library wants a context manager."""

    def update(self, increment: int) -> None:
        """Add bytes; raise ExternalServiceError where they are too many or come too slowly."""
        self._done += increment
        if self._done > (self._total or _LARGEST_BYTES):
            msg = f"the index sent more than the {self._total or _LARGEST_BYTES} bytes expected"
            raise ExternalServiceError(msg)
        if self._watch.seconds > _LONGEST_S:
            msg = f"the download did not end within {_LONGEST_S:g} s"
            raise ExternalServiceError(msg, hint=_ELSEWHERE)
        if self._progress:
            self._progress(self._done, self._total)
