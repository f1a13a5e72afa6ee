"""``gauntlet ingest rows``: any table, from JSON lines."""

from itertools import islice
from pathlib import Path

import click

from gauntlet.core.errors import unknown_name
from gauntlet.warehouse.ingest.outcome import Ingest, Target, target_options

_ROWS_AT_ONCE = 10_000


@click.command()
@click.argument("table")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--source", default="rows", show_default=True, help="Who made them.")
@target_options
def rows(table: str, file: Path, source: str, target: Target) -> None:
    """Bring in rows of TABLE from a file of JSON lines: queue samples, GPU samples, spans.

    Each line is one object with the columns of docs/reference/warehouse.md; a line that does not
    fit is kept with its reasons.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.row_lines import line_batch
    from gauntlet.warehouse.tables import ROW_MODELS

    if table not in ROW_MODELS:
        raise unknown_name("table", table, ROW_MODELS)
    ingest = Ingest.to(target)
    with file.open("rb") as stream:
        numbered = enumerate(stream, start=1)
        while some := list(islice(numbered, _ROWS_AT_ONCE)):
            batch, reasons = line_batch(
                some, model=ROW_MODELS[table], origin=str(file), source=source, now=utc_now()
            )
            ingest.keep(batch)
            for reason in reasons:
                ingest.refuse(reason, rows=0)
    ingest.finish()
