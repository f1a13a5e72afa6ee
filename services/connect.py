"""Connections that settings name: a code host, a chat; None where they name none."""

import logging
import os
from collections.abc import Mapping

from gauntlet.core.errors import UsageError
from gauntlet.services.chat.port import Chat
from gauntlet.services.chat.slack_api import SlackBot, SlackWebhook
from gauntlet.services.codehost.github import GitHub
from gauntlet.services.codehost.port import CodeHost
from gauntlet.services.settings import Chat as ChatSettings
from gauntlet.services.settings import Repository
from gauntlet.services.transport import Service, Transport

_LOGGER = logging.getLogger(__name__)

GITHUB = Service(
    name="GitHub",
    reading="the token needs read access to pull requests and issues of the repository",
    writing="the token needs write access to pull requests, issues and contents of the repository",
    missing="check repository.slug of the policy, and what the token may see",
)
SLACK = Service(
    name="Slack",
    reading="the bot needs the scope chat:write",
    writing="the bot needs the scope chat:write",
    missing="is the webhook still there? make a new one",
)


def code_host(where: Repository, environment: Mapping[str, str] | None = None) -> CodeHost | None:
    """Connect to the repository's host; None where the policy names no repository.

    Raises UsageError where it does, and the token's variable is not set.
    """
    if not where.slug:
        return None
    token = _secret(where.variable, f"the repository {where.slug}", environment)
    transport = Transport(where.api_url, authorization=f"Bearer {token}", service=GITHUB)
    return GitHub(transport, where.slug)


def code_host_if_any(where: Repository) -> CodeHost | None:
    """Connect to the repository's host where it is named and a token is there; else None."""
    try:
        return code_host(where)
    except UsageError as error:
        _LOGGER.warning("%s", error.message)
        return None


def chat(where: ChatSettings, environment: Mapping[str, str] | None = None) -> Chat | None:
    """Connect to the chat; None where the policy names no channel and no webhook is set.

    Raises UsageError where a channel is named, and neither variable is set.
    """
    known = os.environ if environment is None else environment
    if where.channel and known.get(where.variable):
        token = known[where.variable]
        transport = Transport(where.api_url, authorization=f"Bearer {token}", service=SLACK)
        return SlackBot(transport, where.channel)
    if webhook := known.get(where.webhook_variable):
        transport = Transport(webhook, authorization=None, service=SLACK, secret_address=True)
        return SlackWebhook(transport)
    if where.channel:
        msg = f"the policy names the channel {where.channel}, and {where.variable} is not set"
        raise UsageError(msg, hint=f"set it, or {where.webhook_variable}, or leave the channel out")
    return None


def _secret(variable: str, what: str, environment: Mapping[str, str] | None) -> str:
    value = (os.environ if environment is None else environment).get(variable, "")
    if not value:
        msg = f"the policy names {what}, and {variable} is not set"
        raise UsageError(msg, hint=f"export {variable}, or leave it out of the policy")
    return value
