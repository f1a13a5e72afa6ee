"""Slack behind the port: a bot, which edits and has threads, or a webhook, which only posts."""

from gauntlet.core.errors import ExternalServiceError, UsageError
from gauntlet.services.chat.port import Message, Posted
from gauntlet.services.transport import Transport

# Refusals that a person has to mend; anything else may be over at the next try.
_OURS = {
    "invalid_auth": "the token is not valid (any more): make a new one",
    "not_authed": "the token is empty",
    "account_inactive": "the bot was removed from the workspace",
    "token_revoked": "the token was revoked: make a new one",
    "missing_scope": "the bot needs the scope chat:write",
    "channel_not_found": "check the channel's id (it begins with C), and invite the bot",
    "not_in_channel": "invite the bot to the channel",
    "is_archived": "the channel is archived",
}


class SlackBot:
    """One channel over the Web API, with the token of a bot."""

    edits = True

    def __init__(self, transport: Transport, channel: str) -> None:
        self._transport = transport
        self._channel = channel

    def post(self, message: Message, *, thread: Posted | None = None) -> Posted | None:
        """Post a message, in a thread where one is given."""
        sent = _sent(self._channel, message)
        if thread is not None:
            sent["thread_ts"] = thread.stamp
        said = self._call("chat.postMessage", sent)
        return Posted(channel=_text(said, "channel"), stamp=_text(said, "ts"))

    def edit(self, posted: Posted, message: Message) -> bool:
        """Put another text in the place of a message; False where somebody deleted it."""
        sent = {**_sent(posted.channel, message), "ts": posted.stamp}
        return bool(self._call("chat.update", sent, gone="message_not_found"))

    def close(self) -> None:
        """Close connections."""
        self._transport.close()

    def _call(self, method: str, sent: dict[str, object], gone: str = "") -> dict[str, object]:
        """Slack answers 200 to everything; whether it went well stands in ``ok``.

        Returns nothing for the error that is called ``gone``.
        """
        answer = self._transport.send("POST", method, sent)
        said = answer.value
        if not isinstance(said, dict):
            msg = f"{answer.address}: the answer is not understood"
            raise ExternalServiceError(msg, hint="is this the address of Slack's API?")
        if said.get("ok") is not True:
            error = str(said.get("error", "no reason given"))
            if error == gone:
                return {}
            msg = f"{method} to {self._channel}: Slack refuses: {error}"
            if error in _OURS:
                raise UsageError(msg, hint=_OURS[error])
            raise ExternalServiceError(msg)
        return said


class SlackWebhook:
    """One channel over an incoming webhook. Its address is a secret, and never shown."""

    edits = False

    def __init__(self, transport: Transport) -> None:
        """Post over a transport whose address is the webhook's."""
        self._transport = transport

    def post(self, message: Message, *, thread: Posted | None = None) -> Posted | None:
        """Post a message; it cannot be named afterwards."""
        del thread
        self._transport.send("POST", "", {"text": message.text, "blocks": list(message.blocks)})
        return None

    def edit(self, posted: Posted, message: Message) -> bool:
        """Never: what a webhook posted cannot be named, so it is not there to be edited."""
        del posted, message
        return False

    def close(self) -> None:
        """Close connections."""
        self._transport.close()


def _sent(channel: str, message: Message) -> dict[str, object]:
    return {
        "channel": channel,
        "text": message.text,
        "blocks": list(message.blocks),
        # Links are for people; previews of them would bury the message.
        "unfurl_links": False,
        "unfurl_media": False,
    }


def _text(said: dict[str, object], key: str) -> str:
    value = said.get(key)
    if not isinstance(value, str) or not value:
        msg = f"Slack's answer has no {key}"
        raise ExternalServiceError(msg, hint="is this the address of Slack's API?")
    return value
