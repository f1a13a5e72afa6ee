"""Where files of packages are: the package index of this machine, or folders."""

import io
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeVar, cast

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from gauntlet.core.errors import ConfigError, ExternalServiceError, Problem
from gauntlet.core.ids import file_digest
from gauntlet.locks.index import Offered
from gauntlet.locks.metadata import read_metadata, sdist_texts, wheel_metadata
from gauntlet.locks.ranges import LARGEST_BYTES, RangedFile

if TYPE_CHECKING:
    import requests
    from pypi_simple import DistributionPackage, PyPISimple

_TIMEOUT_S = (10.0, 60.0)
_RETRIES = 3
_AT_ONCE = 16
_SUFFIXES = (".whl", ".tar.gz", ".zip")
_VARIABLES = ("UV_DEFAULT_INDEX", "UV_INDEX_URL", "PIP_INDEX_URL")
Answer = TypeVar("Answer")


class Folders:
    """Wheels and source distributions in folders, as ``--find-links`` has them."""

    def __init__(self, folders: Sequence[Path]) -> None:
        """List the folders. Raises ConfigError where one is not there."""
        self._paths: dict[str, Path] = {}
        for folder in folders:
            if not folder.is_dir():
                raise ConfigError([Problem(file=str(folder), message="no such folder")])
            self._paths.update({p.name: p for p in folder.iterdir() if p.name.endswith(_SUFFIXES)})

    def files(self, name: str) -> Sequence[Offered]:
        """Every file of a project."""
        found = [path for path in self._paths.values() if _project(path.name) == name]
        return [self._offered(path) for path in sorted(found)]

    def wheel_metadata(self, name: str, file: Offered) -> str:
        """Text of METADATA of a wheel. Raises ConfigError for a broken one."""
        del name
        with self._paths[file.name].open("rb") as stream:
            return _sound(file, lambda: wheel_metadata(stream, file.name))

    def sdist_texts(self, name: str, file: Offered) -> tuple[str, str]:
        """Text of PKG-INFO and of pyproject.toml."""
        del name
        with self._paths[file.name].open("rb") as stream:
            return _sound(file, lambda: sdist_texts(stream, file.name))

    def _offered(self, path: Path) -> Offered:
        requires = ""
        if path.name.endswith(".whl"):
            with path.open("rb") as stream:
                requires = read_metadata(wheel_metadata(stream, path.name)).get(
                    "requires_python", ""
                )
        size = path.stat().st_size
        return Offered(
            name=path.name, sha256=file_digest(path), size=size, requires_python=requires
        )


