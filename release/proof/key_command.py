"""``release key``: make the key that releases are signed with."""

from pathlib import Path

import click


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
def key(file: Path) -> None:
    """Write a new private key to FILE (readable by you alone) and its public half to FILE.pub."""
    from gauntlet.release.proof.keys import PUBLIC_SUFFIX, new_key

    made = new_key(file)
    click.echo(f"{file} and {file}{PUBLIC_SUFFIX}, key id {made.key_id}")
