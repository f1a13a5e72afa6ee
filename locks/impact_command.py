"""``gauntlet locks impact``."""

from pathlib import Path

import click

from gauntlet.locks.options import folder_options


@click.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("--lock", "name", required=True, metavar="NAME", help="A lock of locks.yaml.")
@click.option("--base", metavar="REV", help="The revision to compare it with.")
@click.option(
    "--head",
    metavar="REV",
    help="The revision that is compared.  [default: the file as it is here]",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def impact(
    old: str | None,
    new: str | None,
    name: str,
    base: str | None,
    head: str | None,
    as_json: bool,
    root: Path,
    manifest: str,
) -> None:
    """Say which jobs install a package that changed in a lock, by its `installs`.

    Compares the lock with --base REV, or the two locks OLD and NEW.
    """
    from gauntlet.core.json_file import json_text
    from gauntlet.locks.impact import impact as use_case
    from gauntlet.locks.impact import impact_lines
    from gauntlet.locks.manifest import Locks
    from gauntlet.locks.pairs import asked_pair

    locks = Locks(root, manifest)
    locks.manifest.pick((name,))
    of_manifest = None if old else name
    before, after = asked_pair(
        old, new, name=of_manifest, base=base, head=head, repository=root, manifest=manifest
    )
    found = use_case(before.lock, after.lock, locks.manifest.locks[name].installs)
    click.echo(json_text(found).rstrip() if as_json else "\n".join(impact_lines(found)))
