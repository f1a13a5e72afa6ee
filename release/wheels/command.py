"""``gauntlet wheels``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gauntlet.release.options import VERSION, json_option
from gauntlet.release.version import ReleaseVersion

if TYPE_CHECKING:
    from gauntlet.core.findings import Finding
    from gauntlet.release.matrix.model import Matrix


@click.group()
def wheels() -> None:
    """Check wheels and sdists, of any package, without a release."""


@wheels.command()
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE...",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--matrix", metavar="FILE|vllm", help="Also: does exactly one file fill each cell?")
@click.option("--version", type=VERSION, help="The release that they are for, such as v1.2.3.")
@click.option("--build-sdist", is_flag=True, help="Build a wheel from the sdist, not isolated.")
@json_option
def check(
    *,
    files: tuple[Path, ...],
    matrix: str | None,
    version: ReleaseVersion | None,
    build_sdist: bool,
    as_json: bool,
) -> None:
    """Check by parsing: names, tags, version, ABI, glibc, machine, size, metadata, RECORD.

    Exit 6 where anything is wrong; warnings alone are 0.
    """
    from gauntlet.core.errors import NotQualifiedError
    from gauntlet.core.findings import errors_of
    from gauntlet.release.wheels.check import check_wheels

    findings = check_wheels(files, matrix=_matrix(matrix), version=version, build_sdist=build_sdist)
    errors = len(errors_of(findings))
    click.echo(_shown(files, findings, as_json=as_json), nl=bool(findings) or as_json)
    click.echo(f"{len(files)} files, {errors} errors, {len(findings) - errors} warnings", err=True)
    if errors:
        raise NotQualifiedError(f"{errors} checks failed", hint="each line says what to do")


def _shown(files: tuple[Path, ...], findings: "tuple[Finding, ...]", *, as_json: bool) -> str:
    import json
    from dataclasses import asdict

    from gauntlet.core.findings import errors_of

    if not as_json:
        return "\n".join(finding.line() for finding in findings)
    told = {
        "files": [str(path) for path in files],
        "ok": not errors_of(findings),
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(told, indent=2)


def _matrix(name: str | None) -> "Matrix | None":
    from gauntlet.release.matrix.model import load_matrix

    if name is None:
        return None
    return load_matrix(None if name == "vllm" else Path(name))
