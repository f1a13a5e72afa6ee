"""``gauntlet classify``."""

from pathlib import Path

import click

from gauntlet.analyzer.options import json_option
from gauntlet.warehouse.location import warehouse_option

_STDIN = Path("-")


@click.command()
@click.argument("logs", nargs=-1, type=click.Path(path_type=Path, dir_okay=False, allow_dash=True))
@click.option("--exit-status", type=click.IntRange(-1, 255), help="Exit status of the job.")
@click.option("--signal", default="", help="Signal that ended it, such as SIGKILL.")
@click.option("--signal-reason", default="", help="Buildkite's reason, such as agent_lost.")
@click.option("--state", default="", help="Buildkite's state of the job, such as timed_out.")
@click.option("--soft-failed", is_flag=True, help="The job may fail without failing its build.")
@click.option(
    "--rules",
    "rules_folder",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of rules of your own (*.yaml), which come first.",
)
@click.option(
    "--green",
    multiple=True,
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="A log that passed, or a file made by --save-green; repeatable.",
)
@click.option(
    "--save-green",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Keep what was learnt from --green in this JSON file.",
)
@click.option(
    "--adviser",
    "adviser_url",
    envvar="GAUNTLET_ADVISER",
    metavar="URL",
    help="Chat completions endpoint (.../v1) asked about what stays unknown; decides nothing."
    "  [default: none]",
)
@click.option("--adviser-model", default="default", show_default=True, help="Model to ask for.")
@click.option("--check-rules", is_flag=True, help="Check the rules, and read no log.")
@click.option("--stored", is_flag=True, help="Classify failed attempts of the warehouse instead.")
@click.option(
    "--since-days",
    type=click.IntRange(1, 400),
    default=7,
    show_default=True,
    help="With --stored: how far back.",
)
@click.option("--dry-run", is_flag=True, help="With --stored: print, but write nothing.")
@json_option
@warehouse_option
def classify(
    *,
    logs: tuple[Path, ...],
    exit_status: int | None,
    signal: str,
    signal_reason: str,
    state: str,
    soft_failed: bool,
    rules_folder: Path | None,
    green: tuple[Path, ...],
    save_green: Path | None,
    adviser_url: str | None,
    adviser_model: str,
    check_rules: bool,
    stored: bool,
    since_days: int,
    dry_run: bool,
    as_json: bool,
    location: str,
) -> None:
    """Say what failed in logs (plain or .gz; - is stdin), and whether to run it again.

    With --json one object per log, each on a line of its own.
    """
    from gauntlet.analyzer.failures import use
    from gauntlet.analyzer.failures.model import Circumstances

    use.check_arguments(
        len(logs), stored=stored, check_rules=check_rules, saving=save_green is not None
    )
    rules = use.rules_of(rules_folder)
    if check_rules:
        click.echo(use.checked(rules))
        return
    templates = use.templates_of(green, save_green)
    circumstances = Circumstances(
        state=state,
        exit_status=exit_status,
        signal=signal,
        signal_reason=signal_reason,
        soft_failed=soft_failed,
    )
    if stored:
        from gauntlet.analyzer.failures.stored import StoredRequest, classify_stored

        request = StoredRequest(location=location, days=since_days, dry_run=dry_run)
        for each in classify_stored(request, rules):
            click.echo(use.shown(each.log, each.told, as_json=as_json))
        return
    adviser = use.adviser_of(adviser_url, adviser_model)
    for log in logs:
        told = use.classify_log(log, circumstances, rules, templates, adviser)
        click.echo(use.shown(str(log), told, as_json=as_json))
