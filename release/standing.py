"""What the folder of releases and the warehouse know of each release; nothing is written."""

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

from gauntlet.core.errors import (
    ExternalServiceError,
    InfrastructureError,
    InvalidMeasurementError,
    UsageError,
)
from gauntlet.release.build.report import artifacts_gate
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.record import recorded
from gauntlet.release.gates.use import Place
from gauntlet.release.picks.window import window_of
from gauntlet.release.state import Candidate
from gauntlet.release.status import CandidateFacts, ReleaseFacts
from gauntlet.release.version import ReleaseVersion
from gauntlet.warehouse.store import Store, open_store

_LOGGER = logging.getLogger(__name__)


def known_releases(releases: Path) -> tuple[ReleaseVersion, ...]:
    """Releases of a folder, the newest first; none where the folder is not there."""
    found = []
    for path in releases.glob("*/release.json"):
        try:
            version = ReleaseVersion.parse(path.parent.name)
        except UsageError as error:
            _LOGGER.warning("%s is left out: %s", path.parent, error.message)
            continue
        found.append(version)
    return tuple(sorted(found, reverse=True))


def read_standing(place: Place, *versions: ReleaseVersion) -> tuple[ReleaseFacts, ...]:
    """Read where releases stand.

    Raises UsageError for a release that was not cut, ConfigError for a damaged file. A warehouse
    that is not there or does not answer leaves gates unknown.
    """
    with contextlib.ExitStack() as stack:
        store, unknown = _store(place.location, stack) if versions else (None, "")
        return tuple(_release(place, version, store, unknown) for version in versions)


def _store(location: str, stack: contextlib.ExitStack) -> tuple[Store | None, str]:
    """The warehouse, or why there is none; one that is not there is not made."""
    if not location.startswith(("http://", "https://")) and not Path(location).is_dir():
        return None, "not evaluated"
    try:
        return stack.enter_context(open_store(location, wait_s=8)), ""
    except (ExternalServiceError, InfrastructureError) as error:
        _LOGGER.warning("the gates are not known: %s", error.message)
        return None, "not known: the warehouse does not answer"


def _release(
    place: Place, version: ReleaseVersion, store: Store | None, unknown: str
) -> ReleaseFacts:
    folder = ReleaseFolder.of(place.releases, version)
    release = folder.load()
    return ReleaseFacts(
        release=release,
        window=window_of(place.policy.schedule, release.cut.at),
        candidates=tuple(_candidates(place, folder, release.candidates, store, unknown)),
    )


def _candidates(
    place: Place,
    folder: ReleaseFolder,
    candidates: tuple[Candidate, ...],
    store: Store | None,
    unknown: str,
) -> Iterator[CandidateFacts]:
    for each in candidates:
        gate = artifacts_gate(folder.candidate(each.name), each, place.matrix)
        found, why = None, unknown
        if store is not None:
            try:
                found = recorded(store, each.name)
            except UsageError:
                why = "not evaluated"
            except InvalidMeasurementError as error:
                why = error.message
        if found is None:
            yield CandidateFacts(candidate=each, artifacts=gate, unknown=why)
        else:
            yield CandidateFacts(candidate=each, artifacts=gate, recorded=found)
