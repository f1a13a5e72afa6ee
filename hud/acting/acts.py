"""Acts of people as rows of ``decisions``. Pure; what does not fit is refused with a reason."""

import json
import unicodedata
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gauntlet.core.errors import UsageError
from gauntlet.warehouse.rows.measurement import DecisionRow

_LONGEST = 500
_MOST_DAYS = 30

Kind = Literal["annotation", "quarantine", "waiver"]
OUTCOMES: dict[Kind, tuple[str, str]] = {
    "annotation": ("note", "note"),
    "quarantine": ("quarantined", "released"),
    "waiver": ("waived", "withdrawn"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What somebody wants to be on record. ``days`` is how long it holds (annotations: for good).

    ``token`` is one for each form that was shown: the same form sent twice is one act.
    """

    kind: Kind
    subject: str
    reason: str
    actor: str
    token: str
    run_id: str = ""
    days: int | None = None
    undo: bool = False
    owner: str = ""
    covers: tuple[str, ...] = ()
    """Problems that a waiver lets pass; what comes later is another matter."""
    commit: str = ""
    """Of the candidate that a waiver is given for."""

    def row(self, now: datetime) -> DecisionRow:
        """Make the decision's row. Raises UsageError for an empty or too long reason or time."""
        reason = clean(self.reason)
        if not reason:
            msg = f"the {self.kind} needs a reason"
            raise UsageError(msg, hint="say it for those who read it in a month")
        if len(reason) > _LONGEST:
            msg = f"the reason has {len(reason)} characters"
            raise UsageError(msg, hint=f"at most {_LONGEST}; link to the rest")
        return DecisionRow(
            decision_id=f"hud/{self.token}",
            run_id=self.run_id,
            kind=self.kind,
            subject=self.subject,
            outcome=OUTCOMES[self.kind][self.undo],
            blocking=False,
            reason=reason,
            evidence=json.dumps(self._evidence()),
            at=now,
            actor=self.actor,
            mode="act",
            expires_at=self._expires(now),
        )

    def _evidence(self) -> dict[str, object]:
        evidence: dict[str, object] = {"owner": clean(self.owner) or self.actor}
        if self.covers:
            evidence |= {"covers": list(self.covers), "commit": self.commit}
        return evidence

    def _expires(self, now: datetime) -> datetime | None:
        if self.kind == "annotation" or self.undo:
            return None
        if self.days is None or not 1 <= self.days <= _MOST_DAYS:
            msg = f"a {self.kind} holds for 1 to {_MOST_DAYS} days, not {self.days}"
            raise UsageError(msg, hint="what lasts longer needs an owner, not a longer exception")
        return now + timedelta(days=self.days)


def clean(text: str) -> str:
    """One line without control and direction characters, which could make it read otherwise."""
    spaced = " ".join(text.split())
    return "".join(each for each in spaced if unicodedata.category(each) not in ("Cc", "Cf", "Cs"))
