"""``gauntlet ingest lm-eval`` and ``bfcl``."""

from pathlib import Path
from typing import Any

import click

from gauntlet.warehouse.ingest.identity_options import identity_options, pairs_of
from gauntlet.warehouse.ingest.outcome import Ingest, Target, files_below, target_options


@click.command("lm-eval")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@identity_options
@target_options
def lm_eval(
    paths: tuple[Path, ...],
    settings: tuple[str, ...],
    target: Target,
    **identity: Any,  # noqa: ANN401
) -> None:
    """Bring in results_*.json of lm-eval, and the samples_*.jsonl of the same run beside it."""
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.results.identity import Identity, UnreadableResultError
    from gauntlet.warehouse.results.lm_eval import lm_eval_batches, samples_beside

    who = Identity(settings=pairs_of(settings, "--set"), **identity)
    ingest = Ingest.to(target)
    for path in files_below(paths, ".json"):
        try:
            batches = lm_eval_batches(
                path.read_bytes(),
                samples_beside(path),
                file=str(path),
                identity=who,
                now=utc_now(),
            )
        except UnreadableResultError as error:
            ingest.refuse(error.message)
            continue
        for batch, reasons in batches:
            ingest.keep_judged(batch, path, reasons)
    ingest.finish()


@click.command()
@click.argument("project", type=click.Path(path_type=Path, exists=True, file_okay=False))
@identity_options
@click.option("--bfcl-version", default="", help="Version of bfcl-eval.")
@click.option("--expected", type=int, help="Cases of a whole category; fewer are partial.")
@target_options
def bfcl(
    project: Path,
    bfcl_version: str,
    expected: int | None,
    settings: tuple[str, ...],
    target: Target,
    **identity: Any,  # noqa: ANN401
) -> None:
    """Bring in a project folder of bfcl-eval: every category that was generated.

    One that was not scored, or whose requests never reached the model, or that no line of could
    be decoded, is kept as invalid: it has no accuracy.
    """
    from gauntlet.core.clock import utc_now
    from gauntlet.warehouse.results.bfcl import bfcl_batch, find_categories
    from gauntlet.warehouse.results.identity import Identity, UnreadableResultError

    who = Identity(settings=pairs_of(settings, "--set"), **identity)
    ingest = Ingest.to(target)
    for category in find_categories(project):
        try:
            batch, reasons = bfcl_batch(
                category, version=bfcl_version, identity=who, expected=expected, now=utc_now()
            )
        except UnreadableResultError as error:
            ingest.refuse(error.message)
            continue
        ingest.keep_judged(batch, category.result, reasons)
    ingest.finish()
