"""Deliver a report once: a message that is there is edited, a thread that is there goes on."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gauntlet.analyzer.reports.model import Report
from gauntlet.analyzer.reports.slack import night_message, thread_messages
from gauntlet.services.chat.port import Chat, Message, Posted


@dataclass(slots=True)
class Board:
    """What hangs in a chat for one night: the message, its threads, and what each said last."""

    main: Posted | None = None
    threads: dict[str, Posted] = field(default_factory=dict)
    said: dict[str, str] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        """Plain data, to be kept."""
        return {
            "main": _plain(self.main),
            "threads": {key: _plain(posted) for key, posted in self.threads.items()},
            "said": dict(self.said),
        }

    @classmethod
    def of(cls, value: Mapping[str, Any]) -> "Board":
        """Read what was kept."""
        return cls(
            main=_posted(value.get("main")),
            threads={
                key: posted
                for key, given in value.get("threads", {}).items()
                if (posted := _posted(given)) is not None
            },
            said=dict(value.get("said", {})),
        )


def deliver_report(report: Report, chat: Chat, board: Board) -> int:
    """Bring a chat up to date; return how many messages were posted or edited.

    ``board`` is changed as messages go out, so that whoever keeps it after an error loses nothing
    and posts nothing twice. What somebody deleted is posted again once there is news of it. Without
    edits a changed report is posted again, an equal one is not.
    """
    message = night_message(report)
    sent = 0
    if _news(board, message):
        if board.main is None or not chat.edits or not chat.edit(board.main, message):
            board.main = chat.post(message)
        _note(board, message)
        sent += 1
    if not chat.edits:
        return sent
    for each in thread_messages(report):
        if not _news(board, each):
            continue
        known = board.threads.get(each.key)
        if known is None or not chat.edit(known, each):
            posted = chat.post(each, thread=board.main)
            if posted is not None:
                board.threads[each.key] = posted
        _note(board, each)
        sent += 1
    return sent


def _news(board: Board, message: Message) -> bool:
    return board.said.get(message.key) != _digest(message)


def _note(board: Board, message: Message) -> None:
    board.said[message.key] = _digest(message)


def _digest(message: Message) -> str:
    text = json.dumps([message.text, *message.blocks], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _plain(posted: Posted | None) -> dict[str, str] | None:
    return None if posted is None else {"channel": posted.channel, "stamp": posted.stamp}


def _posted(value: Mapping[str, str] | None) -> Posted | None:
    return Posted(channel=value["channel"], stamp=value["stamp"]) if value else None
