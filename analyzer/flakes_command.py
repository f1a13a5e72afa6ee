"""``gauntlet flakes``."""

import json
from pathlib import Path
from typing import ClassVar

import click

from gauntlet.analyzer.options import branch_option, json_option
from gauntlet.core.lazy_group import LazyGroup, Table
from gauntlet.warehouse.location import warehouse_option


class _Flakes(LazyGroup):
    table: ClassVar[Table] = {
        "order": (
            "gauntlet.analyzer.flakes_order_command",
            "order",
            "Find the tests after which a test fails.",
        ),
        "propose": (
            "gauntlet.analyzer.flakes_propose_command",
            "propose",
            "Propose issues about the costliest flaky tests.",
        ),
    }


@click.group(cls=_Flakes, invoke_without_command=True)
@branch_option
@click.option(
    "--days", type=click.IntRange(1, 30), default=14, show_default=True, help="How far back."
)
@click.option(
    "--limit",
    type=click.IntRange(1, 20_000),
    default=2000,
    show_default=True,
    help="How many tests at most, those with the most failures.",
)
@click.option(
    "--codeowners",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Suggest owners by this CODEOWNERS file.",
)
@click.option("--all", "everything", is_flag=True, help="Also what failed, but is neither.")
@json_option
@warehouse_option
@click.pass_context
def flakes(
    context: click.Context,
    *,
    branch: str,
    days: int,
    limit: int,
    codeowners: Path | None,
    everything: bool,
    as_json: bool,
    location: str,
) -> None:
    """Show which tests and jobs are broken or flaky, the costliest first.

    A break is failing since a change; a flake fails now and then at a steady rate, or both passed
    and failed on one commit.
    """
    if context.invoked_subcommand is not None:
        return
    from gauntlet.analyzer.flakes.from_store import FlakesRequest, read_flakes
    from gauntlet.analyzer.flakes.layout import flake_lines
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.store import open_store

    request = FlakesRequest(branch=branch, days=days, limit=limit, codeowners=codeowners)
    with open_store(location) as store:
        found = read_flakes(store, request, utc_now())
    if as_json:
        shown = [f for f in found if everything or f.judgement.state in ("broken", "flaky")]
        click.echo(json.dumps([flake.plain() for flake in shown], indent=2))
    else:
        click.echo("\n".join(flake_lines(found, everything=everything)))
