"""``gauntlet images warm``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import get_args

import click

from gauntlet.images.model import Platform
from gauntlet.images.options import ROOT


@click.command()
@ROOT
@click.option(
    "--platform",
    type=click.Choice(get_args(Platform)),
    default="linux/amd64",
    show_default=True,
    help="Of the machine.",
)
@click.option("--cache", default="", metavar="HOST/PATH", help="Where layers are kept.")
@click.option("--fresh", default="", help="The machine image that was just made: plan the swap.")
@click.option("--present", default="", help="The one in use.")
@click.option("--old", multiple=True, help="Older ones, the newest first.")
@click.option("--json", "as_json", is_flag=True, help="Print data.")
def warm(
    root: Path,
    platform: str,
    cache: str,
    fresh: str,
    present: str,
    old: tuple[str, ...],
    as_json: bool,
) -> None:
    """List what to pull and build on a builder's machine before its image is taken.

    With --fresh it plans the swap instead: what the parameter becomes, which old ones stay.
    """
    from gauntlet.core.errors import UsageError
    from gauntlet.images.model import Images
    from gauntlet.images.warm import plan_warm, swap

    if (present or old) and not fresh:
        raise UsageError("--present and --old belong to --fresh", hint="give --fresh IMAGE")
    images = Images(root)
    if fresh:
        click.echo(json.dumps(swap(images, present, list(old), fresh), indent=2))
        return
    steps = plan_warm(images, platform=platform, cache=cache)
    if as_json:
        click.echo(json.dumps([asdict(step) for step in steps], indent=2))
    else:
        click.echo("\n".join(f"{s.action:11} {s.subject} ({s.reason})" for s in steps))
