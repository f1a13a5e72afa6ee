"""What commands that ship share: how a press is put together."""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gauntlet.release.gates.use import Place
    from gauntlet.release.ship.plan import Press
    from gauntlet.release.version import ReleaseVersion


def press_of(
    place: "Place", version: "ReleaseVersion", *, remote: str, staging: str, key: Path | None
) -> "Press":
    """Put together what publishing works with. Raises UsageError where something is not there."""
    from gauntlet.release.build.place import Workshop
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.notes.use import notes_of
    from gauntlet.release.offices import office_of, remote_of
    from gauntlet.release.ship.plan import Press
    from gauntlet.release.ship.signing import signer_of
    from gauntlet.release.version import ReleaseVersion

    folder = ReleaseFolder.of(place.releases, version)
    state = folder.load()
    begun = state.published or state.publishing
    named = ReleaseVersion.parse(begun.candidate) if begun else version
    return Press(
        place=place,
        folder=folder,
        shop=Workshop.of(folder, state.candidate_of(named), place.policy, staging),
        remote=remote_of(place.policy, place.repository, remote),
        office=office_of(place.policy, place.location),
        signer=lambda: signer_of(place.policy.publish, key),
        notes=lambda release, candidate: notes_of(place, release, candidate),
    )
