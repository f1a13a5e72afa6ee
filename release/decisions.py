"""What was done about a release, as append-only decisions of the warehouse."""

from datetime import datetime
from typing import Literal

from gauntlet.release.version import ReleaseVersion
from gauntlet.warehouse.batch import decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow

Outcome = Literal["cut", "picked", "candidate", "built", "published", "rolled-back"]


def record(
    location: str,
    version: ReleaseVersion,
    outcome: Outcome,
    *,
    reason: str,
    evidence: object,
    at: datetime,
    actor: str,
) -> None:
    """Record one deed, under the subject ``release/v1.2.3``; recorded again it stays one row.

    What cannot be delivered now waits in the spool.
    """
    row = DecisionRow.of(
        "",
        "release",
        f"release/{version.final.tag}",
        outcome,
        reason=reason,
        evidence=evidence,
        at=at,
        blocking=False,
    )
    # Deeds are dated to the second, and two may be done in one.
    name = f"release/{version.tag}/{outcome}"
    row = row.model_copy(update={"actor": actor, "decision_id": f"{name}/{at:%Y%m%dT%H%M%S%f}"})
    deliver(location, [decision_batch(name, "deed", [row], at)])
