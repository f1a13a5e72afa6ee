"""``gauntlet locks diff``."""

from pathlib import Path

import click

from gauntlet.locks.options import folder_options


@click.command()
@click.argument("old", required=False)
@click.argument("new", required=False)
@click.option("--lock", "name", metavar="NAME", help="A lock of locks.yaml, as it is here.")
@click.option("--base", metavar="REV", help="With --lock: the revision to compare it with.")
@click.option(
    "--by",
    type=click.Choice(["name", "released"]),
    default="name",
    show_default=True,
    help="Order: by name, or as the new versions came out.",
)
@click.option("--markdown", is_flag=True, help="A table for a pull request.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
def diff(
    *,
    old: str | None,
    new: str | None,
    name: str | None,
    base: str | None,
    by: str,
    markdown: bool,
    as_json: bool,
    root: Path,
    manifest: str,
) -> None:
    """Say what changed between two locks, OLD and NEW: files, or REV:PATH.

    Ends with 0 also where nothing differs, and says so.
    """
    from gauntlet.core.json_file import json_text
    from gauntlet.locks.diff import by_release, diff_locks
    from gauntlet.locks.diff_text import markdown_lines, text_lines
    from gauntlet.locks.pairs import asked_pair

    before, after = asked_pair(old, new, name=name, base=base, repository=root, manifest=manifest)
    found = diff_locks(before, after)
    if by == "released":
        found = found.model_copy(update={"changes": tuple(by_release(found.changes))})
    lines = markdown_lines if markdown else text_lines
    shown = json_text(found).rstrip() if as_json else "\n".join(lines(found, found.changes))
    click.echo(shown)
