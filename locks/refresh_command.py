"""``gauntlet locks refresh``."""

from pathlib import Path

import click

from gauntlet.locks.options import folder_options
from gauntlet.warehouse.location import warehouse_option

_PATH = click.Path(path_type=Path)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME...]")
@click.option(
    "--package",
    "packages",
    multiple=True,
    metavar="PACKAGE",
    help="Upgrade only this one; repeatable.",
)
@click.option(
    "--remote", default="origin", show_default=True, help="Of git; the branch is pushed to it."
)
@click.option(
    "--base", default="main", show_default=True, metavar="BRANCH", help="What is upgraded."
)
@click.option(
    "--branch", metavar="BRANCH", help="Where upgrades go.  [default: locks/refresh-YYYY-MM-DD]"
)
@click.option(
    "--label",
    "labels",
    multiple=True,
    default=("run-all",),
    show_default=True,
    help="Of the pull request; it starts the full suite.",
)
@click.option("--slug", default="", metavar="OWNER/NAME", help="The repository at the code host.")
@click.option(
    "--mode",
    type=click.Choice(["shadow", "notify", "act"]),
    default="shadow",
    show_default=True,
    help="shadow: only record it; notify: tell the chat; act: push and open, if --switch allows.",
)
@click.option(
    "--channel",
    default="",
    help="Of the chat, for a bot (SLACK_BOT_TOKEN); SLACK_WEBHOOK_URL needs none.",
)
@click.option(
    "--switch",
    type=_PATH,
    metavar="FILE",
    help="With --mode act: acts only while its first word is `on`.",
)
@click.option(
    "--find-links", multiple=True, type=_FOLDER, metavar="DIR", help="A folder of wheels."
)
@click.option("--no-index", is_flag=True, help="Only those folders; no index.")
@click.option("--dry-run", is_flag=True, help="Print the plan; push and record nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
@warehouse_option
def refresh(
    *,
    slug: str,
    channel: str,
    dry_run: bool,
    as_json: bool,
    location: str,
    mode: str,
    **given: object,
) -> None:
    """Put new versions on a branch, and open a draft pull request that says what moved.

    Ends with 3 where nothing is newer.
    """
    import json

    from gauntlet.core.errors import ExitCode
    from gauntlet.locks.refreshing import refreshing
    from gauntlet.services.connect import chat, code_host_if_any
    from gauntlet.services.settings import Chat, Repository

    done = refreshing(
        given,
        mode=mode,
        host=code_host_if_any(Repository(slug=slug)),
        chat=chat(Chat(channel=channel)),
        location=None if dry_run else location,
        tell=lambda line: click.echo(line, err=True),
    )
    click.echo(json.dumps(done.plain(), indent=1) if as_json else "\n".join(done.lines()))
    if done.failed is not None:
        raise done.failed
    if not done.plan.moved:
        click.get_current_context().exit(int(ExitCode.NOTHING_SELECTED))
