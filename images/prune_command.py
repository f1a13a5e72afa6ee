"""``gauntlet images prune``."""

import json
from pathlib import Path

import click

from gauntlet.images.options import ROOT


@click.command()
@click.argument("targets", nargs=-1)
@ROOT
@click.option("--place", required=True, metavar="docker://HOST[/PATH]", help="The registry.")
@click.option(
    "--main", default="main", show_default=True, help="The main branch, whose newest stay."
)
@click.option(
    "--keep-digest",
    "named",
    multiple=True,
    metavar="DIGEST=WHY",
    help="Stays, because something needs it; repeatable.",
)
@click.option("--yes", is_flag=True, help="Really remove them; without it they are only listed.")
@click.option("--json", "as_json", is_flag=True, help="Print data.")
def prune(
    targets: tuple[str, ...],
    root: Path,
    place: str,
    main: str,
    named: tuple[str, ...],
    yes: bool,
    as_json: bool,
) -> None:
    """List what the retention rules would remove; with --yes remove it."""
    from gauntlet.core.clock import utc_now
    from gauntlet.core.errors import UsageError
    from gauntlet.core.git import find_commit
    from gauntlet.core.proc import run
    from gauntlet.core.words import number_of
    from gauntlet.images.model import Images
    from gauntlet.images.oci.reference import Place
    from gauntlet.images.oci.skopeo import Skopeo
    from gauntlet.images.options import digests
    from gauntlet.images.prune import delete, plan_prune, read_tags

    images, where = Images(root), Place.parse(place)
    if not where.host:
        raise UsageError(f"{place} is no registry", hint="write docker://HOST[:PORT][/PATH]")
    needed = digests(named, "--keep-digest")
    own = [images.manifest.targets[name].repository for name in images.manifest.pick(targets)]
    repositories = [each for name in dict.fromkeys(own) for each in (name, f"cache/{name}")]
    rules = images.manifest.retention
    if find_commit(root, main) is None:
        raise UsageError(f"git knows no {main!r}", hint="fetch it, or name the branch: --main")
    count = str(rules.keep_newest_of_main)
    commits = run(
        ["git", "rev-list", f"--max-count={count}", main], cwd=root, timeout=60
    ).stdout.split()
    tags = read_tags(Skopeo(), where, repositories)
    decisions = plan_prune(tags, rules, utc_now(), main=commits, named=needed)
    gone = delete(where, decisions) if yes else []
    if as_json:
        rows = [
            {
                "repository": d.tagged.repository,
                "tag": d.tagged.tag,
                "digest": d.tagged.digest,
                "action": d.action,
                "reason": d.reason,
            }
            for d in decisions
        ]
        click.echo(json.dumps({"decisions": rows, "deleted": gone}, indent=2))
        return
    for d in decisions:
        click.echo(f"{d.action:7} {d.tagged.repository}:{d.tagged.tag}: {d.reason}")
    click.echo(
        f"{number_of(len(gone), 'image')} removed" if yes else "nothing was removed: give --yes",
        err=True,
    )
