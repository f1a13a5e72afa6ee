"""``gauntlet ingest status`` and ``replay``."""

import json

import click

from gauntlet.warehouse.ingest.outcome import Ingest, Target
from gauntlet.warehouse.location import spool_folder, warehouse_option


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def status(location: str, as_json: bool) -> None:
    """Show what waits in the spool and what is in quarantine, with the reasons."""
    from gauntlet.warehouse.spool import Spool

    spool = Spool(spool_folder(location))
    waiting = [str(parcel.path) for parcel in spool.pending()]
    refused = [{"file": str(path), "reason": reason} for path, reason in spool.set_asides()]
    if as_json:
        report = {"spool": str(spool.folder), "waiting": waiting, "quarantined": refused}
        click.echo(json.dumps(report | {"rows": spool.rows()}, indent=2))
        return
    click.echo(f"{spool.folder}: {len(waiting)} parcels wait, {spool.rows():,} rows")
    for each in refused:
        click.echo(f"in quarantine: {each['file']}\n  {each['reason']}")


@click.command()
@click.option("--quarantined", is_flag=True, help="Try what is in quarantine again, too.")
@click.option("--dry-run", is_flag=True, help="List what waits, and ship nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@warehouse_option
def replay(quarantined: bool, dry_run: bool, as_json: bool, location: str) -> None:
    """Ship what an earlier command could not."""
    from gauntlet.warehouse.spool import Spool

    spool = Spool(spool_folder(location))
    if dry_run:
        for parcel in spool.pending():
            click.echo(parcel.path)
        return
    if quarantined:
        spool.release()
    ingest = Ingest.to(Target(location=location, dry_run=False, as_json=as_json))
    ingest.accepted = spool.rows()
    ingest.finish()
