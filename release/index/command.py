"""``gauntlet index``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.core.errors import UsageError
from gauntlet.release.options import VERSION, json_option
from gauntlet.release.version import ReleaseVersion

if TYPE_CHECKING:
    from gauntlet.release.index.build import Changes


@click.group()
def index() -> None:
    """Build a package index of plain files, which any web server can serve to pip."""


@index.command()
@click.argument("root", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--nightly", metavar="COMMIT", help="Let nightly/ lead to the files of a commit.")
@click.option(
    "--version",
    "versions",
    multiple=True,
    metavar="vX.Y.Z=COMMIT",
    help="Give a version a page with its files of a commit.",
)
@click.option("--remove", type=VERSION, multiple=True, help="Take a version's page away.")
@click.option("--dry-run", is_flag=True, help="Print the plan and do nothing.")
@json_option
def build(
    *,
    root: Path,
    nightly: str | None,
    versions: tuple[str, ...],
    remove: tuple[ReleaseVersion, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Make all pages anew from the files in DIR/COMMIT/; what is known stays.

    DIR/ leads to all versions, DIR/vX.Y.Z without the v to one, DIR/nightly/ and DIR/COMMIT/ to
    one commit; a variant such as cu129 is a folder below each. Versions and nightly that were
    set before need not be given again.
    """
    from gauntlet.release.index.build import Request, build_index

    request = Request(
        nightly=nightly,
        versions=dict(_version_and_commit(text) for text in versions),
        remove=tuple(version.python for version in remove),
    )
    changes = build_index(root, request, dry_run=dry_run)
    click.echo(_shown(root, changes, dry_run=dry_run, as_json=as_json), nl=False)
    verb = "would be" if dry_run else "were"
    counts = f"{len(changes.write)} pages {verb} written, {len(changes.remove)} removed"
    click.echo(f"{counts}, {changes.unchanged} are as they should be", err=True)


def _version_and_commit(text: str) -> tuple[str, str]:
    """Read ``v1.2.3=COMMIT``; raises UsageError for anything else, and for a candidate."""
    name, _, commit = text.partition("=")
    version = ReleaseVersion.parse(name)
    if not commit:
        raise UsageError(f"--version {text}: no commit", hint="write it as v1.2.3=COMMIT")
    if version.is_candidate:
        msg = f"--version {text}: a candidate has no page, its wheels carry the final version"
        raise UsageError(msg, hint=f"look at DIR/{commit}/, or give {version.final}={commit}")
    return version.python, commit


def _shown(root: Path, changes: "Changes", *, dry_run: bool, as_json: bool) -> str:
    import json

    if as_json:
        told = {
            "root": str(root),
            "dry_run": dry_run,
            "pointers": dict(changes.pointers),
            "write": list(changes.write),
            "remove": list(changes.remove),
            "unchanged": changes.unchanged,
        }
        return json.dumps(told, indent=2) + "\n"
    lines = [
        f"point   {name} to {commit or 'nothing'}" for name, commit in changes.pointers.items()
    ]
    lines += [f"write   {path}" for path in changes.write]
    lines += [f"remove  {path}" for path in changes.remove]
    return "".join(f"{line}\n" for line in lines)
