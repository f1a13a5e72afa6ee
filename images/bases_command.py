"""``gauntlet images bases check|update``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.images.options import ROOT

if TYPE_CHECKING:
    from gauntlet.images.bases import Answer
    from gauntlet.images.model import Bases

_MIRROR = click.option(
    "--mirror", required=True, metavar="docker://HOST[/PATH]", help="The registry that is asked."
)


@click.group()
def bases() -> None:
    """Base images: are their tags where versions.json has them?"""


@bases.command()
@click.argument("names", nargs=-1)
@ROOT
@_MIRROR
@click.option("--json", "as_json", is_flag=True, help="Print data.")
def check(names: tuple[str, ...], root: Path, mirror: str, as_json: bool) -> None:
    """Compare. Ends with 6 where a tag has moved, with 7 where one gave no answer."""
    from gauntlet.core.errors import ExternalServiceError, NotQualifiedError

    _, answers = _ask(root, mirror, names)
    _show(answers, as_json=as_json)
    if any(answer.state == "unreachable" for answer in answers):
        raise ExternalServiceError("some bases gave no answer", hint="each line says why")
    if any(answer.state != "same" for answer in answers):
        raise NotQualifiedError("base images have moved", hint="run: gauntlet images bases update")


@bases.command()
@click.argument("names", nargs=-1)
@ROOT
@_MIRROR
@click.option("--dry-run", is_flag=True, help="Only say what would be written.")
@click.option("--json", "as_json", is_flag=True, help="Print data.")
def update(names: tuple[str, ...], root: Path, mirror: str, dry_run: bool, as_json: bool) -> None:
    """Write the digests that the registry has, and docker-bake.hcl with them."""
    from gauntlet.core.errors import ExternalServiceError
    from gauntlet.core.files import write_atomic
    from gauntlet.images.bake import render
    from gauntlet.images.bases import updated
    from gauntlet.images.model import BAKE, BASES, Images, bases_text

    before, answers = _ask(root, mirror, names)
    _show(answers, as_json=as_json)
    after = updated(before, answers)
    if after != before and not dry_run:
        write_atomic(root / BASES, bases_text(after))
        write_atomic(root / BAKE, render(Images(root)))
    if any(answer.state == "unreachable" for answer in answers):
        raise ExternalServiceError(
            "some bases gave no answer", hint="the others are written; run it again"
        )


def _ask(root: Path, mirror: str, names: tuple[str, ...]) -> "tuple[Bases, list[Answer]]":
    from gauntlet.core.errors import unknown_name
    from gauntlet.images.bases import ask
    from gauntlet.images.model import BASES, load_bases
    from gauntlet.images.oci.reference import Place
    from gauntlet.images.oci.skopeo import Skopeo

    known = load_bases(root / BASES)
    for name in names:
        if name not in known.bases:
            raise unknown_name("base", name, known.bases)
    return known, ask(Skopeo(), Place.parse(mirror), known.bases, names or tuple(known.bases))


def _show(answers: "list[Answer]", *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps([asdict(answer) for answer in answers], indent=2))
    else:
        click.echo("\n".join(answer.line() for answer in answers))
