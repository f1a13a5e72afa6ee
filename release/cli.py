"""``gauntlet release`` (also ``release``): evaluate gates over recorded verdicts."""

import json
from dataclasses import asdict

import click

from gauntlet.warehouse.location import warehouse_option


@click.group()
def release() -> None:
    """Evaluate release gates."""


@release.command()
@click.argument("run_id")
@click.option("--policy", default="qualification", show_default=True, help="Name or .yaml file.")
@click.option("--dry-run", is_flag=True, help="Evaluate, but record nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def gate(run_id: str, policy: str, dry_run: bool, as_json: bool, location: str) -> None:
    """Evaluate the gates of a policy on one run; exit 6 where one does not pass."""
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.release.gates import evaluate, gate_rows
    from gauntlet.release.policy import load_policy
    from gauntlet.warehouse.batch import decision_batch
    from gauntlet.warehouse.delivery import deliver
    from gauntlet.warehouse.store import open_store

    rules = load_policy(policy)
    with open_store(location) as store:
        result = evaluate(rules, store.query("run_decisions", run_id=run_id))
    if not dry_run:
        now = utc_now()
        deliver(location, [decision_batch(run_id, "gates", gate_rows(run_id, result, now), now)])
    if as_json:
        click.echo(
            json.dumps({"outcome": result.outcome, "gates": [asdict(g) for g in result.gates]})
        )
    else:
        for each in result.gates:
            click.echo(f"{each.state:13} {each.name}")
            for reason in each.reasons:
                click.echo(f"              {reason}")
        click.echo(result.outcome)
    if not result.qualified:
        raise NotQualifiedError(f"run {run_id} is not qualified")
