"""``release verify``: what is published against the signed record."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from gauntlet.release.gates.options import Places, place_options
from gauntlet.release.options import VERSION, json_option
from gauntlet.release.version import ReleaseVersion


@click.command()
@click.argument("version", type=VERSION)
@click.option(
    "--key",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Public key to trust.  [default: publish.public_key of the policy]",
)
@click.option(
    "--documents",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the record.  [default: the release's own]",
)
@click.option(
    "--index",
    type=click.Path(file_okay=False, path_type=Path),
    help="Folder of the package index.  [default: as recorded]",
)
@click.option("--registry", default="", help="Where images are.  [default: as recorded]")
@click.option("--no-tag", is_flag=True, help="Do not ask the remote for the git tag.")
@json_option
@place_options
def verify(
    *,
    version: ReleaseVersion,
    key: Path | None,
    documents: Path | None,
    index: Path | None,
    registry: str,
    no_tag: bool,
    as_json: bool,
    places: Places,
) -> None:  # fmt: skip
    """Check what is published of VERSION against its record; exit 6 where anything differs."""
    from gauntlet.core.errors import NotQualifiedError, UsageError
    from gauntlet.core.findings import errors_of
    from gauntlet.images.oci.reference import Place
    from gauntlet.images.oci.skopeo import Skopeo
    from gauntlet.release.folder import ReleaseFolder
    from gauntlet.release.offices import remote_of
    from gauntlet.release.proof.keys import load_public_key
    from gauntlet.release.ship.verify import Published, verify_release

    place = places.load()
    trusted = key or Path(place.policy.publish.public_key)
    if trusted == Path():
        msg = "which public key is trusted? a record is checked against one that is known"
        raise UsageError(msg, hint="--key FILE.pub, or publish.public_key of the policy")
    published = Published(
        documents=documents or ReleaseFolder.of(places.releases, version).published / "documents",
        key=load_public_key(trusted),
        matrix=place.matrix,
        store=Skopeo(plain_http=place.policy.images.plain_http),
        index=index,
        registry=Place.parse(registry) if registry else None,
        remote=None if no_tag else remote_of(place.policy, places.repository),
    )
    record, findings = verify_release(published)
    if record.version != version.final.tag:
        msg = f"the record in {published.documents} is of {record.version}, not of {version}"
        raise UsageError(msg, hint="--documents names the folder of the release")
    if as_json:
        listed = [asdict(each) for each in findings]
        click.echo(json.dumps({"version": record.version, "findings": listed}, indent=2))
    else:
        click.echo("\n".join(each.line() for each in findings) or f"{record.version}: all is well")
    if errors := errors_of(findings):
        raise NotQualifiedError(f"{record.version}: {len(errors)} things are not as recorded")
