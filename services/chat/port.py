"""What is asked of a chat: a port, which Slack serves, and tests serve from memory."""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message: blocks, and the text that notifications show. ``key`` is its thread's."""

    key: str
    text: str
    blocks: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Where a message is: its channel, and the stamp that names it there."""

    channel: str
    stamp: str


class Chat(Protocol):
    """One channel.

    Every method raises ExternalServiceError where the chat does not answer as it should, and
    UsageError where it refuses the token or the channel.
    """

    edits: bool
    """Whether messages can be edited and have threads."""

    def post(self, message: Message, *, thread: Posted | None = None) -> Posted | None:
        """Post a message, in a thread where one is given; None where it cannot be named."""

    def edit(self, posted: Posted, message: Message) -> bool:
        """Put another text in the place of a message; False where that is not there any more."""

    def close(self) -> object:
        """Close connections. Safe to call again."""
