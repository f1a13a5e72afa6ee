"""``gauntlet locks drift``."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.core.words import number_of
from gauntlet.locks.options import folder_options
from gauntlet.warehouse.location import warehouse_option

if TYPE_CHECKING:
    from gauntlet.locks.environment.drift import Drift
    from gauntlet.locks.environment.installed import Installed


@click.command()
@click.argument("lock", metavar="LOCK")
@click.option(
    "--python",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="The interpreter of the environment.  [default: python on PATH]",
)
@click.option(
    "--allow",
    "allowed",
    multiple=True,
    metavar="PACKAGE",
    help="May be installed beside the lock; repeatable.",
)
@click.option("--deep", is_flag=True, help="Compare the bytes of every installed file, too.")
@click.option(
    "--job-id",
    envvar="BUILDKITE_JOB_ID",
    help="Keep the answer in the warehouse for this job (a UUID).",
)
@click.option("--no-keep", is_flag=True, help="Keep nothing in the warehouse, not even in a job.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_options
@warehouse_option
def drift(
    *,
    lock: str,
    python: Path | None,
    allowed: tuple[str, ...],
    deep: bool,
    job_id: str | None,
    no_keep: bool,
    as_json: bool,
    location: str,
    root: Path,
    manifest: str,
) -> None:
    """Say whether what is installed is what LOCK says: a lock file, or a name of locks.yaml.

    Exits 6 where it is not. In a job the answer is kept as rows, so that results that were made
    in another environment are known by it.
    """
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.locks.environment.find import DriftRequest, look_for_drift

    request = DriftRequest(
        lock=lock, root=root, manifest=manifest, python=python, allowed=allowed, deep=deep
    )
    used, installed, found = look_for_drift(request)
    click.echo(_shown(used, installed, found, as_json=as_json))
    if job_id and not no_keep:
        _keep(job_id, installed, found, location)
    if found.differences:
        differ = number_of(len(found.differences), "package differs", "packages differ")
        raise NotQualifiedError(f"{differ} from {lock}", hint="each line says what to do")


def _shown(python: Path, installed: "Installed", found: "Drift", *, as_json: bool) -> str:
    if as_json:
        told = {
            "lock": found.lock,
            "python": str(python),
            "fingerprint": installed.fingerprint(),
            "drift": found.digest,
            "compared": found.compared,
            "installed": len(installed.packages),
            "differences": [asdict(each) for each in found.differences],
            "findings": [asdict(each) for each in found.findings()],
        }
        return json.dumps(told, indent=2)
    packages = number_of(len(installed.packages), "package")
    about = f"{packages} in {python}, {found.compared} in {found.lock}"
    state = f"drift {found.digest}" if found.digest else "no drift"
    lines = [finding.line() for finding in found.findings()]
    return "\n".join([f"{about}: fingerprint {installed.fingerprint()}, {state}", *lines])


def _keep(job_id: str, installed: "Installed", found: "Drift", location: str) -> None:
    from gauntlet.core.clock import utc_now
    from gauntlet.locks.environment.rows import environment_batch
    from gauntlet.warehouse.delivery import deliver
    from gauntlet.warehouse.reports.log_batch import uuid_of

    job = uuid_of(job_id, "--job-id")
    batch = environment_batch(installed, found, job_id=job, at=utc_now())
    receipt = deliver(location, [batch])
    click.echo(f"kept {number_of(sum(receipt.stored.values()), 'row')} of job {job}", err=True)