class PackageIndex:
    """The package index that uv and pip use here; addresses stay in here."""

    def __init__(self, endpoint: str | None = None) -> None:
        """Take an index, by default the one that the environment names."""
        self._client = _client(
            endpoint or next(filter(None, map(os.environ.get, _VARIABLES)), None)
        )
        self._page = cache(self._fetch_page)

    def files(self, name: str) -> Sequence[Offered]:
        """Every file of a project."""
        return [
            Offered(
                name=package.filename,
                sha256=package.digests["sha256"],
                size=package.size or 0,
                released=package.upload_time,
                requires_python=package.requires_python or "",
                yanked=(package.yanked_reason or "no reason given") if package.is_yanked else None,
            )
            for package in self._page(name).values()
            if package.filename.endswith(_SUFFIXES) and "sha256" in package.digests
        ]

    def wheel_metadata(self, name: str, file: Offered) -> str:
        """Text of METADATA: on its own where the index offers it, else out of the wheel."""
        package = self._page(name)[file.name]
        if package.has_metadata:
            get = self._client.get_package_metadata
            return _asked(file.name, lambda: get(package, timeout=_TIMEOUT_S))
        ranged = cast("IO[bytes]", RangedFile(self._get(package), file.size))
        return _asked(file.name, lambda: _sound(file, lambda: wheel_metadata(ranged, file.name)))

    def sdist_texts(self, name: str, file: Offered) -> tuple[str, str]:
        """Text of PKG-INFO and of pyproject.toml, out of the whole file."""
        package = self._page(name)[file.name]
        if file.size > LARGEST_BYTES:
            return "", ""
        data = _asked(file.name, lambda: self._get(package)(0, file.size))
        return _sound(file, lambda: sdist_texts(io.BytesIO(data), file.name))

    def _fetch_page(self, name: str) -> "dict[str, DistributionPackage]":
        from pypi_simple import NoSuchProjectError

        try:
            page = _asked(name, lambda: self._client.get_project_page(name, timeout=_TIMEOUT_S))
        except NoSuchProjectError:
            return {}
        return {package.filename: package for package in page.packages}

    def _get(self, package: "DistributionPackage") -> Callable[[int, int], bytes]:
        """Return what reads bytes ``start`` to ``end`` (exclusive) of a file."""

        def read(start: int, end: int) -> bytes:
            headers = {"Range": f"bytes={start}-{end - 1}", "Accept-Encoding": "identity"}
            answer = self._client.s.get(
                package.url, headers=headers, timeout=_TIMEOUT_S, stream=True
            )
            with answer:
                answer.raise_for_status()
                whole = answer.status_code == 200
                if whole and (package.size or 0) > LARGEST_BYTES:
                    msg = f"the index gives no part of {package.filename}, which is too large"
                    raise ExternalServiceError(msg)
                data = bytes(answer.content)
            return data[start:end] if whole else data

        return read


class Both:
    """Folders, and the index for what is not in them: as uv and pip take ``--find-links``."""

    def __init__(self, folders: Folders, index: PackageIndex) -> None:
        """Ask ``folders`` first."""
        self._folders = folders
        self._index = index

    def files(self, name: str) -> Sequence[Offered]:
        """Files of both; one of the folders hides its namesake of the index."""
        near = self._folders.files(name)
        names = {file.name for file in near}
        return [*near, *(file for file in self._index.files(name) if file.name not in names)]

    def wheel_metadata(self, name: str, file: Offered) -> str:
        """Text of METADATA of a wheel."""
        return self._of(name, file).wheel_metadata(name, file)

    def sdist_texts(self, name: str, file: Offered) -> tuple[str, str]:
        """Text of PKG-INFO and of pyproject.toml."""
        return self._of(name, file).sdist_texts(name, file)

    def _of(self, name: str, file: Offered) -> Folders | PackageIndex:
        return self._folders if file in self._folders.files(name) else self._index


def _client(endpoint: str | None) -> "PyPISimple":
    from pypi_simple import PYPI_SIMPLE_ENDPOINT, PyPISimple
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    client = PyPISimple(endpoint or PYPI_SIMPLE_ENDPOINT)
    policy = Retry(total=_RETRIES, backoff_factor=0.5, status_forcelist=(429, 502, 503, 504))
    for scheme in ("https://", "http://"):
        client.s.mount(scheme, HTTPAdapter(max_retries=policy, pool_maxsize=_AT_ONCE))
    return client


def _asked(what: str, ask: Callable[[], Answer]) -> Answer:
    """Ask the index; raise ExternalServiceError without its address, which may hold a password."""
    import requests

    try:
        return ask()
    except requests.RequestException as error:
        msg = f"the package index does not answer about {what}: {_why(error)}"
        raise ExternalServiceError(msg, hint="try again; what was there is unchanged") from error


def _why(error: "requests.RequestException") -> str:
    if error.response is not None:
        return f"status {error.response.status_code}"
    return type(error).__name__


def _sound(file: Offered, read: Callable[[], Answer]) -> Answer:
    try:
        return read()
    except ValueError as error:
        raise ConfigError([Problem(file=file.name, message=str(error))]) from error


def _project(file: str) -> str:
    try:
        parsed = parse_wheel_filename(file) if file.endswith(".whl") else parse_sdist_filename(file)
    except (InvalidWheelFilename, InvalidSdistFilename):
        return ""
    return canonicalize_name(parsed[0])
