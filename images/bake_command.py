"""``gauntlet images bake``: write docker-bake.hcl, or say whether it is fresh."""

from pathlib import Path

import click


@click.command()
@click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Root of the repository.  [default: .]",
)
@click.option("--check", is_flag=True, help="Only compare: exit 6 where it is not fresh.")
def bake(root: Path, check: bool) -> None:
    """Write docker-bake.hcl from images.yaml and versions.json."""
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.core.files import write_atomic
    from gauntlet.images.bake import render
    from gauntlet.images.model import BAKE, Images

    text, file = render(Images(root)), root / BAKE
    fresh = file.exists() and file.read_text(encoding="utf-8") == text
    if check and not fresh:
        raise NotQualifiedError(
            f"{file} is not what images.yaml says", hint="run: gauntlet images bake"
        )
    if not check and not fresh:
        write_atomic(file, text)
    click.echo(f"{file}: {'fresh' if fresh else 'written'}")
