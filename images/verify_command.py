"""``gauntlet images verify``."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from gauntlet.images.options import ROOT


@click.command()
@click.argument("targets", nargs=-1)
@ROOT
@click.option(
    "--image", default="", metavar="PLACE/REPOSITORY:TAG", help="A built image of the one target."
)
@click.option("--platform", default="", help="The platform that the image has to be for.")
@click.option("--json", "as_json", is_flag=True, help="Print data.")
def verify(targets: tuple[str, ...], root: Path, image: str, platform: str, as_json: bool) -> None:
    """Check Dockerfiles, bases, locks and the bake file; with --image a built image.

    Ends with 6 where something is wrong.
    """
    from gauntlet.core.errors import NotQualifiedError, UsageError
    from gauntlet.core.findings import errors_of
    from gauntlet.core.words import number_of
    from gauntlet.images.inspect import inspect
    from gauntlet.images.model import Images
    from gauntlet.images.oci.skopeo import Skopeo
    from gauntlet.images.reference_text import read_reference
    from gauntlet.images.verify import Verdict
    from gauntlet.images.verify import verify as check

    if platform and not image:
        raise UsageError("--platform is of a built image", hint="give --image REFERENCE, too")
    images = Images(root)
    if image:
        picked = images.manifest.pick(targets)
        if len(picked) != 1:
            raise UsageError(
                "--image is of one target", hint="gauntlet images verify TARGET --image REF"
            )
        found = inspect(Skopeo(), images, picked[0], read_reference(image), platform=platform)
        verdict = Verdict(findings=found, not_run=())
    else:
        verdict = check(images, targets)
    if as_json:
        click.echo(json.dumps(asdict(verdict), indent=2))
    else:
        click.echo("".join(f"{finding.line()}\n" for finding in verdict.findings), nl=False)
        click.echo("".join(f"not run: {text}\n" for text in verdict.not_run), nl=False)
    if errors := errors_of(verdict.findings):
        raise NotQualifiedError(number_of(len(errors), "finding"), hint="each line says its remedy")
    missing = f", {number_of(len(verdict.not_run), 'check')} not run" if verdict.not_run else ""
    count = number_of(len(images.manifest.pick(targets)), "image")
    click.echo(f"{count}: nothing wrong{missing}", err=True)
