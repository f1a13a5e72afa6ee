"""``gauntlet warehouse init`` and ``migrate``."""

import click

from gauntlet.warehouse.location import warehouse_option


@click.command()
@warehouse_option
def init(location: str) -> None:
    """Make a warehouse, or bring an old one up to date."""
    from gauntlet.warehouse.store import open_store

    with open_store(location) as store:
        newest = max(each.number for each in store.applied())
    click.echo(f"{location}: schema {newest}")


@click.command()
@click.option("--to", "target", type=int, help="Migrate up to this number only.")
@click.option("--dry-run", is_flag=True, help="List what is missing, and apply nothing.")
@warehouse_option
def migrate(target: int | None, dry_run: bool, location: str) -> None:
    """Apply missing migrations and retention rules. Going back is refused."""
    from gauntlet.warehouse.migrations import load_migrations, pending
    from gauntlet.warehouse.store import open_store

    with open_store(location, migrate=False) as store:
        if dry_run:
            for each in pending(load_migrations(), store.applied()):
                click.echo(f"{each.number:04} {each.name}: {len(each.statements)} statements")
            return
        done = store.migrate(target=target)
    click.echo(f"{location}: {'applied ' + ', '.join(map(str, done)) if done else 'up to date'}")
