"""``gauntlet warehouse check``."""

import json
from dataclasses import asdict

import click

from gauntlet.warehouse.location import warehouse_option


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def check(as_json: bool, location: str) -> None:
    """Compare the ledger with the rows and the roll-ups with both; exit 6 where they disagree."""
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.warehouse.checks import check_store
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        findings = check_store(store)
    if as_json:
        click.echo(json.dumps([asdict(each) for each in findings], indent=2))
    else:
        for each in findings:
            click.echo(f"{'ok  ' if each.ok else 'BAD '} {each.name}: {each.detail}")
    bad = [each.name for each in findings if not each.ok]
    if bad:
        raise NotQualifiedError(f"the warehouse is not whole: {', '.join(bad)}")
