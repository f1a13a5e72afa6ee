"""``gauntlet flakes order``."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from gauntlet.analyzer.options import json_option


@click.command()
@click.argument("nodeid")
@click.argument("command", nargs=-1, type=click.UNPROCESSED)
@click.option(
    "--suite",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    required=True,
    help="File with the ids of the suite in its order, one a line (pytest --collect-only -q).",
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    help="Where to run it.  [default: here]",
)
@click.option("--repeats", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option("--budget-runs", type=click.IntRange(2, 10_000), default=100, show_default=True)
@click.option(
    "--timeout", type=click.FloatRange(1), default=1800, show_default=True, help="Of one run, in s."
)
@json_option
def order(
    *,
    nodeid: str,
    command: tuple[str, ...],
    suite: Path,
    folder: Path,
    repeats: int,
    budget_runs: int,
    timeout: float,
    as_json: bool,
) -> None:
    """Find the tests after which NODEID fails (or without which it does).

    COMMAND after ``--`` is how pytest is started there: python -m pytest, where none is given.
    """
    from gauntlet.analyzer.flakes.order import probe_order
    from gauntlet.analyzer.flakes.order_pytest import PytestRunner, read_suite

    runner = PytestRunner(
        command=command or ("python", "-m", "pytest"), folder=folder, timeout=timeout
    )
    found = probe_order(nodeid, read_suite(suite), runner, repeats=repeats, budget=budget_runs)
    if as_json:
        click.echo(json.dumps(asdict(found), indent=2))
        return
    rest = "" if found.complete else "; the budget ended before it was as small as it can be"
    click.echo(f"{found.kind}: {nodeid} {found.reason} ({found.runs} runs{rest})")
    click.echo("".join(f"  {name}\n" for name in found.cause), nl=False)
