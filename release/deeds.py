"""What follows a deed: it is recorded in the warehouse and told in the chat, once."""

import contextlib
import logging
import string
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self

from pydantic import field_validator

from gauntlet.core.errors import GauntletError
from gauntlet.core.yaml_file import StrictModel
from gauntlet.release.decisions import Outcome, record
from gauntlet.release.folder import ReleaseFolder
from gauntlet.release.state import Release
from gauntlet.release.version import ReleaseVersion
from gauntlet.services.chat.port import Chat, Message
from gauntlet.services.escape import slack
from gauntlet.warehouse.batch import Batch, decision_batch
from gauntlet.warehouse.delivery import deliver
from gauntlet.warehouse.rows.measurement import DecisionRow

_LOGGER = logging.getLogger(__name__)
_WORDS = frozenset({"version", "branch", "commit", "by", "reason", "previous", "picks"})


class Announcements(StrictModel):
    """The section ``announce``: what is told of each deed; empty tells nothing of it."""

    cut: str = "{version} is cut: {branch} at {commit} by {by}. {reason}"
    candidate: str = "{version} is tagged at {commit} by {by}, with {picks} new picks"
    published: str = "{version} is published at {commit} by {by}: {reason}"

    @field_validator("cut", "candidate", "published")
    @classmethod
    def _known_words(cls, text: str) -> str:
        try:
            used = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
        except ValueError as error:
            msg = f"the template is broken: {error}"
            raise ValueError(msg) from error
        if used - _WORDS:
            unknown, known = ", ".join(sorted(used - _WORDS)), ", ".join(sorted(_WORDS))
            msg = f"the template speaks of {unknown}; it may speak of {known}"
            raise ValueError(msg)
        return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Deed:
    """What was done, by whom, and what a template may say of it."""

    version: ReleaseVersion
    outcome: Outcome
    reason: str
    evidence: Mapping[str, Any]
    at: datetime
    by: str
    template: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    told_as: str = ""
    """What the state remembers the announcement by; empty: it is not announced."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Office:
    """Where deeds are recorded and told. ``chat`` connects, and may raise."""

    location: str
    chat: Callable[[], Chat | None]
    announcements: Announcements = field(default_factory=Announcements)
    record: Callable[..., None] = record
    deliver: Callable[[str, list[Batch]], object] = deliver

    def waive(self, row: DecisionRow) -> None:
        """Record a waiver before what it allows is done. Raises what the warehouse refused with."""
        self.deliver(self.location, [decision_batch(row.run_id, "waiver", [row], row.at)])

    def follow(self, folder: ReleaseFolder, state: Release, deed: Deed) -> Release:
        """Record a deed and tell of it where it was not yet; return the state, which is saved.

        The deed is done: what fails here is said and does not undo it. Done again after a kill,
        the record stays one row, and only what was surely not told is told again.
        """
        try:
            self.record(
                self.location,
                deed.version,
                deed.outcome,
                reason=deed.reason,
                evidence=deed.evidence,
                at=deed.at,
                actor=deed.by,
            )
        except GauntletError as error:
            _LOGGER.warning("%s is not recorded yet: %s", deed.version, error.message)
        if not deed.told_as or not deed.template or deed.told_as in state.told:
            return state
        try:
            chat = self.chat()
            if chat is None:
                return state
            with contextlib.closing(chat):
                chat.post(_message(deed))
        except GauntletError as error:
            _LOGGER.warning("%s is not announced: %s", deed.version, error.message)
            return state
        told: Release = _told(state, deed.told_as)
        folder.save(told)
        return told

    @classmethod
    def silent(cls, location: str) -> Self:
        """One that tells nobody."""
        return cls(location=location, chat=lambda: None)


def _told(state: Release, what: str) -> Release:
    return state.model_copy(update={"told": (*state.told, what)})


def _message(deed: Deed) -> Message:
    words = {**dict.fromkeys(_WORDS, ""), **{k: slack(v) for k, v in deed.words.items()}}
    text = deed.template.format_map(words)
    blocks: tuple[dict[str, Any], ...] = (
        {"type": "section", "text": {"type": "mrkdwn", "text": text[:2900]}},
    )
    return Message(key=f"release/{deed.told_as}", text=text, blocks=blocks)
