"""``gauntlet flakes propose``."""

import json
from pathlib import Path

import click

from gauntlet.analyzer.options import branch_option, json_option
from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option(
    "--policy",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="What may be done, where and how often; without it proposals are only written down.",
)
@branch_option
@click.option(
    "--days", type=click.IntRange(1, 30), default=14, show_default=True, help="How far back."
)
@click.option(
    "--codeowners",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Suggest owners by this CODEOWNERS file.",
)
@click.option("--dry-run", is_flag=True, help="Print the issues; open and record nothing.")
@json_option
@warehouse_option
def propose(
    *,
    policy: Path | None,
    branch: str,
    days: int,
    codeowners: Path | None,
    dry_run: bool,
    as_json: bool,
    location: str,
) -> None:
    """Propose issues about the costliest flaky tests: one for each cause, never twice.

    In mode act of the policy they are opened at the code host, a few a day.
    """
    from gauntlet.analyzer.acting.policy import load_policy
    from gauntlet.analyzer.flakes.from_store import FlakesRequest
    from gauntlet.analyzer.flakes_propose import propose_from_store
    from gauntlet.services.connect import code_host_if_any

    request = FlakesRequest(branch=branch, days=days, codeowners=codeowners)
    loaded = load_policy(policy)
    found = propose_from_store(
        location, request, loaded, code_host_if_any(loaded.repository), dry_run=dry_run
    )
    click.echo(json.dumps(found.plain(), indent=2) if as_json else "\n".join(found.lines()))
