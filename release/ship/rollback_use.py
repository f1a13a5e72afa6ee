"""What ``release rollback`` does: the plan from the record, and the deed on record."""

from pathlib import Path

from gauntlet.core.clock import utc_now
from gauntlet.core.errors import UsageError
from gauntlet.images.oci import reference
from gauntlet.images.oci.registry import ImageStore
from gauntlet.images.oci.skopeo import Skopeo
from gauntlet.release import decisions
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.gates.use import Place
from gauntlet.release.ship.record import RECORD, read_record
from gauntlet.release.ship.rollback import Rollback, perform_rollback, plan_rollback
from gauntlet.release.state import RolledBack
from gauntlet.release.version import ReleaseVersion


def plan_from_record(
    place: Place, version: ReleaseVersion, back_to: ReleaseVersion | None
) -> tuple[Rollback, ImageStore]:
    """Plan with what the record says of where things are."""
    folder = ReleaseFolder.of(place.releases, version)
    record = read_record(folder.published / "documents" / RECORD)
    if back_to is None:
        if not record.previous:
            msg = f"{version} is the first release: there is none to go back to"
            raise UsageError(msg, hint="--to vX.Y.Z, if there is one after all")
        back_to = ReleaseVersion.parse(record.previous)
    store = Skopeo(plain_http=place.policy.images.plain_http)
    registry = record.registry or f"oci:{folder.public / 'images'}"
    planned = plan_rollback(
        version.final,
        back_to,
        matrix=place.matrix,
        store=store,
        public=reference.Place.parse(registry),
        index=Path(record.index),
    )
    return planned, store


def take_back(place: Place, plan: Rollback, store: ImageStore, *, by: str) -> None:
    """Take a release back, alone, and record who did."""
    folder, now = ReleaseFolder.of(place.releases, plan.version), utc_now()
    with folder.held():
        perform_rollback(plan, store)
        done = RolledBack(back_to=plan.back_to.tag, by=by, at=now)
        folder.save(folder.load().model_copy(update={"rolled_back": done}))
    decisions.record(
        place.location,
        plan.version,
        "rolled-back",
        reason=f"{plan.version} to {plan.back_to}",
        evidence=plan.plain(),
        at=now,
        actor=by,
    )
