"""Where services are, as policies say it; names of variables, never secrets."""

from pydantic import Field

from gauntlet.core.yaml_file import StrictModel


class Repository(StrictModel):
    """Where the engine's code is."""

    slug: str = Field(default="", pattern=r"^$|^[\w.-]+/[\w.-]+$")
    base: str = "main"
    remote: str = "origin"
    api_url: str = "https://api.github.com/"
    variable: str = "GITHUB_TOKEN"
    """The environment variable with the token."""


class Buildkite(StrictModel):
    """The organisation whose agents run the jobs."""

    organization: str = ""
    pipeline: str = ""
    branch: str = "main"
    """Under which builds are made; a pipeline that skips or cancels older builds of a branch
    would end them: then name one of its own."""
    api_url: str = "https://api.buildkite.com/v2/"
    variable: str = "BUILDKITE_API_TOKEN"
    """The environment variable with the token."""


class Chat(StrictModel):
    """Where reports go. A webhook can only post; a bot edits its message and replies in threads."""

    channel: str = ""
    api_url: str = "https://slack.com/api/"
    variable: str = "SLACK_BOT_TOKEN"
    """The environment variable with the token of a bot."""
    webhook_variable: str = "SLACK_WEBHOOK_URL"
    """The environment variable with the address of a webhook; used where there is no bot."""
    hud_url: str = ""
