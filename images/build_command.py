"""``gauntlet images build``."""

import json
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Unpack

import click

from gauntlet.images.options import Options, secrets, shared


@click.command()
@shared
@click.option(
    "--work",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder to build in; it keeps logs.",
)
@click.option("--push", is_flag=True, help="Send images to --place, a registry.")
@click.option(
    "--secret",
    "given_secrets",
    multiple=True,
    metavar="id=NAME,src=FILE",
    help="A file that only the build sees.",
)
@click.option("--version", default="", help="For the label of the version.")
@click.option("--dry-run", is_flag=True, help="Print the commands, and run none.")
def build(
    work: Path,
    push: bool,
    given_secrets: tuple[str, ...],
    version: str,
    dry_run: bool,
    as_json: bool,
    **given: Unpack[Options],
) -> None:
    """Build the images that are not there yet, one after the other.

    They go to --place where that is oci:FOLDER, to a registry with --push, else below --work.
    """
    from gauntlet.core.errors import UsageError
    from gauntlet.core.proc import terminable
    from gauntlet.images.build import BuildRequest, build_images, build_steps
    from gauntlet.images.drivers.choose import driver_of
    from gauntlet.images.oci.reference import Place
    from gauntlet.images.oci.skopeo import Skopeo
    from gauntlet.images.planning import make_plan

    where = given["place"]
    if push and not where.startswith("docker://"):
        msg = "--push has no registry to send images to"
        raise UsageError(msg, hint="name it: --place docker://HOST[/PATH]")
    work = work.absolute()
    here = not where or (where.startswith("docker://") and not push)
    place = Place.parse(f"oci:{work / 'images'}" if here else where)
    made = make_plan(given)
    request = BuildRequest(
        plan=made.request, work=work, place=place, version=version, secrets=secrets(given_secrets)
    )
    driver = driver_of(made.plan.driver, made.plan.driver_reason, made.revisions.variables())
    if dry_run:
        steps = build_steps(made.images, made.plan, request, made.revisions, work / "layouts")
        lines = [list(line) for _, step in steps for line in driver.commands(step)]
        click.echo(json.dumps(lines, indent=2) if as_json else "\n".join(map(shlex.join, lines)))
        return
    click.echo("\n".join(made.plan.lines()), err=True)
    with terminable():
        built = build_images(
            made.images, made.plan, request, made.revisions, driver=driver, store=Skopeo()
        )
    if as_json:
        click.echo(json.dumps([asdict(each) for each in built], indent=2))
        return
    for each in built:
        click.echo(
            f"{each.target} {each.platform}: {each.digest}, {each.size_bytes / 1e6:.1f} MB in"
            f" {each.layers} layers, {each.seconds:.1f} s, {each.image}"
        )
