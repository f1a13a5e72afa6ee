"""``gauntlet locks why``."""

from pathlib import Path

import click

from gauntlet.locks.options import folder_options


@click.command()
@click.argument("package")
@click.option("--lock", "names", multiple=True, metavar="NAME", help="Only this lock.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def why(package: str, names: tuple[str, ...], as_json: bool, root: Path, manifest: str) -> None:
    """Say in which locks a package is, through whom, and which line asks for it."""
    import json

    from gauntlet.locks import why as use_case
    from gauntlet.locks.manifest import Locks

    found = use_case.why(Locks(root, manifest), package, names)
    if as_json:
        click.echo(json.dumps([each.model_dump(mode="json") for each in found], indent=1))
        return
    for each in found:
        for line in use_case.why_lines(each):
            click.echo(line)
